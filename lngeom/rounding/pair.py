"""Two outputs of one layer: their bits, last places and bounds, and which is nearer to the exact value."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from .family import Reals, half_ulp
from .formats import FORMATS


class Outputs(NamedTuple):
    """What two kernels computed of the same rows, of shape (n, d), and the exact value with a bound of its own error.

    `errors` bound the roundings of each before the output is rounded to its format, inf where no bound is known.
    """

    got: tuple[Reals, Reals]
    exact: Reals
    inexact: Reals
    errors: tuple[Reals, Reals]


class Pair(NamedTuple):
    """How the outputs of a kernel stand to those of another one.

    Attributes:
        other, eps: The name of that kernel, and its own ε where that is another.
        rows, equal: How many were compared, and how many have the same bits.
        last_places: The largest distance of two outputs, in last places of the largest component of their row.
        of_both_bounds: The largest distance over what the roundings of both may make together, None if not known.
        of_bounds: The largest distance of each from the exact value over the bound of its own roundings.
        nearer: The parts of the components in which each is nearer to the exact value.
    """

    other: str
    eps: float | None
    rows: int = 0
    equal: int = 0
    last_places: float | None = None
    of_both_bounds: float | None = None
    of_bounds: tuple[float | None, ...] = (None, None)
    nearer: tuple[float, ...] = (0.0, 0.0)

    @classmethod
    def of(cls, other: str, eps: float | None, dtype: str, outputs: Sequence[Outputs]) -> "Pair":
        """The comparison of outputs in this format, those of each dimension together."""
        rows = [numpy.stack(_by_row(one, dtype), -1) for one in outputs]
        if not rows:
            return cls(other, eps)
        equal, *ratios, first, second = numpy.concatenate(rows).T
        largest = [None if numpy.isnan(each).all() else float(numpy.nanmax(each)) for each in ratios]
        nearer = float(first.mean()), float(second.mean())
        return cls(other, eps, len(equal), int(equal.sum()), largest[0], largest[1], tuple(largest[2:]), nearer)

    def record(self) -> dict[str, Any]:
        """The JSON form, which has no infinity."""
        finite = [value and min(value, 1e300) for value in (self.last_places, self.of_both_bounds, *self.of_bounds)]
        return self._replace(last_places=finite[0], of_both_bounds=finite[1], of_bounds=tuple(finite[2:]))._asdict()

    def told(self, name: str) -> list[str]:
        """In two lines."""
        names, eps = (name or "this one", self.other), "" if self.eps is None else f"; its own eps is {self.eps:g}"
        if not self.rows:
            return [f"  beside      {self.other}: not compared, as one of them takes no row with these parameters{eps}"]
        both = "" if self.of_both_bounds is None else f", {self.of_both_bounds:.2g} of both bounds"
        apart = f"; others at most {self.last_places:.3g} last places apart{both}" * (self.equal < self.rows)
        parts = ", ".join(f"{one} in {part:.0%}" for one, part in zip(names, self.nearer, strict=True))
        errors = " and ".join("an unknown part" if ratio is None else f"{ratio:.2g}" for ratio in self.of_bounds)
        return [
            f"  beside      {self.other}: the same bits in {self.equal} of {self.rows} rows{apart}{eps}",
            f"  nearer      to the exact value: {parts} of the components; largest errors {errors} of their own bounds",
        ]


def _by_row(of: Outputs, dtype: str) -> list[Reals]:
    """Of each row: whether the bits are equal, the largest ratios, and how often each is the nearer one."""
    form, exact = FORMATS[dtype], of.exact
    with numpy.errstate(all="ignore"):
        equal = (of.got[0] == of.got[1]) | (numpy.isnan(of.got[0]) & numpy.isnan(of.got[1]))
        apart = numpy.where(equal, 0, numpy.nan_to_num(abs(of.got[0] - of.got[1]), nan=numpy.inf))
        off = [numpy.nan_to_num(abs(each - exact), nan=numpy.inf) for each in of.got]
        bounds = [half_ulp(exact, form) + numpy.where(numpy.isfinite(each), each, numpy.nan) for each in of.errors]
        last = 2 * half_ulp(abs(exact).max(-1, keepdims=True), form)
        ratios = apart / last, apart / sum(bounds), off[0] / bounds[0], off[1] / bounds[1]
        nearer = [one < other - 2 * of.inexact for one, other in (off, off[::-1])]
        return [equal.all(-1), *(numpy.fmax.reduce(ratio, -1) for ratio in ratios), *(one.mean(-1) for one in nearer)]
