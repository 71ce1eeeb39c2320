"""Reduce the sketches of one forward pass to a state, in float64, on their device and without waiting for it."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lngeom.angles import angle_from_inner_product, angle_from_moments
from lngeom.epsilon import relative_radius_from_mean_square
from lngeom.norms import layer_rms_distance_from_moments
from lngeom.projection import centered_inner_product

from .sketches import Sketch, Sketches
from .state import (
    ANGLE_BINS,
    BINS_PER_DEGREE,
    BINS_PER_OCTAVE,
    FEATURES,
    NORM_BINS,
    NORM_OCTAVES,
    RANDOM,
    SIDES,
    UNKNOWN,
    Side,
    SiteState,
    counts_of_features,
    merge_sites,
)


def _distance(x: Sketch, eps: float) -> Tensor:
    """Distance of LayerNorm and RMSNorm; of a constant vector, whose LayerNorm is 0, also in the limit ε → 0.

    At ε = 0 its LayerNorm is not defined, but RMSNorm's is: such a vector, which lies along 1, has to count.
    """
    of_constant = relative_radius_from_mean_square(x.mean * x.mean, eps=eps)
    apart = layer_rms_distance_from_moments(x.mean, x.variance, eps=eps)
    return torch.where(x.variance > 0, apart, of_constant)


def input_features(x: Sketch, *, kind: str, eps: float) -> dict[str, Tensor]:
    """Features of the hidden states that enter a norm layer, each of shape (..., N).

    Args:
        x: Sketch of the N hidden states.
        kind: {"layernorm", "rmsnorm"}. What the layer computes: it decides which relative radius is its own.
        eps: ε of the layer.

    Float64 by the names ``FEATURES["input"]``, in their order; angles in degrees, NaN where a feature is not defined.
    """
    angle = torch.rad2deg(angle_from_moments(x.mean, x.variance))
    return {
        "angle": angle,
        "angle_a": x.angle_to_direction(0),
        "angle_b": x.angle_to_direction(1),
        "norm": x.norm,
        "tilt": (angle - 90).abs(),
        "distance": _distance(x, eps),
        "gauge": relative_radius_from_mean_square(x.variance if kind == "layernorm" else x.mean_square, eps=eps),
    }


def output_features(z: Sketch, x: Sketch, inner: Tensor, *, kind: str) -> dict[str, Tensor]:
    """Features of the hidden states that leave a norm layer, given those that entered it and the products x·z.

    The normalized vector is parallel to x − μ1 (LayerNorm) or x (RMSNorm), so that its products follow from x·z.

    Args:
        z, x: Sketches of the N hidden states that left and that entered.
        inner: float64, (..., N). x·z of each pair.
        kind: {"layernorm", "rmsnorm"}. What the layer computes.

    Float64 by the names ``FEATURES["output"]``, in their order; angles in degrees.
    """
    centred = kind == "layernorm"
    along = centered_inner_product(inner, x.mean, z.mean, x.d) if centred else inner
    # In any order of summation the mean of a constant c is right to (d + 1)·u·|c|, and so is each deviation from it.
    bound = (x.d + 1) * torch.finfo(x.projections.dtype).eps / 2 * x.mean
    spread = torch.where(x.variance > bound * bound, x.variance, torch.nan)
    before = torch.sqrt(x.d * spread) if centred else x.norm
    return {
        "angle": torch.rad2deg(angle_from_moments(z.mean, z.variance)),
        "angle_a": z.angle_to_direction(0),
        "angle_b": z.angle_to_direction(1),
        "norm": z.norm,
        "rotation": _between(inner, x.norm, z.norm),
        "affine_rotation": _between(along, before, z.norm),
    }


def _between(inner: Tensor, norm: Tensor, other: Tensor) -> Tensor:
    """Angle in degrees; products are those of the sketches' format, whose rounding may exceed that of float64."""
    most = norm * other
    return torch.rad2deg(angle_from_inner_product(torch.clamp(inner, -most, most), norm, other))


def features(columns: Sketches, *, kind: str, eps: float) -> dict[Side, Tensor]:
    """Features of the inputs and outputs of norm layers, in the order of :data:`FEATURES`.

    Args:
        columns: Sketches of N pairs for each of several layers.
        kind: {"layernorm", "rmsnorm"}. What the layers compute.
        eps: ε of the layers.

    Returns:
        dict: By side, float64, (layers, features, N).
    """
    columns = Sketches(columns.d, columns.numbers, _whole(columns))
    before, after = columns.before, columns.after
    entered = input_features(before, kind=kind, eps=eps)
    left = output_features(after, before, columns.inner, kind=kind)
    return {side: torch.stack(list(each.values()), -2) for side, each in zip(SIDES, (entered, left), strict=True)}


def _whole(columns: Sketches) -> Tensor:
    """Components along the first two directions, 0 outside of the null."""
    first = columns.projections[..., :2]
    if columns.null is None:
        return first
    count = columns.numbers.shape[-1]
    return first.new_zeros(*first.shape[:-2], count, 2).index_copy_(-2, columns.null, first)


