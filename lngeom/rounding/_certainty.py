r"""Whether an output is outside the family of correct ones, decided in exact rational arithmetic.

The family is that of :mod:`~lngeom.rounding._family` for every backward-stable way and every order of sums, with
the same bounds from the same lines; here each is a fraction, and a root a nearby fraction that favours the kernel. For
given p the row confines q to an interval whose emptiness f(p) is convex and piecewise linear. Two of its tangents that
meet above 0 are the proof that no p is left; a p with f(p) ≤ 0 is the proof of the contrary.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy

from ._definitions import Definition
from ._family import SLACK, Arithmetic, Reals, Sample

_SLACK = Fraction(SLACK)
_BITS = 160  # of a root; it is rounded so that the kernel is favoured


def certainly_outside(x: Sequence[float], y: Sequence[float], layer: Definition, arithmetic: Arithmetic) -> bool:
    """Whether no correct kernel of `layer` returns the row `y` for the row `x`, both of length d and taken as exact.

    False as well where no bound exists: where a square may overflow, or the variance vanish at ε = 0.

    >>> from lngeom.rounding import Arithmetic, Definition, certainly_outside
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> [certainly_outside([1.0, 3.0], [-1.0, y], layer, Arithmetic.of("float32")) for y in (1.0, 1.00001)]
    [False, True]
    """
    d, u, w = len(x), arithmetic.work.roundoff, arithmetic.work.tiny
    values = [Fraction(float(a)) for a in x]
    gains, biases = (
        [Fraction(default)] * d if p is None else [Fraction(float(a)) for a in p]
        for p, default in ((layer.gain, 1), (layer.bias, 0))
    )
    known = enclosed(values, layer, arithmetic)
    if known is None:
        return False
    numerator, mean, alpha, p_low, p_high = known
    if p_high * (max(map(abs, gains)) + 1) * (max(map(abs, values)) + 1) > arithmetic.work.largest:
        return False  # a kernel that multiplies first may overflow on the way to a number
    reach = p_high * (alpha + 3 * u * abs(mean))
    lines: list[tuple[Fraction, Fraction, Fraction]] = []  # n, l and h of l ≤ p n − q ≤ h
    for a, n, g, b, got in zip(values, numerator, gains, biases, map(float, y), strict=True):
        if not math.isfinite(got):
            top = arithmetic.storage.largest * (1 - 2 * arithmetic.storage.roundoff)
            if (abs(g) * (abs(n) * p_high + reach) + abs(b)) * (1 + Fraction(1, 1000)) < top:
                return True  # no overflow excuses it
            continue
        first = 3 * abs(a) + 4 * abs(mean) if layer.centered else 0
        tiny = w * (4 * p_high + 4 + (abs(a) + abs(b) + 1) / max(abs(g), w))
        own = abs(g) * (p_high * u * (5 * (abs(n) + alpha) + first) + tiny) + u * abs(b) if g else u * abs(b) + w
        exponent = max(math.frexp(got)[1], arithmetic.storage.low + 1)
        error = (own + Fraction(2) ** (exponent - arithmetic.storage.bits - 1)) * _SLACK
        off = Fraction(got) - b
        if g:
            sides = (off - error) / g, (off + error) / g
            lines.append((n, min(sides), max(sides)))
        elif abs(off) > error:
            return True
    return bool(lines) and _empty(lines, p_low, p_high, reach)


def enclosed(
    x: list[Fraction], layer: Definition, arithmetic: Arithmetic
) -> tuple[list[Fraction], Fraction, Fraction, Fraction, Fraction] | None:
    """Numerator x − m, mean m, bound α of its error, and the interval of the scale p; None where no bound exists."""
    d, u, w = len(x), arithmetic.work.roundoff, arithmetic.work.tiny
    largest = max(map(abs, x))
    if (2 * d + 8) * u >= Fraction(1, 2) or 4 * d * max(largest**2, largest) > arithmetic.work.largest:
        return None
    row = Exact([x])
    spread = row.spread(arithmetic, centered=layer.centered)
    alpha, low, high = spread.alpha[0, 0], spread.low[0, 0], spread.high[0, 0]
    mean, numerator = (row.mean[0, 0], row.deviation[0]) if layer.centered else (Fraction(0), row.x[0])
    eps = Fraction(layer.eps)
    least = _reciprocal(layer, eps, high + 2 * w, up=False)
    most = _reciprocal(layer, eps, max(low - 2 * w, Fraction(0)), up=True)
    if least is None or most is None or low + eps <= 0:
        return None
    return list(numerator), mean, alpha, least * (1 - 8 * u), most * (1 + 8 * u)


def fractions(values: Any) -> Reals:
    """An array of fractions."""
    plain = numpy.array(values, dtype=object)
    made = [a if isinstance(a, Fraction) else Fraction(float(a)) for a in plain.ravel()]
    return numpy.array([*made, None], dtype=object)[:-1].reshape(plain.shape)


class Exact(Sample):
    """Rows of fractions, shape (n, d), for which ``Spread.of`` computes the same bounds without rounding."""

    def __init__(self, x: Any) -> None:
        self.x = fractions(x)
        self.d, self._spreads = self.x.shape[-1], {}
        self.mean = self._mean(self.x)
        self.deviation = self.x - self.mean
        self.variance, self.square = self._mean(self.deviation**2), self._mean(self.x**2)
        self.margin = 0 * self.mean

    def _mean(self, values: Reals) -> Reals:
        return numpy.sum(values, axis=-1, keepdims=True) / self.d

    def number(self, value: Fraction) -> Fraction:
        """The fraction itself."""
        return value

    def root(self, values: Reals, *, up: bool) -> Reals:
        """Fractions next to the roots, above or below them."""
        return fractions([[_root(value, up=up) for value in row] for row in values])


def _reciprocal(layer: Definition, eps: Fraction, square: Fraction, *, up: bool) -> Fraction | None:
    """1/D of a mean square, rounded up or down; None where D is 0."""
    inside = layer.placement == "inside"
    divisor = _root(square + eps if inside else square, up=not up) + (0 if inside else eps)
    return 1 / divisor if divisor > 0 else None


def _root(value: Fraction, *, up: bool) -> Fraction:
    """A fraction next to √value, below or above it."""
    whole = value.numerator * value.denominator
    shift = max(0, _BITS - whole.bit_length() // 2)
    root = math.isqrt(whole << 2 * shift)
    return Fraction(root + (up and whole > 0), value.denominator << shift)


def _empty(lines: list[tuple[Fraction, Fraction, Fraction]], left: Fraction, right: Fraction, reach: Fraction) -> bool:
    """Whether no p in [left, right] leaves a q with |q| ≤ reach, by Kelley's cutting planes."""

    def tangent(p: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """p, f(p) and a slope of f there."""
        bottom, low = max((p * n - most, n) for n, _, most in lines)
        top, high = min((p * n - least, n) for n, least, _ in lines)
        bottom, low = max((bottom, low), (-reach, Fraction(0)))
        top, high = min((top, high), (reach, Fraction(0)))
        return p, bottom - top, low - high

    one, other = tangent(left), tangent(right)
    while one[1] > 0 and other[1] > 0:
        if one[2] >= 0 or other[2] <= 0:
            return True
        p = (other[1] - one[1] + one[2] * one[0] - other[2] * other[0]) / (one[2] - other[2])
        if one[1] + one[2] * (p - one[0]) > 0:
            return True
        middle = tangent(p)
        one, other = (middle, other) if middle[2] < 0 else (one, middle)
    return False
