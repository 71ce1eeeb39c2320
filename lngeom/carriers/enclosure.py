"""Vectors of intervals as a carrier: the formulas of this library, run in exact arithmetic.

Means, differences, squares and products of vectors of fractions are fractions again, and so are their
quotients; only a square root leaves the rationals, and is enclosed. What `lngeom.layer_norm` computes on an
:class:`Enclosure` therefore contains the exact value of the formula, with no second formula to trust.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import EllipsisType, SimpleNamespace

import numpy

from ..errors import InputError
from .carrier import Array
from .interval import Interval
from .operators import Operators


class Enclosure(Operators):
    """Vector of d numbers, each known to lie in an interval; a carrier for the formulas of this library.

    Sums, differences, products, means and quotients of exact numbers add no width; square roots add at most 2⁻¹⁵⁹
    relative to each entry. `values` and operands are numbers taken at their exact value (int, Fraction, finite float),
    intervals, or one array of shape (d,); operands also enclosures of equal length or length 1.
    """

    __slots__ = ("entries",)

    def __init__(self, values: Array) -> None:
        listed: list = getattr(values, "tolist", lambda: list(values))()
        if not isinstance(listed, list) or not listed or isinstance(listed[0], list):
            raise InputError(f"values has shape {numpy.shape(listed)}: an Enclosure is one vector of d >= 1 numbers")
        self.entries = [value if isinstance(value, Interval) else Interval(value) for value in listed]

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.entries)

    def __getitem__(self, index: int | tuple[EllipsisType, int]) -> Interval:
        return self.entries[int(index[-1] if isinstance(index, tuple) else index)]  # x[..., i] is x[i]

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.entries[:3]))
        return f"Enclosure([{shown}{', ...' if len(self) > 3 else ''}], d={len(self)})"

    @property
    def is_exact(self) -> bool:
        """Whether every entry is known exactly."""
        return all(entry.is_point for entry in self)

    def _taken(self, other: object) -> Enclosure | None:
        taken = Enclosure([other]) if isinstance(other, Interval | int | float | Fraction) else other
        if not isinstance(taken, Enclosure):
            return None
        if len(taken) != len(self) and 1 not in (len(self), len(taken)):
            raise InputError(f"vectors of dimension {len(self)} and {len(taken)} meet: the dimensions must be equal")
        return taken

    def _each(self, operation: Callable[[Interval, Interval], Interval], other: Enclosure) -> Enclosure:
        length = max(len(self), len(other))
        first, second = (x.entries if len(x) == length else x.entries * length for x in (self, other))
        return Enclosure(list(map(operation, first, second)))

    def _plus(self, other: Enclosure) -> Enclosure:
        return self._each(operator.add, other)

    def _times(self, other: Enclosure) -> Enclosure:
        return self._each(operator.mul, other)

    def _over(self, other: Enclosure) -> Enclosure:
        return self._each(operator.truediv, other)

    def __neg__(self) -> Enclosure:
        return Enclosure([-entry for entry in self])

    def __pow__(self, exponent: int) -> Enclosure:
        return Enclosure([entry**exponent for entry in self])

    def __abs__(self) -> Enclosure:
        return Enclosure([abs(entry) for entry in self])


def _total(x: Enclosure, *, axis: int | None = None, keepdims: bool = False) -> Enclosure | Interval:
    if axis not in (-1, 0, None):
        raise InputError(f"axis is {axis}: an Enclosure is one vector; its only axis is the last one")
    total = sum(x, start=Interval(0))
    return Enclosure([total]) if keepdims else total


NAMESPACE = SimpleNamespace(
    __name__="lngeom.enclosure",
    abs=abs,
    asarray=lambda values: values if isinstance(values, Enclosure) else Enclosure(values),
    mean=lambda x, **options: _total(x, **options) / len(x),
    ones_like=lambda x: Enclosure([1] * len(x)),
    sqrt=lambda x: Enclosure([entry.sqrt() for entry in x]),
    sum=_total,
)
"""The part of the array-API namespace that can be enclosed."""