def reduce(
    side: Side,
    vectors: Sketch,
    values: Tensor,
    buckets: Tensor,
    entering: Sketch | None = None,
    documents: Tensor | None = None,
    onto: SiteState | None = None,
) -> SiteState:
    """State of the hidden states of some sequences.

    A vector counts if its norm is finite and each of its features is defined. An output has no angle of rotation if its
    input was zero, or, for LayerNorm, constant up to rounding: it is left out as zero. If the squares of the input
    overflowed, it is left out as non-finite. Squares in float32 lose at most 2⁻¹⁵⁰ each to underflow, which is less
    than a rounding of ‖x‖²/d where ‖x‖²/d ≥ 2⁻¹²⁶; smaller vectors are left out as underflow, in float64 below 2⁻¹⁰²².

    Args:
        side: Which features are expected, see :data:`FEATURES`.
        vectors: Sketch of the N = sequences × positions hidden states, (..., N): one for each of several layers.
        values: Their features, (..., F, N).
        buckets: bool, (B, sequences, positions). Membership in the buckets, which have no vector in common; padding is
            in none.
        entering: Sketch of the layer's inputs, where `vectors` are its outputs.
        documents: int64, (sequences,). The document of each sequence; by default each is one of its own.
        onto: An earlier state to add to. The result takes over its histograms: do not use it again.

    Returns:
        SiteState: Tensors on the device of the sketch, with its leading axes.
    """
    norm, angle = (values[..., FEATURES[side].index(name), :] for name in ("norm", "angle"))
    left_out = _left_out(vectors, values, norm, entering)
    tokens = _counted(buckets, ~torch.stack(left_out).any(0))
    if not tokens.whole:
        values = torch.where(tokens.valid[..., None, :], values, 0.0)
    sizes = tokens.by_sequence(tokens.weights).to(torch.int64)
    null = None if vectors.null is None else values.new_zeros(values.shape[-1]).index_fill_(0, vectors.null, 1.0)
    null_sizes = sizes if null is None else tokens.by_sequence(tokens.weights * null).to(torch.int64)
    if documents is None:
        documents = torch.full(sizes.shape[-1:], UNKNOWN, device=sizes.device)
    nonfinite, underflow, zero = ((tokens.member & each[..., None, :]).sum(-1) for each in left_out)
    batch = SiteState(
        tokens=sizes.sum(-1),
        nonfinite=nonfinite,
        underflow=underflow,
        zero=zero,
        **_moments(values, tokens.weights, counts_of_features(sizes.sum(-1), null_sizes, values.shape[-2]), null),
        least=torch.where(tokens.weights > 0, norm[..., None, :], math.inf).amin(-1),
        angles=_empty(ANGLE_BINS, tokens.weights) if onto is None else onto.angles,
        norms=_empty(NORM_BINS, tokens.weights) if onto is None else onto.norms,
        sequences=torch.cat([(sizes > 0).sum(-1), (sizes.sum(-2) > 0).sum(-1, keepdim=True)], -1),
        documents=documents.expand(*sizes.shape[:-2], -1),
        document_tokens=sizes,
        document_null_tokens=null_sizes,
        **_energies(vectors, tokens, null),
        **_of_components(vectors, tokens.weights[..., :0]),
    )
    state = batch if onto is None else merge_sites(onto, batch, angles=batch.angles, norms=batch.norms)
    # Last, since histograms change in place: an error before has changed nothing.
    angle = torch.where(tokens.valid, angle, 0.0)
    octaves = torch.log2(torch.where(tokens.valid, norm, 1.0)) + NORM_OCTAVES
    for histogram, positions in ((state.angles, angle * BINS_PER_DEGREE), (state.norms, octaves * BINS_PER_OCTAVE)):
        _count(histogram, positions, tokens)
    return state


def _of_components(vectors: Sketch, none: Tensor) -> dict[str, Tensor]:
    """The sums of unit vectors and of squares that a sketch of inputs has."""
    if vectors.sums is None:
        return dict.fromkeys(("units", "squares"), none)
    units, squares = vectors.sums.split([vectors.d + 1, vectors.d], -1)
    return {"units": units.clone(), "squares": squares.clone()}


class _Tokens(NamedTuple):
    """The N vectors by whether they count.

    Attributes:
        member: bool, (B, N). Membership in the buckets.
        valid: bool, (..., N). Not left out.
        whole: All are known to be valid.
        weights: float64, (..., B, N). 1 for a member that is valid, else 0.
        shape: Sequences and positions.
    """

    member: Tensor
    valid: Tensor
    whole: bool
    weights: Tensor
    shape: torch.Size

    def by_sequence(self, values: Tensor) -> Tensor:
        """The sums (..., sequences) of numbers (..., N)."""
        return values.unflatten(-1, self.shape).sum(-1)


def _counted(buckets: Tensor, valid: Tensor) -> _Tokens:
    member = buckets.flatten(1)
    whole = valid.device.type == "cpu" and bool(valid.all())  # a GPU would have to be waited for
    return _Tokens(member, valid, whole, (member & valid[..., None, :]).to(torch.float64), buckets.shape[1:])


