"""A layer that a function states."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..carriers import Rounded
from .definition import Definition
from .family import REAL, Arithmetic, Family, Sample

_OTHER_WAYS = 4
"""A kernel may round four times as much as the function: it may use other operations."""
_PARTS = "value", "error"


@dataclass(frozen=True)
class Stated(Definition):
    """The layer that a function of x, gain, bias and ε gives, each row by itself."""

    function: Callable[..., Any] = NotImplemented

    def rows(self, sample: Sample, dtype: type) -> tuple[np.ndarray, np.ndarray]:
        """Values computed in this format, each with an error bound for any order of summation."""
        given = [None if v is None else Rounded(v.astype(np.float64).astype(dtype)) for v in (self.gain, self.bias)]
        rows = [self.function(Rounded(row), *given, eps=self.eps) for row in sample.x.astype(np.float64).astype(dtype)]
        values, errors = (np.stack([np.broadcast_to(getattr(row, k), sample.d) for row in rows]) for k in _PARTS)
        return values.astype(REAL), errors

    def errors(self, sample: Sample, arithmetic: Arithmetic) -> np.ndarray:
        """Bounds of the errors in the working format."""
        return self.rows(sample, np.float64 if arithmetic.work.bits > 24 else np.float32)[1]

    def output(self, sample: Sample) -> np.ndarray:
        """The values as float64 gives them."""
        return self.rows(sample, np.float64)[0]

    def family(self, sample: Sample, arithmetic: Arithmetic, columns: slice = slice(None)) -> Family:
        """All outputs within the rounding errors of the function in the working format."""
        exact, inexact = self.rows(sample, np.float64)
        slack = _OTHER_WAYS * self.errors(sample, arithmetic) + inexact
        one = np.ones((len(exact), 1), REAL)
        free = np.asarray(~np.isfinite(slack + exact).all(-1))
        exact, slack = (np.where(free[:, None], 0, values)[:, columns] for values in (exact, slack))
        return Family(exact, one, one, 0 * one, one[0], 0 * one[0], slack, free, arithmetic.storage)
