"""Vectors of intervals as a carrier: the formulas of this library, run in exact integers.

A float is an integer times a power of two, so a vector of floats is a vector of integers times one unit. Means,
differences, squares and products of such vectors are integers times a rational unit again; only a square root or
a quotient leaves the rationals or the unit, and is enclosed. What `lngeom.layer_norm` computes on an
:class:`Enclosure` therefore contains the exact value of the formula, with no second formula to trust.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from types import EllipsisType, SimpleNamespace
from typing import Literal

import numpy

from ..errors import InputError
from ._carrier import Array
from ._interval import SQRT_BITS, Interval, Number, UndecidedError
from ._operators import Operators


class Enclosure(Operators):
    """Vector of d numbers, each known to lie in an interval; a carrier for the formulas of this library.

    Entry i lies in [lower[i]·unit, upper[i]·unit] with integers lower, upper and a fraction unit > 0 for all entries.
    Sums, differences, products, means and division by exact numbers add no width; square roots and quotients by vectors
    add at most 2⁻¹⁵⁹ relative to each entry. `values` and operands are numbers taken at their exact value (int,
    Fraction, finite float), intervals, or one array of shape (d,); operands also enclosures of equal length or length
    1.

    >>> import lngeom as lg
    >>> from lngeom.carriers import Enclosure
    >>> z = lg.layer_norm(Enclosure([1.0, 2.0, 4.0]), eps=0)
    >>> [str(entry) for entry in z]
    ['-1.0690449676496975 (± 2.9e-49)', '-0.26726124191242438 (± 7.2e-50)', '1.3363062095621219 (± 3.6e-49)']
    """

    __slots__ = ("_lower", "_unit", "_upper")

    def __init__(self, values: Array) -> None:
        entries: list = getattr(values, "tolist", lambda: list(values))()
        if not isinstance(entries, list) or not entries or isinstance(entries[0], list):
            raise InputError(f"values has shape {numpy.shape(entries)}: an Enclosure is one vector of d >= 1 numbers")
        try:
            lower = [_end(value, "lower").as_integer_ratio() for value in entries]
            upper = [_end(value, "upper").as_integer_ratio() for value in entries]
        except (OverflowError, ValueError) as error:  # as_integer_ratio of an infinity or a NaN
            msg = "values holds an infinity or a NaN: an Enclosure holds finite numbers; remove those rows first"
            raise InputError(msg) from error
        denominator = math.lcm(*(q for _, q in lower), *(q for _, q in upper))
        self._lower = [p * (denominator // q) for p, q in lower]
        self._upper = [p * (denominator // q) for p, q in upper] if upper != lower else self._lower
        self._unit = Fraction(1, denominator)

    @classmethod
    def _of(cls, lower: list[int], upper: list[int], unit: Fraction) -> Enclosure:
        self = object.__new__(cls)
        self._lower, self._upper, self._unit = lower, upper, unit
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __len__(self) -> int:
        return len(self._lower)

    def __iter__(self) -> Iterator[Interval]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int | tuple[EllipsisType, int]) -> Interval:
        i = int(index[-1] if isinstance(index, tuple) else index)  # x[..., i] is x[i]
        return Interval(self._lower[i] * self._unit, self._upper[i] * self._unit)

    def __repr__(self) -> str:
        shown = ", ".join(str(self[i]) for i in range(min(3, len(self))))
        return f"Enclosure([{shown}{', ...' if len(self) > 3 else ''}], d={len(self)})"

    @property
    def is_exact(self) -> bool:
        """Whether every entry is known exactly."""
        return self._lower is self._upper or self._lower == self._upper

    # ---------------------------------------------------------------------------------------- arithmetic

    def _taken(self, other: object) -> Enclosure | None:
        taken = Enclosure([other]) if isinstance(other, Interval | int | float | Fraction) else other
        if not isinstance(taken, Enclosure):
            return None
        if len(taken) != len(self) and 1 not in (len(self), len(taken)):
            raise InputError(f"vectors of dimension {len(self)} and {len(taken)} meet: the dimensions must be equal")
        return taken

    def _plus(self, other: Enclosure) -> Enclosure:
        p, q = self._unit, other._unit
        # The largest unit that both are integer multiples of.
        unit = Fraction(
            math.gcd(p.numerator * q.denominator, q.numerator * p.denominator), p.denominator * q.denominator
        )
        length, m, n = max(len(self), len(other)), int(p / unit), int(q / unit)
        lower = list(map(operator.add, _stretch(self._lower, length, m), _stretch(other._lower, length, n)))
        if self._lower is self._upper and other._lower is other._upper:
            return Enclosure._of(lower, lower, unit)
        upper = list(map(operator.add, _stretch(self._upper, length, m), _stretch(other._upper, length, n)))
        return Enclosure._of(lower, upper, unit)

    def _times(self, other: Enclosure) -> Enclosure:
        length, unit = max(len(self), len(other)), self._unit * other._unit
        al, au, bl, bu = (_stretch(v, length) for v in (self._lower, self._upper, other._lower, other._upper))
        if self._lower is self._upper and other._lower is other._upper:
            lower = list(map(operator.mul, al, bl))
            return Enclosure._of(lower, lower, unit)
        ends = [(a0 * b0, a0 * b1, a1 * b0, a1 * b1) for a0, a1, b0, b1 in zip(al, au, bl, bu, strict=True)]
        return Enclosure._of(list(map(min, ends)), list(map(max, ends)), unit)

    def _over(self, other: Enclosure) -> Enclosure:
        return self._times(_reciprocal(other))

    def __neg__(self) -> Enclosure:
        upper = [-n for n in self._lower]
        lower = upper if self._upper is self._lower else [-n for n in self._upper]
        return self._of(lower, upper, self._unit)

    def __pow__(self, exponent: int) -> Enclosure:
        if exponent < 0:
            return _reciprocal(self**-exponent)
        return math.prod([self] * exponent, start=_ones_like(self))

    def __abs__(self) -> Enclosure:
        ends = list(zip(self._lower, self._upper, strict=True))
        lower = [max(low, -high, 0) for low, high in ends]
        return self._of(lower, [max(-low, high) for low, high in ends], self._unit)


def _end(value: Number, name: Literal["lower", "upper"]) -> Fraction | float:
    return getattr(value, name) if isinstance(value, Interval) else value


def _stretch(values: Sequence[int], length: int, factor: int = 1) -> Sequence[int]:
    """`values` times `factor`, repeated to `length` if it is a single one."""
    if factor != 1:
        values = [n * factor for n in values]
    return values if len(values) == length else list(values) * length


def _reciprocal(a: Enclosure) -> Enclosure:
    if any(low <= 0 <= high for low, high in zip(a._lower, a._upper, strict=True)):
        msg = "a divisor contains 0: the quotient is not bounded; LayerNorm of a constant vector needs eps > 0"
        raise UndecidedError(msg)
    if len(a) == 1 and a.is_exact:
        value = a._lower[0] * a._unit
        sign = [1 if value > 0 else -1]
        return Enclosure._of(sign, sign, 1 / abs(value))
    # 1/(n·unit) = (2^k/n) · 1/(2^k·unit); the quotient has more than SQRT_BITS bits for the largest n.
    one = 1 << (SQRT_BITS + 1 + max(max(map(abs, a._lower)), max(map(abs, a._upper))).bit_length())
    lower, upper = [one // n for n in a._upper], [-(-one // n) for n in a._lower]
    return Enclosure._of(lower, upper, 1 / (one * a._unit))


def _square_root(a: Enclosure) -> Enclosure:
    if any(low < 0 for low in a._lower):
        raise UndecidedError("an argument of the square root may be negative: enclose more narrowly or exclude it")
    p, q = a._unit.numerator, a._unit.denominator
    # √(n·p/q) = √(n·p·q·4^k) / (q·2^k); exact if n·p/q is the square of a fraction.
    smallest = min((n * p * q for ends in (a._lower, a._upper) for n in ends if n), default=1)
    k = max(0, SQRT_BITS + 1 - smallest.bit_length() // 2)
    factor = p * q << 2 * k
    lower = [math.isqrt(n * factor) for n in a._lower]
    # The root rounded up is one more than the root of n − 1 rounded down.
    upper = [math.isqrt(n * factor - 1) + 1 if n else 0 for n in a._upper]
    return Enclosure._of(lower, upper, Fraction(1, q << k))


def _total(x: Enclosure, *, axis: int | None = None, keepdims: bool = False) -> Enclosure | Interval:
    if axis not in (-1, 0, None):
        raise InputError(f"axis is {axis}: an Enclosure is one vector; its only axis is the last one")
    lower = [sum(x._lower)]
    total = Enclosure._of(lower, lower if x._lower is x._upper else [sum(x._upper)], x._unit)
    return total if keepdims else total[0]


def _ones_like(x: Enclosure) -> Enclosure:
    return Enclosure([1] * len(x))


NAMESPACE = SimpleNamespace(
    __name__="lngeom.enclosure",
    abs=abs,
    asarray=lambda values: values if isinstance(values, Enclosure) else Enclosure(values),
    mean=lambda x, **options: _total(x, **options) / len(x),
    ones_like=_ones_like,
    sqrt=_square_root,
    sum=_total,
)
"""The part of the array-API namespace that can be enclosed by integers."""
