"""A few numbers per hidden state: all that the statistics read of the hidden states themselves.

The hidden states are read once, in chunks that bound the memory taken and stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lngeom import moments
from lngeom.angles import angle_from_moments

# On a CPU so large that operators take longer to compute than to call, and so small that the allocator reuses what it
# has: the temporaries of larger chunks are given back to the system and cost a page fault for each 4 KB when they come
# again. At d = 576 half a megabyte took 1.7 times as long, 9 MB three times; 1,024 vectors at once instead of in two
# chunks made a measured pass of SmolLM2 2 percent faster.
_CHUNK_BYTES = {"cpu": 1 << 22, "cuda": 1 << 26}
_ACCUMULATING = {"cuda"} if hasattr(torch.ops.aten.mm, "dtype") else set()
"""Devices where PyTorch multiplies matrices of 16 bits and returns the sums in float32; from PyTorch 2.8 on."""


@dataclass(frozen=True)
class Sketch:
    """A few numbers of each of N hidden states of dimension d: float64, (..., N) unless said otherwise.

    Attributes:
        d: Dimension of the hidden states.
        mean, variance: Moments of the components.
        projections: (..., M, K), float32 or better. Components along the random directions of the null, M of the N.
        signs: How many of them, the last, are sign vectors.
        null: int64, (M,). Which hidden states the null are; None: all.
        sums: float64, (..., B, 2d + 1), of the inputs. See ``sum_components``.
    """

    d: int
    mean: Tensor
    variance: Tensor
    projections: Tensor
    signs: int = 0
    null: Tensor | None = None
    sums: Tensor | None = None

    @property
    def mean_square(self) -> Tensor:
        """‖x‖²/d = μ² + σ²."""
        return self.mean * self.mean + self.variance

    @property
    def norm(self) -> Tensor:
        """‖x‖."""
        return torch.sqrt(self.d * self.mean_square)

    def angle_to_direction(self, index: int) -> Tensor:
        """Angle in degrees to a random direction, where the null are all.

        The formula of the all-ones vector after the rotation that takes the one into the other: x·u plays √dμ and
        the rest of ‖x‖² plays dσ².
        """
        mean = self.projections[..., index].to(torch.float64) / math.sqrt(self.d)
        return torch.rad2deg(angle_from_moments(mean, (self.mean_square - mean * mean).clamp(min=0)))


@dataclass(frozen=True)
class Sketches:
    """Sketches of N pairs, input and output of a norm layer; several layers form a first axis.

    Attributes:
        d: Dimension of the hidden states.
        numbers: float64, (..., 5, N). Mean and variance of x, the same of z, and x·z.
        projections: (..., 2, M, K), float32 or better. Components of x and of z along the random directions, of the
            pairs of the null.
        signs: How many of them, the last, are sign vectors.
        null: int64, (M,). Which pairs the null are; None: all.
        sums: float64, (..., B, 2d + 1), of x. See ``sum_components``.
    """

    d: int
    numbers: Tensor
    projections: Tensor
    signs: int = 0
    null: Tensor | None = None
    sums: Tensor | None = None

    @classmethod
    def empty(
        cls, layers: int, count: int, directions: Tensor, signs: int = 0, null: Tensor | None = None, buckets: int = 0
    ) -> Sketches:
        """Room for the pairs of so many layers, `count` of each, the directions (d, K), and sums by bucket."""
        (d, k), some = directions.shape, count if null is None else len(null)
        with torch.inference_mode(False):  # tensors made in inference mode cannot be updated outside of it
            numbers = torch.empty(layers, 5, count, dtype=torch.float64, device=directions.device)
            wide = torch.promote_types(directions.dtype, torch.float32)
            projections = numbers.new_empty(layers, 2, some, k, dtype=wide)
            return cls(d, numbers, projections, signs, null, numbers.new_empty(layers, buckets, 2 * d + 1))

    def __getitem__(self, layers: int | slice) -> Sketches:
        """The sketches of one layer, or of a slice of layers."""
        sums = None if self.sums is None else self.sums[layers]
        return replace(self, numbers=self.numbers[layers], projections=self.projections[layers], sums=sums)

    @property
    def before(self) -> Sketch:
        """Sketch of the inputs."""
        return self._sketch(0)

    @property
    def after(self) -> Sketch:
        """Sketch of the outputs."""
        return self._sketch(1)

    def _sketch(self, side: int) -> Sketch:
        mean, variance = (self.numbers[..., 2 * side + which, :] for which in (0, 1))
        sums = None if side else self.sums
        return Sketch(self.d, mean, variance, self.projections[..., side, :, :], self.signs, self.null, sums)

    @property
    def inner(self) -> Tensor:
        """x·z of each pair."""
        return self.numbers[..., 4, :]


def _row_numbers(x: Tensor, z: Tensor, dtype: torch.dtype) -> Tensor:
    """Mean and variance of each row of x, the same of z, and x·z, computed in some dtype: float64, shape (5, n)."""
    x, z = x.to(dtype), z.to(dtype)
    rows = (*(each[:, 0] for each in (*moments(x), *moments(z))), (x * z).sum(-1))
    return torch.stack([row.to(torch.float64) for row in rows])


def _nearly_parallel(numbers: Tensor, d: int, unit: float) -> Tensor:
    """Where the norm layer turned x, or x − μ1, by an angle that its cosine in float32 does not tell.

    A cosine is right to 8γ with γ = (d + 8)u, and so its angle θ to 8γ/sin θ: an eighth of θ where sin²θ is 64γ.
    """
    mean, variance, other_mean, other_variance, inner = numbers
    least = (1 - 64 * (d + 8) * unit) * (other_mean * other_mean + other_variance)
    inner, centred = inner / d, inner / d - mean * other_mean
    return (inner * inner > least * (mean * mean + variance)) | (centred * centred > least * variance)


def _chunks(count: int, d: int, device: torch.device) -> Iterator[slice]:
    """The rows in as few chunks of one size as stay within the limit."""
    most = max(1, _CHUNK_BYTES.get(device.type, _CHUNK_BYTES["cuda"]) // (4 * d))
    size = max(1, -(-count // max(1, -(-count // most))))
    return (slice(begin, begin + size) for begin in range(0, count, size))


def sum_components(x: Tensor, kept: Sketch, buckets: Tensor, *, centred: bool) -> Tensor:
    """The sums by bucket (B, N) of x/‖x‖, or `centred` of Πx/‖Πx‖, their number, and the sums of x²: (B, 2d + 1).

    A vector without a finite direction is not among them; constants have none if centred, up to rounding. All finite
    ones that do not underflow are in the sums of squares, component by component. Float64.
    """
    dtype, d = kept.projections.dtype, kept.d
    square = kept.variance if centred else kept.mean_square
    unit = torch.finfo(dtype)
    least = ((d + 1) * unit.eps / 2 * kept.mean) ** 2 if centred else torch.zeros_like(square)
    finite = (kept.mean_square >= unit.tiny) & torch.isfinite(kept.norm)
    there = finite & (square > least)
    weights = torch.where(there, (d * square) ** -0.5, 0.0) * buckets
    members = (finite & buckets).to(weights.dtype)
    whole = x.device.type == "cpu" and bool(finite.all())  # a GPU would have to be waited for
    total, squares = weights.new_zeros(2, len(buckets), d)
    for part in _chunks(x.shape[0], x.shape[1], x.device):
        rows = (x[part] if whole else torch.where(finite[part, None], x[part], 0.0)).to(dtype)
        total += weights[:, part].to(dtype) @ rows
        squares += members[:, part].to(dtype) @ rows.square()
    if centred:
        total -= (weights * torch.where(there, kept.mean, 0.0)).sum(-1, keepdim=True)
    return torch.cat([total, (there & buckets).sum(-1, keepdim=True), squares], -1)


def _multiply(x: Tensor, directions: Tensor, out: Tensor) -> None:
    """x·u of each row with each direction, accumulated in float32 or better; directions of 16 bits are rounded ones.

    Products of two numbers of 16 bits are exact in float32, so that only the sum of d terms is rounded,
    as with hidden states in float32. The length of a rounded direction is not 1 any more, and divided out.
    """
    if x.dtype == directions.dtype != out.dtype and x.device.type in _ACCUMULATING:
        out.copy_(torch.ops.aten.mm.dtype(x, directions, out.dtype))
    else:
        columns = directions.to(out.dtype)
        for part in [slice(None)] if x.dtype == out.dtype else _chunks(len(x), x.shape[1], x.device):
            torch.mm(x[part].to(out.dtype), columns, out=out[part])
    if directions.dtype != out.dtype:
        out /= torch.linalg.vector_norm(directions, dim=0, dtype=torch.float64).to(out.dtype)


def sketch(x: Tensor, z: Tensor, directions: Tensor, *, out: Sketches | None = None) -> tuple[Sketch, Sketch, Tensor]:
    """Sketches of the inputs and outputs of a norm layer, and the inner product x·z of each pair, float64, (N,).

    Args:
        x, z: (N, d). Hidden states, on one device.
        directions: (d, K). Random directions as columns. Everything is computed in their dtype, in float32 for those of
            16 bits; only then may they have another length than 1.
        out: Where the numbers are written, for one layer; only its null is multiplied with the directions.
    """
    count, d = x.shape
    kept = Sketches.empty(1, count, directions)[0] if out is None else out
    numbers, dtype = kept.numbers, kept.projections.dtype
    for part in _chunks(count, d, z.device):
        numbers[:, part] = _row_numbers(x[part], z[part], dtype)
    for side, projections in zip((x, z), kept.projections, strict=True):
        _multiply(side if kept.null is None else side[kept.null], directions, projections)
    if dtype != torch.float64 and z.device.type == "cpu":  # a GPU would have to be waited for
        (rows,) = torch.nonzero(_nearly_parallel(numbers, d, torch.finfo(dtype).eps / 2), as_tuple=True)
        for part in _chunks(len(rows), d, z.device):
            numbers[:, rows[part]] = _row_numbers(x[rows[part]], z[rows[part]], torch.float64)
    return kept.before, kept.after, kept.inner
