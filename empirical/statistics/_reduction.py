"""Reduce the sketches of one forward pass to a state, in float64, on their device and without waiting for it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lngeom import (
    angle_from_inner_product,
    angle_from_moments,
    centered_inner_product,
    gauge_from_mean_square,
    layer_rms_distance_from_moments,
)

from ._sketch import Sketch
from ._state import (
    ANGLE_BINS,
    BINS_PER_DEGREE,
    BINS_PER_OCTAVE,
    BUCKETS,
    FEATURES,
    NORM_BINS,
    NORM_OCTAVES,
    UNKNOWN,
    Side,
    SiteState,
)


def _distance(x: Sketch, eps: float) -> Tensor:
    """Distance of LayerNorm and RMSNorm; of a constant vector, whose LayerNorm is 0, also in the limit ε → 0.

    At ε = 0 its LayerNorm is not defined, but RMSNorm's is: such a vector, which lies along 1, has to count.
    """
    of_constant = gauge_from_mean_square(x.mean * x.mean, eps=eps)
    apart = layer_rms_distance_from_moments(x.mean, x.variance, eps=eps)
    return torch.where(x.variance > 0, apart, of_constant)


def input_features(x: Sketch, *, kind: str, eps: float) -> dict[str, Tensor]:
    """Features of the hidden states that enter a norm layer, each of shape (..., N).

    Args:
        x: Sketch of the N hidden states.
        kind: {"layernorm", "rmsnorm"}. What the layer computes: it decides which gauge is its own.
        eps: ε of the layer.

    Returns:
        dict: float64 tensors by the names ``FEATURES["input"]``, in their order; angles in degrees. NaN where a
            feature is not defined.

    >>> import torch
    >>> from empirical.statistics import input_features, sketch
    >>> x = torch.tensor([[2.0, 0.0]])
    >>> kept, _, _ = sketch(x, x, torch.eye(2))  # the "random" directions are here the axes
    >>> found = input_features(kept, kind="layernorm", eps=0.0)
    >>> {name: round(value.item(), 3) for name, value in found.items()}
    {'angle': 45.0, 'angle_a': 0.0, 'angle_b': 90.0, 'norm': 2.0, 'tilt': 45.0, 'distance': 0.765, 'gauge': 1.0}

    LayerNorm makes (1, −1) of it and RMSNorm (√2, 0): they are 45° apart, and √(((√2 − 1)² + 1)/2) = 0.765.
    """
    angle = torch.rad2deg(angle_from_moments(x.mean, x.variance))
    return {
        "angle": angle,
        "angle_a": x.angle_to_direction(0),
        "angle_b": x.angle_to_direction(1),
        "norm": x.norm,
        "tilt": (angle - 90).abs(),
        "distance": _distance(x, eps),
        "gauge": gauge_from_mean_square(x.variance if kind == "layernorm" else x.mean_square, eps=eps),
    }


def output_features(z: Sketch, x: Sketch, inner: Tensor, *, kind: str) -> dict[str, Tensor]:
    """Features of the hidden states that leave a norm layer, given those that entered it and the products x·z.

    The normalized vector is parallel to x − μ1 (LayerNorm) or x (RMSNorm), so that its products follow from x·z.

    Args:
        z, x: Sketches of the N hidden states that left and that entered.
        inner: float64, (..., N). x·z of each pair.
        kind: {"layernorm", "rmsnorm"}. What the layer computes.

    Returns:
        dict: float64 tensors by the names ``FEATURES["output"]``, in their order; angles in degrees.

    >>> import torch
    >>> from empirical.statistics import output_features, sketch
    >>> before, after, inner = sketch(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, -1.0]]), torch.eye(2))
    >>> found = output_features(after, before, inner, kind="layernorm")
    >>> {name: round(value.item(), 3) for name, value in found.items()}
    {'angle': 90.0, 'angle_a': 45.0, 'angle_b': 135.0, 'norm': 1.414, 'rotation': 45.0, 'affine_rotation': 0.0}
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
        "rotation": torch.rad2deg(angle_from_inner_product(inner, x.norm, z.norm)),
        "affine_rotation": torch.rad2deg(angle_from_inner_product(along, before, z.norm)),
    }


