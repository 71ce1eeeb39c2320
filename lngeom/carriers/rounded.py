"""Floats that know how wrong they are: values as NumPy computes them, each with a bound of its error.

A :class:`Rounded` vector runs through the functions of the library like any array. Its values are those that
NumPy gets, bit for bit; its errors bound their distance from the exact result for the exact input. A theorem
whose two sides differ by more than that bound is violated; within it, nothing can be seen in floats.

Values are float64 or float32. Rows whose squares leave that range are scaled by the library, as rows of arrays are.
Every operation obeys fl(a ∘ b) = (a ∘ b)(1 + δ) + η with |δ| <= u, |η| <= ω, ω the smallest normal number. With hats
for computed values and e for errors, |â − a| <= e_a:

- sum, difference: e_a + e_b + u|ẑ|;
- product: |â|e_b + |b̂|e_a + e_a e_b + u|ẑ| + ω;
- quotient: (e_a + |ẑ|e_b)/(|b̂| − e_b) + u|ẑ| + ω (inf unless |b̂| > e_b), with |ẑ| enlarged by its own rounding;
- root: e/(√â + √max(â − e, 0)) + u|ẑ|, or √e if that is smaller: |√â − √a| is at most both;
- sum of n components in any order: γ_{n−1} Σ|â_i| + Σe_i, γ_k = ku/(1 − ku).

Each bound is computed in float64 with fewer than 2⁸ roundings outside sums, hence the factor 1 + 2⁻⁴⁴; a
sum of n numbers gets 16 units more. An overflow or a NaN makes the error inf: there the bound says nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import TypeAlias

import numpy
from numpy.typing import ArrayLike

_SLACK = 1 + 2.0**-44

Operand: TypeAlias = "Rounded | Fraction | float"


def _binary(operation: Callable[[Rounded, Rounded], Rounded]) -> Callable[..., Rounded]:
    return lambda self, other: _quiet(operation, self, other)


class Rounded:
    """Vector of floats with an error bound for each component; length 1 stands for a scalar."""

    __slots__ = ("error", "value")
    __array_ufunc__ = None

    def __init__(self, value: ArrayLike, error: ArrayLike = 0.0, dtype: str | numpy.dtype | type | None = None) -> None:
        dtype = dtype or getattr(value, "dtype", numpy.float64)
        self.value = numpy.atleast_1d(numpy.asarray(value, dtype=dtype))
        bound = numpy.asarray(error, dtype=numpy.float64) * _SLACK
        self.error = numpy.where(numpy.isfinite(self.value) & ~numpy.isnan(bound), bound, math.inf)

    @classmethod
    def of(
        cls, values: Sequence[Fraction] | Fraction | float, dtype: str | numpy.dtype | type = numpy.float64
    ) -> Rounded:
        """Fractions rounded to floats, with the error of that."""
        exact = [values] if isinstance(values, int | float | Fraction) else list(values)
        places = list(map(id, exact))
        different = dict(zip(places, exact, strict=True))  # of the components of a wide row many are one object
        with numpy.errstate(over="ignore"):
            floats = numpy.array([float(value) for value in different.values()]).astype(dtype)
        near = dict(zip(different, floats, strict=True))
        gaps = ((k, float(a), different[k]) for k, a in near.items())
        far = {k: float(abs(Fraction(a) - Fraction(b))) if math.isfinite(a) and a != b else 0.0 for k, a, b in gaps}
        nearest, distance = numpy.array([near[k] for k in places], dtype=dtype), [far[k] for k in places]
        tiny = _constants(nearest.dtype)[1]
        return cls(nearest, [e and e + tiny for e in distance])

    @property
    def dtype(self) -> numpy.dtype:
        """Format of the values."""
        return self.value.dtype

    @property
    def unit(self) -> float:
        """Unit roundoff u of the format."""
        return _constants(self.dtype)[0]

    @property
    def tiny(self) -> float:
        """Smallest normal number ω of the format."""
        return _constants(self.dtype)[1]

    @property
    def size(self) -> numpy.ndarray:
        """Absolute values, in float64."""
        return _size(self.value)

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: object) -> Rounded:
        part = index[-1] if isinstance(index, tuple) and index[:-1] == (...,) else index
        if not isinstance(part, slice) and part != 0:
            raise IndexError(index)
        part = part if isinstance(part, slice) else slice(1)
        return Rounded(self.value[part], self.error[part])

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __abs__(self) -> Rounded:
        return Rounded(abs(self.value), self.error)

    __add__ = __radd__ = _binary(lambda a, b: _sum(a, b))
    __sub__, __rsub__ = _binary(lambda a, b: _sum(a, -b)), _binary(lambda a, b: _sum(b, -a))
    __mul__ = __rmul__ = _binary(lambda a, b: _product(a, b))
    __truediv__, __rtruediv__ = _binary(lambda a, b: _quotient(a, b)), _binary(lambda a, b: _quotient(b, a))

    def __pow__(self, exponent: float) -> Rounded:
        return _quiet(_root, self) if exponent == 0.5 else math.prod([self] * (int(exponent) - 1), start=self)

    # Comparisons of the values, for the library's choice of a unit: any choice gives a number within its bound.

    def __lt__(self, other: object) -> numpy.ndarray:
        with numpy.errstate(invalid="ignore"):
            return self.value < getattr(other, "value", other)

    def __gt__(self, other: object) -> numpy.ndarray:
        with numpy.errstate(invalid="ignore"):
            return self.value > getattr(other, "value", other)


@functools.cache
def _constants(dtype: numpy.dtype) -> tuple[float, float]:
    """Unit roundoff u and smallest normal number ω of a format."""
    about = numpy.finfo(dtype)
    return float(about.eps) / 2, float(about.smallest_normal)


def _quiet(operation: Callable[..., Rounded], *operands: Operand) -> Rounded:
    dtype = next(x.dtype for x in operands if isinstance(x, Rounded))
    with numpy.errstate(all="ignore"):
        return operation(*(x if isinstance(x, Rounded) else Rounded.of(x, dtype) for x in operands))


def _size(value: numpy.ndarray) -> numpy.ndarray:
    return numpy.abs(value).astype(numpy.float64, copy=False)


def _sum(a: Rounded, b: Rounded) -> Rounded:
    value = a.value + b.value
    return Rounded(value, a.error + b.error + a.unit * _size(value))


def _product(a: Rounded, b: Rounded) -> Rounded:
    value = a.value * b.value
    error = a.size * b.error + b.size * a.error + a.error * b.error
    return Rounded(value, error + a.unit * _size(value) + a.tiny)


def _quotient(a: Rounded, b: Rounded) -> Rounded:
    value, unit = a.value / b.value, a.unit
    clearance = (b.size - b.error) * (1 - 4 * unit)
    size = _size(value) * (1 + 2 * unit) + a.tiny
    error = (a.error + size * b.error) / clearance
    return Rounded(value, numpy.where(clearance > 0, error + unit * size + a.tiny, math.inf))


def _root(a: Rounded) -> Rounded:
    result = Rounded(numpy.sqrt(numpy.maximum(a.value, 0.0)))
    low = numpy.sqrt(numpy.maximum(a.value - a.error, 0.0)) * (1 - 4 * result.unit)
    gap = numpy.sqrt(a.error)
    near = result.size + low
    inside = numpy.where(near > 0, numpy.minimum(a.error / near, gap), gap)
    # A computed radicand below 0 stands for one that is not negative, at most its error away.
    return Rounded(result.value, numpy.where(a.value < 0, gap, inside) + result.unit * result.size + result.tiny)


def _total(x: Rounded, *, axis: int = -1, keepdims: bool = False) -> Rounded:
    n = len(x)
    gamma = (n + 16) * x.unit / (1 - (n + 16) * x.unit)
    error = (gamma * numpy.sum(x.size) + numpy.sum(x.error)) * (1 + gamma)
    return Rounded(numpy.sum(x.value, keepdims=True), error)


def _mean(x: Rounded, *, axis: int = -1, keepdims: bool = False) -> Rounded:
    result = Rounded(numpy.mean(x.value, keepdims=True))
    return Rounded(result.value, _total(x).error / len(x) + result.unit * result.size + result.tiny)


def _where(condition: ArrayLike, a: Operand, b: Operand) -> Rounded:
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Rounded))
    a, b = (x if isinstance(x, Rounded) else Rounded.of(x, dtype) for x in (a, b))
    return Rounded(numpy.where(condition, a.value, b.value), numpy.where(condition, a.error, b.error))


NAMESPACE = SimpleNamespace(
    __name__="lngeom.rounded",
    abs=abs,
    asarray=lambda values, dtype=None: values if isinstance(values, Rounded) else Rounded(values, dtype=dtype),
    finfo=numpy.finfo,
    max=lambda x, **_: Rounded(numpy.max(x.value, keepdims=True), numpy.max(x.error, keepdims=True)),
    mean=lambda x, **keywords: _quiet(lambda a: _mean(a, **keywords), x),
    ones_like=lambda x: Rounded(numpy.ones_like(x.value)),
    sqrt=lambda x: _quiet(_root, x),
    sum=lambda x, **keywords: _quiet(lambda a: _total(a, **keywords), x),
    where=_where,
)
"""The array-API functions with error bounds."""
