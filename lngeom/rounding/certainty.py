r"""Whether an output is outside the family of correct ones, decided in exact rational arithmetic.

The family is defined in :mod:`~lngeom.rounding.family`, for every backward-stable way and every order of sums, with
the same bounds from the same lines; here each is a fraction, and a root a nearby fraction that favours the kernel. For
given p the row confines q to an interval whose emptiness f(p) is convex and piecewise linear. Two of its tangents that
meet above 0 are the proof that no p is left; a p with f(p) ≤ 0 is the proof of the contrary.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy

from ..carriers import Array, float64
from ..errors import InputError
from ..norms import Placement
from .definition import Definition
from .family import REAL, SLACK, Arithmetic, Reals, Sample, half_ulp

_BITS = 160  # of a root; it is rounded so that the kernel is favoured


def certainly_outside(x: Sequence[float], y: Sequence[float], layer: Definition, arithmetic: Arithmetic) -> bool:
    """Whether no correct kernel of `layer` returns the row `y` for the row `x`, both of length d and taken as exact.

    False as well where no bound exists: where a square may overflow, or the variance vanish at ε = 0.

    >>> from lngeom.rounding import Arithmetic, Definition, certainly_outside
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> [certainly_outside([1.0, 3.0], [-1.0, y], layer, Arithmetic.of("float32")) for y in (1.0, 1.00001)]
    [False, True]
    """
    if not isinstance(layer, Definition) or not isinstance(arithmetic, Arithmetic):
        told = f"{type(layer).__name__} and {type(arithmetic).__name__}"
        raise InputError(f"layer and arithmetic are of type {told}: give a Definition and an Arithmetic")
    row, got = exactly([float64("x", x)], arithmetic), float64("y", y)[None]
    if row is None or (family := layer.family(row, arithmetic)).free[0]:
        return False
    p_low, p_high, reach = family.low[0, 0], family.high[0, 0], family.reach[0, 0]
    errors = (family.slack + fractions(half_ulp(got, arithmetic.storage))) * Fraction(SLACK)
    top = arithmetic.storage.largest * (1 - 2 * arithmetic.storage.roundoff)
    lines: list[_Line] = []
    columns = family.numerator[0], family.gain, family.bias, errors[0], got[0].tolist()
    for n, g, b, error, value in zip(*columns, strict=True):
        if not math.isfinite(value):
            if (abs(g) * (abs(n) * p_high + reach) + abs(b)) * (1 + Fraction(1, 1000)) < top:
                return True  # no overflow excuses it
        elif g:
            sides = (Fraction(value) - b - error) / g, (Fraction(value) - b + error) / g
            lines.append((n, min(sides), max(sides)))
        elif abs(Fraction(value) - b) > error:
            return True
    return _emptied(lines, p_low, p_high, reach)


def fractions(values: Array) -> Reals:
    """An array of fractions."""
    plain = numpy.array(values, dtype=object)
    made = [a if isinstance(a, Fraction) else Fraction(*REAL(a).as_integer_ratio()) for a in plain.ravel()]
    return numpy.array([*made, None], dtype=object)[:-1].reshape(plain.shape)


def exactly(x: Array, arithmetic: Arithmetic) -> "Exact | None":
    """Rows as fractions; None where squares may overflow or d is so large that no digit is left."""
    sample = Exact(x)
    size = numpy.max(sample.largest)
    overflows = 4 * sample.d * max(size**2, size) > arithmetic.work.largest
    return None if overflows or arithmetic.lost(sample.d) else sample


class Exact(Sample):
    """Rows of fractions, shape (n, d), for which the bounds of ``Spread.of`` and the families have no rounding."""

    noise = 0

    def __init__(self, x: Array) -> None:
        self.x = fractions(x)
        self.d, self._spreads = self.x.shape[-1], {}
        self.mean = self._mean(self.x)
        self.deviation = self.x - self.mean
        self.variance, self.square = self._mean(self.deviation**2), self._mean(self.x**2)
        self.largest = numpy.max(abs(self.x), axis=-1, keepdims=True)
        self.margin = 0 * self.mean

    def _mean(self, values: Reals) -> Reals:
        return numpy.sum(values, axis=-1, keepdims=True) / self.d

    def number(self, value: Fraction) -> Fraction:
        """The fraction itself."""
        return value

    def numbers(self, values: Array) -> Reals:
        """An array of fractions."""
        return fractions(values)

    def root(self, values: Reals, *, up: bool) -> Reals:
        """Fractions next to the roots, above or below them."""
        return fractions([[root(value, up=up) for value in row] for row in values])

    def reciprocal(self, square: Reals, eps: float, placement: Placement, *, up: bool) -> Reals:
        """Fractions next to 1/D, above or below it; infinite where D is 0."""
        e = Fraction(eps)
        divisors = self.root(square + e, up=not up) if placement == "inside" else self.root(square, up=not up) + e
        return numpy.array([[1 / D if D else math.inf for D in row] for row in divisors], dtype=object)


def root(value: Fraction, *, up: bool) -> Fraction:
    """A fraction next to √value, below or above it."""
    whole = value.numerator * value.denominator
    shift = max(0, _BITS - whole.bit_length() // 2)
    root = math.isqrt(whole << 2 * shift)
    return Fraction(root + (up and whole > 0), value.denominator << shift)


_Line = tuple[Fraction, Fraction, Fraction]
"""n, l and h of l ≤ p n − q ≤ h, for one component."""


class _Tangent(NamedTuple):
    """A scale p, f(p), and a slope of f there."""

    p: Fraction
    value: Fraction
    slope: Fraction


def _emptied(lines: list[_Line], left: Fraction, right: Fraction, reach: Fraction) -> bool:
    """Whether no p in [left, right] leaves a q with |q| ≤ reach, by Kelley's cutting planes."""
    none = Fraction(0)

    def tangent(p: Fraction) -> _Tangent:
        below, low = max((-reach, none), *((p * n - most, n) for n, _, most in lines))
        above, high = min((reach, none), *((p * n - least, n) for n, least, _ in lines))
        return _Tangent(p, below - above, low - high)

    first, last = tangent(left), tangent(right)
    while first.value > 0 and last.value > 0:
        if first.slope >= 0 or last.slope <= 0:
            return True
        p = (last.value - first.value + first.slope * first.p - last.slope * last.p) / (first.slope - last.slope)
        if first.value + first.slope * (p - first.p) > 0:
            return True
        middle = tangent(p)
        first, last = (middle, last) if middle.slope < 0 else (first, middle)
    return False
