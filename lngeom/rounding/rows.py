"""Rows on which rounding and mistakes show themselves, by what they have in common."""

from collections.abc import Iterator

import numpy as np

from lngeom.carriers import Array
from lngeom.sentences import Way

from .formats import FORMATS

SMALL = Way("small")
_TOP = {"float16": 6e4, "bfloat16": 1e15, "float32": 1e15, "float64": 1e150}
_SMALL = {"float16": -3.5, "bfloat16": -7, "float32": -7, "float64": -12}
_SHIFTS = {
    "float16": (8.0, 60.0, 1e3),
    "bfloat16": (4.0, 16.0, 150.0),
    "float32": (30.0, 1e3, 8e3, 1e5),
    "float64": (1e3, 1e6, 1e8),
}
_SUBNORMAL = {"float16": 3e-6, "bfloat16": 1e-39, "float32": 1e-39, "float64": 1e-309}


def suite(d: int, dtype: str, *, rows: int = 8) -> Iterator[tuple[Way, Array]]:
    """Labelled groups of rows, each float64 of shape (n, d), to be rounded to the dtype."""
    rng = np.random.default_rng([0, d])

    def drawn(n: int) -> Array:
        return rng.normal(size=(n, d))

    yield Way("ordinary"), drawn(rows) * rng.uniform(0.3, 3, (rows, 1)) + rng.normal(size=(rows, 1))
    sizes = np.logspace(_SMALL[dtype], 1, rows + rows // 2)[:, None]
    yield SMALL, sizes * (drawn(len(sizes)) + rng.normal(size=(len(sizes), 1)))
    shifts = np.repeat(_SHIFTS[dtype], 3)[:, None] * np.where(rng.random((3 * len(_SHIFTS[dtype]), 1)) < 0.5, -1, 1)
    yield Way("large mean"), drawn(len(shifts)) + shifts * rng.uniform(0.7, 1.4, shifts.shape)
    heights = [h for h in (20.0, 256.0, 300.0, 3e3, 3e4) if h < _TOP[dtype]]
    massive = drawn(len(heights) + 2)
    for row, height in zip(massive, [*heights, heights[-1], -heights[-1]], strict=True):
        row[rng.integers(d)] = height
    massive[-1, -1], massive[-2, 0] = heights[-1], heights[-1]
    yield Way("massive"), massive
    yield Way("large"), drawn(3) * np.array([[30.0], [1e3], [_TOP[dtype] / 8]])
    yield Way("subnormal"), drawn(2) * _SUBNORMAL[dtype]
    yield Way("zero"), np.zeros((2, d))
    yield (Way("constant"), np.ones((4, d)) * np.array([[1.0], [-3.7], [1000.1], [min(6e4, _TOP[dtype])]]))
    # Neighbouring numbers of the format: the largest mean over deviation that it holds.
    base = np.array([[1.7], [-237.0], [907.0]])
    steps = np.concatenate([np.eye(1, d, d // 3).repeat(3, 0), rng.integers(0, 2, (3, d))])
    nearly = np.resize(base, (6, 1)) * (1 + 1.5 * float(FORMATS[dtype].roundoff) * steps)
    yield Way("nearly constant"), nearly
    sparse = np.zeros((3, d))
    sparse[0, 0], sparse[1, -1], sparse[2, d // 2] = 1, -2, 100
    yield Way("one entry"), sparse
    yield Way("ordered"), np.stack([np.resize([1.0, -1.0], d), np.arange(d) / d, -np.sort(-drawn(1)[0]) - 5])
