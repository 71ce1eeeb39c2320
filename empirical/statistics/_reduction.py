"""Reduce the hidden states of one forward pass to a state, on their own device and without waiting for it.

One matrix product and the moments of :func:`lngeom.moments` are all that touches the hidden states themselves, in
chunks that bound the memory taken. What is left is a few numbers per token, which are reduced in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lngeom import angle_from_moments, gauge_from_mean_square, moments

from ._state import (
    ANGLE_BINS,
    BINS_PER_DEGREE,
    BINS_PER_OCTAVE,
    BUCKETS,
    FEATURES,
    NORM_BINS,
    NORM_OCTAVES,
    Side,
    SiteState,
)

# On a CPU small enough for the cache, and for the allocator to reuse what it has instead of mapping fresh pages.
_CHUNK_BYTES = {"cpu": 1 << 20, "cuda": 1 << 26}


@dataclass(frozen=True)
class Sketch:
    """What is kept of each of N hidden states of dimension d: float64 numbers, shape (N,), unless said otherwise.

    Attributes
    ----------
    d
        Dimension of the hidden states.
    mean, variance
        Moments of the components.
    projections : (N, K), float32 or better
        Components along the random directions.
    """

    d: int
    mean: Tensor
    variance: Tensor
    projections: Tensor

    @property
    def mean_square(self) -> Tensor:
        """‖x‖²/d = μ² + σ²."""
        return self.mean * self.mean + self.variance

    @property
    def norm(self) -> Tensor:
        """‖x‖."""
        return torch.sqrt(self.d * self.mean_square)

    def angle_to_direction(self, index: int) -> Tensor:
        """Angle in degrees to a random direction.

        The formula of the uniform direction after the rotation that takes the one into the other: x·u plays √dμ and
        what is left of ‖x‖² plays dσ².
        """
        mean = self.projections[:, index].to(torch.float64) / math.sqrt(self.d)
        return torch.rad2deg(angle_from_moments(mean, (self.mean_square - mean * mean).clamp(min=0)))


def _chunks(count: int, d: int, device: torch.device) -> Iterator[slice]:
    size = max(1, _CHUNK_BYTES.get(device.type, _CHUNK_BYTES["cuda"]) // (4 * d))
    return (slice(begin, begin + size) for begin in range(0, count, size))


def sketch(x: Tensor, directions: Tensor) -> Sketch:
    """Sketch of hidden states (N, d) with K random unit directions, given as columns (d, K) of float32 or float64."""
    count, d = x.shape
    mean = torch.empty(count, dtype=torch.float64, device=x.device)
    variance = torch.empty_like(mean)
    projections = torch.empty(count, directions.shape[1], dtype=directions.dtype, device=x.device)
    for part in _chunks(count, d, x.device):
        rows = x[part].to(directions.dtype)
        row_mean, row_variance = moments(rows)
        mean[part], variance[part] = row_mean[:, 0], row_variance[:, 0]
        torch.mm(rows, directions, out=projections[part])
    return Sketch(d, mean, variance, projections)


def inner_products(x: Tensor, z: Tensor, dtype: torch.dtype) -> Tensor:
    """x·z for each row, float64, shape (N,)."""
    products = torch.empty(len(x), dtype=torch.float64, device=x.device)
    for part in _chunks(len(x), x.shape[1], x.device):
        products[part] = (x[part].to(dtype) * z[part].to(dtype)).sum(-1)
    return products


def _angle_between(inner: Tensor, norm: Tensor, other: Tensor) -> Tensor:
    """Angle in degrees between vectors with a given inner product and norms."""
    mean = inner / (norm * other)
    return torch.rad2deg(angle_from_moments(mean, (1 - mean * mean).clamp(min=0)))


def input_features(x: Sketch, *, kind: str, eps: float) -> dict[str, Tensor]:
    """Features of the hidden states that enter a norm layer, each of shape (N,)."""
    angle = torch.rad2deg(angle_from_moments(x.mean, x.variance))
    return {
        "angle": angle,
        "angle_a": x.angle_to_direction(0),
        "angle_b": x.angle_to_direction(1),
        "norm": x.norm,
        "tilt": (angle - 90).abs(),
        "gauge": gauge_from_mean_square(x.variance if kind == "layernorm" else x.mean_square, eps=eps),
    }


def output_features(z: Sketch, x: Sketch, inner: Tensor, *, kind: str) -> dict[str, Tensor]:
    """Features of the hidden states that leave a norm layer, given those that entered it and the products x·z.

    The normalized vector is parallel to x − μ1 (LayerNorm) or x (RMSNorm), so that its products follow from x·z.
    """
    centred = kind == "layernorm"
    along = inner - x.d * x.mean * z.mean if centred else inner
    before = torch.sqrt(x.d * x.variance) if centred else x.norm
    return {
        "angle": torch.rad2deg(angle_from_moments(z.mean, z.variance)),
        "angle_a": z.angle_to_direction(0),
        "angle_b": z.angle_to_direction(1),
        "norm": z.norm,
        "rotation": _angle_between(inner, x.norm, z.norm),
        "affine_rotation": _angle_between(along, before, z.norm),
    }


def reduce(
    side: Side, vectors: Sketch, features: dict[str, Tensor], buckets: Tensor, entering: Sketch | None = None
) -> SiteState:
    """State of the hidden states of some sequences.

    A vector counts if its norm is finite and each of its features is defined. What leaves a norm layer has no angle of
    rotation where zero entered, or a constant entered LayerNorm: such vectors are left out as zero, and as non-finite
    where the squares of what entered overflowed.

    Parameters
    ----------
    side
        Which features are expected, see :data:`FEATURES`.
    vectors
        Sketch of the N = sequences × positions hidden states.
    features
        Their features.
    buckets : bool, (B, sequences, positions)
        Membership in the buckets; padding is in none.
    entering
        Sketch of what entered the layer, for what leaves it.
    """
    member = buckets.reshape(len(BUCKETS), -1)
    norm = vectors.norm
    values = torch.stack([features[name] for name in FEATURES[side]])
    finite = torch.isfinite(norm if entering is None else norm + entering.norm)
    zero = finite & ((norm == 0) | ~torch.isfinite(values).all(0))
    valid = finite & ~zero
    counted = member & valid
    tokens = counted.sum(1)
    values = torch.where(valid, values, torch.zeros((), dtype=values.dtype, device=values.device))
    weights = counted.to(torch.float64)
    mean = values @ weights.T / tokens.clamp(min=1)
    deviation = values[:, None, :] - mean[:, :, None]
    lowest = torch.full((), -math.inf, dtype=values.dtype, device=values.device)
    angle, cos2 = values[0], torch.cos(torch.deg2rad(values[0])) ** 2
    sums = _sums_by_sequence(vectors, cos2, norm, counted, buckets.shape)
    sizes = torch.cat([counts := counted.reshape(buckets.shape).sum(-1), counts.sum(0, keepdim=True)])
    weighted = sizes.to(torch.float64)[:, :, None]
    return SiteState(
        tokens=tokens,
        nonfinite=(member & ~finite).sum(1),
        zero=(member & zero).sum(1),
        mean=mean,
        m2=(deviation * deviation * weights).sum(-1),
        maximum=torch.where(counted, values[:, None, :], lowest).amax(-1),
        angles=_histogram(angle * BINS_PER_DEGREE, ANGLE_BINS, counted),
        norms=_histogram(
            (torch.log2(torch.where(valid, norm, 1.0)) + NORM_OCTAVES) * BINS_PER_OCTAVE, NORM_BINS, counted
        ),
        sequences=(sizes > 0).sum(1),
        tokens_squared=(sizes * sizes).sum(1),
        cos2=sums.sum(1),
        cos2_squared=(sums * sums).sum(1),
        cos2_tokens=(sums * weighted).sum(1),
    )


def _sums_by_sequence(vectors: Sketch, cos2: Tensor, norm: Tensor, counted: Tensor, shape: Any) -> Tensor:
    """Σcos²θ over the tokens of each sequence, float64, (buckets + 1, sequences, 1 + K)."""
    cosines = (vectors.projections / norm[:, None].to(vectors.projections.dtype)).nan_to_num_(0.0, 0.0, 0.0)
    squares = torch.cat([cos2[:, None], cosines.to(torch.float64).square_()], 1)
    weights = counted.reshape(shape).transpose(0, 1).to(torch.float64)
    sums = torch.bmm(weights, squares.reshape(*shape[1:], -1)).transpose(0, 1)
    return torch.cat([sums, sums.sum(0, keepdim=True)])


def _histogram(positions: Tensor, bins: int, counted: Tensor) -> Tensor:
    """Counts by bin for each bucket; integers, so that the order of the tokens does not matter."""
    index = positions.to(torch.int64).clamp_(0, bins - 1).expand(len(BUCKETS), -1)
    counts = torch.zeros(len(BUCKETS), bins, dtype=torch.int64, device=positions.device)
    return counts.scatter_add_(1, index, counted.to(torch.int64))
