"""Floats that know how wrong they are: values as NumPy computes them, each with a bound of its error.

A :class:`Rounded` vector runs through the functions of the library like any array. Its values are those that
NumPy gets, bit for bit; its errors bound their distance from the exact result for the exact input. A theorem
whose two sides differ by more than that bound is violated; within it, nothing can be seen in floats.

Every operation obeys fl(a ∘ b) = (a ∘ b)(1 + δ) + η with |δ| <= u, |η| <= ω, ω the smallest normal number. With hats
for computed values and e for errors, |â − a| <= e_a:

- sum, difference: e_a + e_b + u|ẑ|;
- product: |â|e_b + |b̂|e_a + e_a e_b + u|ẑ| + ω;
- quotient: (e_a + |ẑ|e_b)/(|b̂| − e_b) + u|ẑ| + ω (inf unless |b̂| > e_b), with |ẑ| enlarged by its own rounding;
- root: e/(√â + √max(â − e, 0)) + u|ẑ|, or √e if that is smaller: |√â − √a| is at most both;
- sum of n components in any order: γ_{n−1} Σ|â_i| + Σe_i, γ_k = ku/(1 − ku).

Each bound is computed in float64 with fewer than 2⁸ roundings beyond those of sums, hence the factor 1 + 2⁻⁴⁴; a
sum of n numbers gets 16 units more. An overflow or a NaN makes the error inf: there the bound says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy

UNIT = 2.0**-53
TINY = 2.0**-1022
_SLACK = 1 + 2.0**-44


class Rounded:
    """Vector of float64 values with an error bound for each component; length 1 stands for a scalar.

    >>> from lngeom.carriers import Rounded
    >>> third = Rounded(1.0) / Rounded(3.0)
    >>> bool(0 < third.error[0] < 1e-15)
    True
    """

    __slots__ = ("error", "value")
    __array_ufunc__ = None

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = numpy.atleast_1d(numpy.asarray(value, dtype=numpy.float64))
        bound = numpy.broadcast_to(numpy.asarray(error, dtype=numpy.float64) * _SLACK, self.value.shape)
        unknown = ~numpy.isfinite(self.value) | numpy.isnan(bound)
        self.error = numpy.where(unknown, math.inf, bound)

    @classmethod
    def of(cls, values: Sequence[Fraction] | Fraction) -> Rounded:
        """Fractions rounded to floats, with the error of that."""
        exact = [values] if isinstance(values, int | float | Fraction) else list(values)
        nearest = [float(value) for value in exact]
        distance = [
            float(abs(Fraction(a) - Fraction(b))) if a != b else 0.0 for a, b in zip(nearest, exact, strict=True)
        ]
        return cls(nearest, [e and e + TINY for e in distance])

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Rounded:
        if index != (..., 0):
            raise IndexError(index)
        return Rounded(self.value[0], self.error[0])

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __abs__(self) -> Rounded:
        return Rounded(abs(self.value), self.error)

    def __add__(self, other: Any) -> Rounded:
        return _quiet(_sum, self, other)

    def __sub__(self, other: Any) -> Rounded:
        return _quiet(_difference, self, other)

    def __mul__(self, other: Any) -> Rounded:
        return _quiet(_product, self, other)

    def __truediv__(self, other: Any) -> Rounded:
        return _quiet(_quotient, self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Rounded:
        return _quiet(_difference, other, self)

    def __rtruediv__(self, other: Any) -> Rounded:
        return _quiet(_quotient, other, self)

    def __pow__(self, exponent: int) -> Rounded:
        return math.prod([self] * (exponent - 1), start=self)


def _quiet(operation: Callable[..., Rounded], *operands: Any) -> Rounded:
    with numpy.errstate(all="ignore"):
        return operation(*(x if isinstance(x, Rounded) else Rounded.of(x) for x in operands))


def _sum(a: Rounded, b: Rounded) -> Rounded:
    value = a.value + b.value
    return Rounded(value, a.error + b.error + UNIT * abs(value))


def _difference(a: Rounded, b: Rounded) -> Rounded:
    return _sum(a, -b)


def _product(a: Rounded, b: Rounded) -> Rounded:
    value = a.value * b.value
    error = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error
    return Rounded(value, error + UNIT * abs(value) + TINY)


def _quotient(a: Rounded, b: Rounded) -> Rounded:
    value = a.value / b.value
    clearance = (abs(b.value) - b.error) * (1 - 4 * UNIT)
    size = abs(value) * (1 + 2 * UNIT) + TINY
    error = (a.error + size * b.error) / clearance
    return Rounded(value, numpy.where(clearance > 0, error + UNIT * size + TINY, math.inf))


def _root(a: Rounded) -> Rounded:
    value = numpy.sqrt(numpy.maximum(a.value, 0.0))
    low = numpy.sqrt(numpy.maximum(a.value - a.error, 0.0)) * (1 - 4 * UNIT)
    gap = numpy.sqrt(a.error)
    inside = numpy.where(value + low > 0, numpy.minimum(a.error / (value + low), gap), gap)
    # A computed radicand below 0 stands for one that is not negative, at most its error away.
    return Rounded(value, numpy.where(a.value < 0, gap, inside) + UNIT * value + TINY)


def _total(x: Rounded, *, axis: int = -1, keepdims: bool = False) -> Rounded:
    n = len(x)
    gamma = (n + 16) * UNIT / (1 - (n + 16) * UNIT)
    return Rounded(
        numpy.sum(x.value, keepdims=True), (gamma * numpy.sum(abs(x.value)) + numpy.sum(x.error)) * (1 + gamma)
    )


def _mean(x: Rounded, *, axis: int = -1, keepdims: bool = False) -> Rounded:
    total = _total(x)
    value = numpy.mean(x.value, keepdims=True)
    return Rounded(value, total.error / len(x) + UNIT * abs(value) + TINY)


NAMESPACE = SimpleNamespace(
    __name__="proofs.rounded",
    abs=abs,
    asarray=lambda values: values if isinstance(values, Rounded) else Rounded(values),
    mean=lambda x, **keywords: _quiet(lambda a: _mean(a, **keywords), x),
    ones_like=lambda x: Rounded(numpy.ones_like(x.value)),
    sqrt=lambda x: _quiet(_root, x),
    sum=lambda x, **keywords: _quiet(lambda a: _total(a, **keywords), x),
)
"""The array-API functions with error bounds."""
