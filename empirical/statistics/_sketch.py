"""A few numbers per hidden state: all that the statistics read of the hidden states themselves.

The hidden states are read once, in chunks that bound the memory taken and stay in the cache, or by one compiled kernel
for both sides of a norm layer. What is left is a few numbers per token.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lngeom import InputError, angle_from_moments, moments

# On a CPU small enough for the cache of a core, and for the allocator to reuse what it has: the temporaries of larger
# chunks are given back to the system and cost a page fault for each 4 KB when they come again.
_CHUNK_BYTES = {"cpu": 1 << 19, "cuda": 1 << 26}


@dataclass(frozen=True)
class Sketch:
    """What :func:`sketch` keeps of each of N hidden states of dimension d: float64, (..., N) unless said otherwise.

    Attributes:
        d: Dimension of the hidden states.
        mean, variance: Moments of the components.
        projections: (..., N, K), float32 or better. Components along the random directions.
    """

    d: int
    mean: Tensor
    variance: Tensor
    projections: Tensor

    @classmethod
    def of_layers(cls, sketches: Sequence[Sketch]) -> Sketch:
        """The sketches of several norm layers of one dimension as one, with the layers as first axis."""
        columns = ([getattr(each, name) for each in sketches] for name in ("mean", "variance", "projections"))
        return cls(sketches[0].d, *map(torch.stack, columns))

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
        mean = self.projections[..., index].to(torch.float64) / math.sqrt(self.d)
        return torch.rad2deg(angle_from_moments(mean, (self.mean_square - mean * mean).clamp(min=0)))


def _numbers(x: Tensor, z: Tensor, dtype: torch.dtype) -> Tensor:
    """Mean and variance of each row of x, the same of z, and x·z, computed in some dtype: float64, shape (5, n)."""
    x, z = x.to(dtype), z.to(dtype)
    rows = (*(each[:, 0] for each in (*moments(x), *moments(z))), (x * z).sum(-1))
    return torch.stack([row.to(torch.float64) for row in rows])


@functools.cache
def _kernel() -> Any:
    return torch.compile(_numbers)


def _by_kernel(x: Tensor, z: Tensor, dtype: torch.dtype) -> Tensor:
    """What :func:`_numbers` returns, by one kernel that PyTorch makes of it: C++ on a CPU, Triton on a GPU."""
    from torch._dynamo.exc import BackendCompilerFailed

    for side in (x, z):
        torch._dynamo.maybe_mark_dynamic(side, 0)  # one kernel for all batches
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of what it deprecates itself, and of caches on the way
        try:
            return _kernel()(x, z, dtype)
        except BackendCompilerFailed as error:
            msg = f"no kernel could be compiled ({str(error).splitlines()[0]}): install a compiler, or measure without"
            raise InputError(msg) from error


def _nearly_parallel(numbers: Tensor, d: int, unit: float) -> Tensor:
    """Where the norm layer turned x, or x − μ1, by an angle that its cosine in float32 does not tell.

    A cosine is right to 8γ with γ = (d + 8)u, and so its angle θ to 8γ/sin θ: an eighth of θ where sin²θ is 64γ.
    """
    mean, variance, other_mean, other_variance, inner = numbers
    least = (1 - 64 * (d + 8) * unit) * (other_mean * other_mean + other_variance)
    inner, centred = inner / d, inner / d - mean * other_mean
    return (inner * inner > least * (mean * mean + variance)) | (centred * centred > least * variance)


def _chunks(count: int, d: int, device: torch.device) -> Iterator[slice]:
    size = max(1, _CHUNK_BYTES.get(device.type, _CHUNK_BYTES["cuda"]) // (4 * d))
    return (slice(begin, begin + size) for begin in range(0, count, size))


def sketch(x: Tensor, z: Tensor, directions: Tensor, *, compiled: bool = False) -> tuple[Sketch, Sketch, Tensor]:
    """Sketches of what enters and what leaves a norm layer, and their inner products.

    Args:
        x, z: (N, d). Hidden states, on one device.
        directions: (d, K). Random unit directions as columns, float32 or float64: everything is computed in their
            dtype.
        compiled: By one kernel for both sides, the same formulas through ``torch.compile``; up to rounding equal.

    Returns:
        x, z: Sketch
        inner: float64, shape (N,). x·z of each pair.

    >>> import torch
    >>> from empirical.statistics import sketch
    >>> x = torch.tensor([[2.0, 0.0], [3.0, 4.0]])
    >>> before, after, inner = sketch(x, x - x.mean(-1, keepdim=True), torch.eye(2))
    >>> before.mean.tolist(), before.variance.tolist(), before.norm.tolist()
    ([1.0, 3.5], [1.0, 0.25], [2.0, 5.0])
    >>> inner.tolist()  # x·(x − μ1) = dσ²
    [2.0, 0.5]
    """
    count, d = x.shape
    found = torch.empty(5, 0 if compiled else count, dtype=torch.float64, device=z.device)
    along = torch.empty(2, count, directions.shape[1], dtype=directions.dtype, device=z.device)
    whole = compiled and x.dtype == z.dtype == directions.dtype  # nothing is converted that would take memory
    if compiled:
        found = _by_kernel(x, z, directions.dtype)
    for part in [slice(None)] if whole else _chunks(count, d, z.device):
        if not compiled:
            found[:, part] = _numbers(x[part], z[part], directions.dtype)
        for side, projections in zip((x, z), along, strict=True):
            torch.mm(side[part].to(directions.dtype), directions, out=projections[part])
    if directions.dtype != torch.float64 and z.device.type == "cpu":  # a GPU would have to be waited for
        (rows,) = torch.nonzero(_nearly_parallel(found, d, torch.finfo(directions.dtype).eps / 2), as_tuple=True)
        for part in _chunks(len(rows), d, z.device):
            found[:, rows[part]] = _numbers(x[rows[part]], z[rows[part]], torch.float64)
    return Sketch(d, found[0], found[1], along[0]), Sketch(d, found[2], found[3], along[1]), found[4]
