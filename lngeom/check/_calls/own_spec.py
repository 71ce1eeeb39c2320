"""A definition of one's own, a function in array calls of lngeom: its value, and how far a kernel may be off."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lngeom.carriers import Rounded
from lngeom.rounding import REAL, Arithmetic, Definition, Family, Sample

_OTHER_WAYS = 4
"""A kernel may round four times as much as the function does, whose operations need not be its own."""
_PARTS = "value", "error"


@dataclass(frozen=True)
class Stated(Definition):
    """The layer that a function of x, gain, bias and ε gives, each row by itself."""

    function: Callable[..., Any] = NotImplemented

    def _rows(self, sample: Sample, dtype: type) -> tuple[np.ndarray, np.ndarray]:
        """Values as this format computes them, each with a bound of its error whatever the order of sums."""
        given = [None if v is None else Rounded(v.astype(np.float64).astype(dtype)) for v in (self.gain, self.bias)]
        rows = [self.function(Rounded(row), *given, eps=self.eps) for row in sample.x.astype(np.float64).astype(dtype)]
        values, errors = (np.stack([np.broadcast_to(getattr(row, k), sample.d) for row in rows]) for k in _PARTS)
        return values.astype(REAL), errors

    def output(self, sample: Sample) -> np.ndarray:
        """The values as float64 gives them."""
        return self._rows(sample, np.float64)[0]

    def family(self, sample: Sample, arithmetic: Arithmetic, columns: slice = slice(None)) -> Family:
        """All that is as near as the rounding of the function explains, in the format of the work."""
        exact, inexact = self._rows(sample, np.float64)
        work = np.float64 if arithmetic.work.bits > 24 else np.float32
        slack = _OTHER_WAYS * self._rows(sample, work)[1] + inexact
        one = np.ones((len(exact), 1), REAL)
        free = np.asarray(~np.isfinite(slack + exact).all(-1))
        exact, slack = (np.where(free[:, None], 0, values)[:, columns] for values in (exact, slack))
        return Family(exact, one, one, 0 * one, one[0], 0 * one[0], slack, free, arithmetic.storage)
