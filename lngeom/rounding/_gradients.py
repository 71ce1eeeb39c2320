r"""Gradients that a correct backward pass of a norm may return: a box for each component, to all orders in u.

Derived on the page "How far floats may be off" (docs/derivations/tolerance.md), with c, δ, p and q as there and h = g ∘
ȳ. With A = mean h and C = mean(h ∘ c) the exact gradient at the scale p is F(p) = p(h − A) − p³cC. A correct backward
pass evaluates F at a scale p̂ of the forward family with deviations c_i − δ_i, |δ_i| ≤ ρ_i = α + u(3|x_i| + 4|μ|), and
multiplies each monomial of the expanded formula by some 1 + θ, |θ| ≤ Γ. Hence it is within pE₁ + p³E₂ of F(p̂),

    E₁ = Γ(|h| + mean|h|),  E₂ = |c|M + (e + mean e)(|C| + M),
    M = mean(|h|ρ) + Γ mean(|h|(|x| + |μ| + α)),  e = ρ + Γ(|c| + ρ),

without the means of h and of e where nothing is centred. The same lines run on extended floats, many rows at once, and
on fractions, which decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy

from ._certainty import enclosed, fractions
from ._definitions import Definition
from ._family import SLACK, Arithmetic, Reals, Sample, gamma

_STEPS = 32  # roundings of a monomial besides those of sums; automatic differentiation of a plain formula needs 20
_CASTS = 4  # among them to a half format


@dataclass(frozen=True)
class Gradients:
    """What the forward pass leaves for the backward pass: rows x, shape (n, d), with the bounds of its two errors.

    Of floats (:meth:`of`) or of fractions (:meth:`exactly`); ε inside the root. A half format may hold μ̂ and p̂.

    >>> from lngeom.rounding import Arithmetic, Definition, Gradients
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> passed = Gradients.exactly([[1.0, 3.0, 5.0]], layer, Arithmetic.of("float32"))
    >>> low, high = passed.of_input([[1.0, 0.0, 0.0]])
    >>> [bool(low[0, 0] <= x <= high[0, 0]) for x in (1 / 96**0.5, 1 / 6**0.5)]
    [True, False]
    """

    x: Reals
    deviation: Reals
    mean: Reals
    alpha: Reals
    low: Reals
    high: Reals
    layer: Definition
    arithmetic: Arithmetic

    @classmethod
    def of(cls, x: Any, layer: Definition, arithmetic: Arithmetic) -> Gradients:
        """In extended precision; NaN or infinite where no bound exists."""
        sample, u, w = Sample(x), float(arithmetic.work.roundoff), float(arithmetic.work.tiny)
        mean, _, deviation = layer.exact(sample)
        spread = sample.spread(arithmetic, centered=layer.centered)
        with numpy.errstate(all="ignore"):
            low = layer.reciprocal(spread.high + 2 * w, sample) * (1 - 8 * u)
            high = layer.reciprocal(numpy.maximum(spread.low - 2 * w, 0), sample) * (1 + 8 * u)
            void = spread.overflows(sample, arithmetic)[:, None] | (spread.low + layer.eps <= 0)
        return cls._kept(
            sample.x, deviation, mean, spread.alpha, low, numpy.where(void, numpy.inf, high), layer, arithmetic
        )

    @classmethod
    def exactly(cls, x: Sequence[Sequence[float]], layer: Definition, arithmetic: Arithmetic) -> Gradients | None:
        """In fractions; None where a row has no bound."""
        rows = [enclosed([Fraction(float(a)) for a in row], layer, arithmetic) for row in x]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows):
            return None
        deviation, *columns = zip(*known, strict=True)
        mean, alpha, low, high = (fractions([[a] for a in column]) for column in columns)
        return cls._kept(fractions(x), fractions(deviation), mean, alpha, low, high, layer, arithmetic)

    @classmethod
    def _kept(cls, x: Reals, c: Reals, mean: Reals, alpha: Reals, low: Reals, high: Reals, *rest: Any) -> Gradients:
        """With mean and scale as a half format holds them."""
        arithmetic: Arithmetic = rest[1]
        s: Any = arithmetic.storage.roundoff if arithmetic.storage.bits < arithmetic.work.bits else Fraction(0)
        s = s if x.dtype == object else float(s)
        return cls(x, c, mean, alpha + 2 * s * abs(mean), low * (1 - 2 * s), high * (1 + 2 * s), *rest)

    def of_input(self, cotangent: Any, *, mean: float = 1, along: float = 1, gain: Any = None) -> tuple[Reals, Reals]:
        """Ends of the box of dL/dx for dL/dŷ = `cotangent`, each (n, d).

        What a mistake returns: A and C multiplied by `mean` and `along`, or another `gain`.
        """
        d, c, x = self.x.shape[-1], self.deviation, abs(self.x)
        h = self._numbers(cotangent)
        gain = self.layer.gain if gain is None else gain
        h = h if gain is None else h * self._numbers(gain)
        u, w, centered = self._number(self.arithmetic.work.roundoff), self.arithmetic.work.tiny, self.layer.centered

        def average(a: Reals) -> Reals:
            return numpy.sum(a, axis=-1, keepdims=True) / d

        with numpy.errstate(all="ignore"):
            rough, size = self._rough(2 * d + _STEPS, _CASTS), abs(h)
            reach = (self.alpha + u * (3 * x + 4 * abs(self.mean))) * centered
            wide = x + (abs(self.mean) + self.alpha) * centered
            inner, outer = average(size * wide), abs(c) + reach
            product = average(h * c) * along
            one = rough * (size + average(size) * centered)
            off = average(size * reach) + rough * inner
            apart = reach + rough * outer
            apart = apart + average(apart) * centered
            three = abs(c) * off + apart * (abs(product) + off)
            linear, cubic = h - average(h) * centered * mean, c * product
            ends = [(linear * r, cubic * r**3) for r in (self.low, self.high)]
            low, high = (f(ends[0][0], ends[1][0]) for f in (numpy.minimum, numpy.maximum))
            low, high = low - numpy.maximum(ends[0][1], ends[1][1]), high - numpy.minimum(ends[0][1], ends[1][1])
            r = self.high
            # What underflows, times the factors that it may still meet; a half format holds normalized numbers only.
            lost = (4 * d + 64) * self._number(w) * (1 + r) ** 3
            lost = lost * (1 + outer + average(outer)) * (1 + inner + average(size + wide))
            normal = (1 + r) * (2 + r * outer) * (1 + r * average(size + wide) + r * inner)
            error = (r * one + r**3 * three + lost + self._cast(_CASTS * normal)) * self._number(Fraction(SLACK))
            # A product of some of these factors may overflow on the way to a number.
            error = numpy.where(lost > self._number(w * self.arithmetic.work.largest), numpy.inf, error)
        return low - error, high + error

    def of_gain(self, cotangent: Any) -> tuple[Reals, Reals]:
        """Ends of the box of dL/dg = Σ ȳ ∘ ŷ over the n rows, each (1, d); half formats may hold the partial sums."""
        y, c, n = self._numbers(cotangent), self.deviation, len(self.x)
        u, r = self._number(self.arithmetic.work.roundoff), self.high
        with numpy.errstate(all="ignore"):
            reach = (self.alpha + u * (3 * abs(self.x) + 4 * abs(self.mean))) * self.layer.centered
            error = r * (reach + self._rough(n + _STEPS, n + _CASTS) * (abs(c) + reach))
            ends = y * c * self.low, y * c * r
            return self._summed(numpy.minimum(*ends), numpy.maximum(*ends), abs(y) * error, (1 + r) * (1 + abs(y)))

    def of_bias(self, cotangent: Any) -> tuple[Reals, Reals]:
        """Ends of the box of dL/db = Σ ȳ over the n rows, each (1, d)."""
        y, n = self._numbers(cotangent), len(self.x)
        return self._summed(y, y, self._rough(n + _STEPS, n + _CASTS) * abs(y), 1 + abs(y))

    def _summed(self, low: Reals, high: Reals, error: Reals, factors: Reals) -> tuple[Reals, Reals]:
        n = len(self.x)
        low, high, error, factors = (numpy.sum(a, axis=0, keepdims=True) for a in (low, high, error, factors))
        error = error + n * _STEPS * self._number(self.arithmetic.work.tiny) * factors + self._cast(n * factors)
        error = error * self._number(Fraction(SLACK))
        return low - error, high + error

    def _rough(self, steps: int, casts: int) -> Any:
        """Γ: so many roundings of the computation and, in a half format, so many of the format."""
        storage, work = self.arithmetic.storage, self.arithmetic.work
        rough = gamma(steps, self._number(work.roundoff))
        cast = gamma(casts, self._number(storage.roundoff)) if storage.bits < work.bits else 0
        return rough + cast + rough * cast

    def _cast(self, factors: Any) -> Any:
        """What the result loses where the format has no normal number, and what values kept in a half format lose."""
        storage = self.arithmetic.storage
        half = storage.bits < self.arithmetic.work.bits
        return self._number(storage.tiny) * (1 + (self._number(storage.roundoff) * factors if half else 0))

    def _number(self, value: Fraction) -> Any:
        return value if self.x.dtype == object else float(value)

    def _numbers(self, values: Any) -> Reals:
        return fractions(values) if self.x.dtype == object else numpy.asarray(values, dtype=self.x.dtype)