def _energies(vectors: Sketch, tokens: _Tokens, null: Tensor | None) -> dict[str, Tensor]:
    """Sums of cos²θ: for 1 over all tokens by sequence, and for it and the random directions over the null (N,).

    Over the null also the sums of cosθ.
    """
    square, along = vectors.d * vectors.mean_square, vectors.mean * vectors.mean
    if not tokens.whole:
        square, along = torch.where(tokens.valid, square, 1.0), torch.where(tokens.valid, along, 0.0)
    inverse = tokens.weights / square[..., None, :]
    cos2 = inverse * (vectors.d * along)[..., None, :]
    all_cos2 = null_cos2 = tokens.by_sequence(cos2)
    cos = inverse.sqrt() * (math.sqrt(vectors.d) * torch.where(tokens.valid, vectors.mean, 0.0))[..., None, :]
    if null is not None:
        null_cos2 = tokens.by_sequence(cos2 * null)
        cos, inverse = cos * null, inverse[..., vectors.null]
    squares, sums = _along_directions(vectors.projections, inverse, whole=tokens.whole)
    random, signs = squares.tensor_split([squares.shape[-1] - vectors.signs], -1)
    uniform, sums = (torch.cat([own.sum(-1, keepdim=True), of], -1) for own, of in ((null_cos2, random), (cos, sums)))
    both = {"cos2": uniform, "sign_cos2": signs, "cos": sums}
    both = {name: torch.cat([sums, sums.sum(-2, keepdim=True)], -2) for name, sums in both.items()}
    of_documents = {"document_null_cos2": null_cos2, "document_null_cos": tokens.by_sequence(cos)}
    return {**both, "document_cos2": all_cos2, **of_documents}


def _moments(values: Tensor, weights: Tensor, counts: Tensor, null: Tensor | None) -> dict[str, Tensor]:
    """Mean, squared deviations from it and maximum of each feature by bucket, from `counts` tokens each.

    Angles to random directions are defined on the null (N,) alone; elsewhere they are 0, the least angle.
    """
    defined = torch.ones(values.shape[-2:], dtype=values.dtype, device=values.device)
    if null is not None:
        defined[RANDOM] *= null
        values = values * defined
    mean = values @ weights.mT / counts.clamp(min=1)
    deviation = (values - mean @ weights) * defined  # from the mean of its bucket
    inside = weights > 0
    maximum = [torch.where(some[..., None, :], values, -math.inf).amax(-1) for some in inside.unbind(-2)]
    return {"mean": mean, "m2": (deviation * deviation) @ weights.mT, "maximum": torch.stack(maximum, -1)}


def _left_out(vectors: Sketch, values: Tensor, norm: Tensor, entering: Sketch | None) -> tuple[Tensor, Tensor, Tensor]:
    """Which vectors are not finite, which underflow, and which have no angle; none is two of these."""
    finite, small = torch.isfinite(norm), _underflows(vectors)
    if entering is not None:
        finite, small = finite & torch.isfinite(entering.norm), small | _underflows(entering)
    small &= finite
    # A sum is finite where all features are: none is near the largest number there is, norms are roots.
    zero = finite & ~small & ((norm == 0) | ~torch.isfinite(values.sum(-2)))
    return ~finite, small, zero


def _underflows(x: Sketch) -> Tensor:
    return (x.mean_square > 0) & (x.mean_square < torch.finfo(x.projections.dtype).tiny)


def _along_directions(projections: Tensor, weights: Tensor, *, whole: bool) -> tuple[Tensor, Tensor]:
    """Weighted sums over the tokens of the squares, and with the roots of the weights of the values themselves.

    float64, (..., B, K); layer by layer, so that memory is used again.
    """
    energies, cosines = (weights.new_empty(*weights.shape[:-1], projections.shape[-1]) for _ in range(2))
    kept = weights.new_empty(projections.shape[-2:])
    count = math.prod(weights.shape[:-2])
    layers = (each.reshape(count, *each.shape[-2:]) for each in (projections, weights, energies, cosines))
    for values, weight, squares, sums in zip(*layers, strict=True):
        kept.copy_(values)
        if not whole:  # what does not count may be infinite, which a weight of 0 would turn into NaN
            kept.masked_fill_((weight == 0).all(0)[:, None], 0.0)
        torch.mm(weight.sqrt(), kept, out=sums)
        torch.mm(weight, kept.square_(), out=squares)
    return energies, cosines


def _empty(bins: int, weights: Tensor) -> Tensor:
    with torch.inference_mode(False):  # tensors made in inference mode cannot be updated outside of it
        return weights.new_zeros(*weights.shape[:-1], bins, dtype=torch.int64)


def _count(histogram: Tensor, positions: Tensor, tokens: _Tokens) -> None:
    """Count by bucket and bin, in place; integers, so that the order of the tokens does not matter."""
    bins = histogram.shape[-1]
    index = positions.to(torch.int64).clamp_(0, bins - 1)
    for bucket, some in enumerate(tokens.member[1:], start=1):
        index += some * (bucket * bins)
    histogram.view(*histogram.shape[:-2], -1).scatter_add_(-1, index, tokens.weights.sum(-2).to(torch.int64))