def reduce(
    side: Side,
    vectors: Sketch,
    features: dict[str, Tensor],
    buckets: Tensor,
    entering: Sketch | None = None,
    documents: Tensor | None = None,
) -> SiteState:
    """State of the hidden states of some sequences.

    A vector counts if its norm is finite and each of its features is defined. What leaves a norm layer has no angle of
    rotation where zero entered, or what rounding cannot tell from a constant entered LayerNorm: such vectors are left
    out as zero, and as non-finite where the squares of what entered overflowed. Squares in float32 lose at most 2⁻¹⁵⁰
    each to underflow: of ‖x‖²/d that is less than a rounding where ‖x‖²/d ≥ 2⁻¹²⁶, and what is smaller is left out as
    underflow; likewise in float64 below 2⁻¹⁰²².

    Args:
        side: Which features are expected, see :data:`FEATURES`.
        vectors: Sketch of the N = sequences × positions hidden states, (..., N): one for each of several layers.
        features: Their features.
        buckets: bool, (B, sequences, positions). Membership in the buckets; padding is in none.
        entering: Sketch of what entered the layer, for what leaves it.
        documents: int64, (sequences,). The document of each sequence; by default each is one of its own.

    Returns:
        SiteState: Tensors on the device of the sketch, with its leading axes.
    """
    member = buckets.reshape(len(BUCKETS), -1)
    norm = vectors.norm
    values = torch.stack([features[name] for name in FEATURES[side]], dim=-2)
    finite = torch.isfinite(norm if entering is None else norm + entering.norm)
    small = finite & _underflows(vectors)
    if entering is not None:
        small |= finite & _underflows(entering)
    zero = finite & ~small & ((norm == 0) | ~torch.isfinite(values).all(-2))
    valid = finite & ~zero & ~small
    counted = member & valid[..., None, :]
    tokens = counted.sum(-1)
    values = torch.where(valid[..., None, :], values, 0.0)
    weights = counted.to(torch.float64)
    mean = values @ weights.mT / tokens.clamp(min=1)[..., None, :]
    deviation = values - mean @ weights  # from the mean of its bucket: buckets have no token in common
    inverse = weights / torch.where(valid, vectors.d * vectors.mean_square, 1.0)[..., None, :]
    along = vectors.d * torch.where(valid, vectors.mean, 0.0) ** 2
    cos2 = (inverse * along[..., None, :]).unflatten(-1, buckets.shape[1:]).sum(-1)
    energies = torch.cat([cos2.sum(-1, keepdim=True), _along_directions(vectors.projections, inverse)], -1)
    sizes = counted.unflatten(-1, buckets.shape[1:]).sum(-1)
    if documents is None:
        documents = torch.full(sizes.shape[-1:], UNKNOWN, device=sizes.device)
    return SiteState(
        tokens=tokens,
        nonfinite=(member & ~finite[..., None, :]).sum(-1),
        underflow=(member & small[..., None, :]).sum(-1),
        zero=(member & zero[..., None, :]).sum(-1),
        mean=mean,
        m2=(deviation * deviation) @ weights.mT,
        maximum=torch.stack(
            [torch.where(one[..., None, :], values, -math.inf).amax(-1) for one in counted.unbind(-2)], -1
        ),
        angles=_histogram(values[..., 0, :] * BINS_PER_DEGREE, ANGLE_BINS, counted),
        norms=_histogram(
            (torch.log2(torch.where(valid, norm, 1.0)) + NORM_OCTAVES) * BINS_PER_OCTAVE, NORM_BINS, counted
        ),
        sequences=torch.cat([(sizes > 0).sum(-1), (sizes.sum(-2) > 0).sum(-1, keepdim=True)], -1),
        cos2=torch.cat([energies, energies.sum(-2, keepdim=True)], -2),
        documents=documents.expand(*sizes.shape[:-2], -1),
        document_tokens=sizes,
        document_cos2=cos2,
    )


def _underflows(x: Sketch) -> Tensor:
    return (x.mean_square > 0) & (x.mean_square < torch.finfo(x.projections.dtype).tiny)


def _along_directions(projections: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of squares over the tokens, float64, (..., B, K); layer by layer, so that memory is used again."""
    found = weights.new_empty(*weights.shape[:-1], projections.shape[-1])
    squares = weights.new_empty(projections.shape[-2:])
    layers = (each.reshape(-1, *each.shape[-2:]) for each in (projections, weights, found))
    for values, weight, sums in zip(*layers, strict=True):
        # What does not count may be infinite, which a weight of 0 would turn into NaN.
        squares.copy_(values).square_().nan_to_num_(0.0, 0.0, 0.0)
        torch.mm(weight, squares, out=sums)
    return found


def _histogram(positions: Tensor, bins: int, counted: Tensor) -> Tensor:
    """Counts by bin for each bucket; integers, so that the order of the tokens does not matter."""
    index = positions.to(torch.int64).clamp_(0, bins - 1)[..., None, :].expand(counted.shape)
    counts = torch.zeros(*counted.shape[:-1], bins, dtype=torch.int64, device=positions.device)
    return counts.scatter_add_(-1, index, counted.to(torch.int64))
