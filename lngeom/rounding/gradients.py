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

from dataclasses import dataclass
from fractions import Fraction

import numpy
from numpy.typing import ArrayLike

from .certainty import exactly
from .definition import Definition
from .family import SLACK, Arithmetic, Reals, Sample, gamma

_STEPS = 32  # roundings of a monomial outside sums; automatic differentiation of a plain formula needs 20
_CASTS = 4  # among them to a half format

_FINE = 1 << 1400


@dataclass(frozen=True)
class Gradients:
    """The input of a backward pass: rows x, shape (n, d), with the bounds of its two errors.

    Of floats (:meth:`of`) or of fractions (:meth:`exactly`); ε inside the root. A half format may hold μ̂ and p̂.

    >>> from lngeom.rounding import Arithmetic, Definition, Gradients
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> passed = Gradients.exactly([[1.0, 3.0, 5.0]], layer, Arithmetic.of("float32"))
    >>> low, high = passed.of_input([[1.0, 0.0, 0.0]])
    >>> [bool(low[0, 0] <= x <= high[0, 0]) for x in (1 / 96**0.5, 1 / 6**0.5)]
    [True, False]
    """

    sample: Sample
    alpha: Reals
    low: Reals
    high: Reals
    layer: Definition
    arithmetic: Arithmetic

    @classmethod
    def of(cls, x: ArrayLike | Sample, layer: Definition, arithmetic: Arithmetic) -> "Gradients":
        """In extended precision; NaN or infinite where no bound exists."""
        return cls._of(x if isinstance(x, Sample) else Sample(x), layer, arithmetic)

    @classmethod
    def exactly(cls, x: ArrayLike, layer: Definition, arithmetic: Arithmetic) -> "Gradients | None":
        """In fractions; None where a row has no bound."""
        sample = exactly(x, arithmetic)
        passed = None if sample is None else cls._of(sample, layer, arithmetic)
        return passed if passed is not None and (passed.high < numpy.inf).all() else None

    @classmethod
    def _of(cls, sample: Sample, layer: Definition, arithmetic: Arithmetic) -> "Gradients":
        spread = sample.spread(arithmetic, centered=layer.centered)
        low, high = layer.scales(spread.low, spread.high, sample, arithmetic)
        with numpy.errstate(all="ignore"):
            void = spread.unbounded(sample, arithmetic)[:, None]
            void |= spread.low + sample.number(Fraction(layer.eps)) <= 0
        half = arithmetic.storage.bits < arithmetic.work.bits  # holds the mean and the scale
        s = sample.number(arithmetic.storage.roundoff if half else Fraction(0))
        alpha = spread.alpha + 2 * s * abs(layer.exact(sample)[0])
        low, high = low * (1 - 2 * s), numpy.where(void, numpy.inf, high) * (1 + 2 * s)
        return cls(sample, alpha, low, high, layer, arithmetic)

    def of_input(self, cotangent: ArrayLike) -> tuple[Reals, Reals]:
        """Ends of the box of dL/dx for dL/dŷ = `cotangent`, each (n, d)."""
        (m, _, c), x, d, number = self.layer.exact(self.sample), abs(self.sample.x), self.sample.d, self.sample.number
        h = self.sample.numbers(cotangent)
        h = h if self.layer.gain is None else h * self.sample.numbers(self.layer.gain)
        u, w, centered = number(self.arithmetic.work.roundoff), self.arithmetic.work.tiny, self.layer.centered

        def average(a: Reals) -> Reals:
            return numpy.sum(a, axis=-1, keepdims=True) / d

        with numpy.errstate(all="ignore"):
            rough, size = self._rough(2 * d + _STEPS, _CASTS), abs(h)
            reach = (self.alpha + u * (3 * x + 4 * abs(m))) * centered
            wide = x + (abs(m) + self.alpha) * centered
            inner, outer = average(size * wide), abs(c) + reach
            product = average(h * c)
            one = rough * (size + average(size) * centered)
            off = average(size * reach) + rough * inner
            apart = reach + rough * outer
            apart = apart + average(apart) * centered
            three = abs(c) * off + apart * (abs(product) + off)
            linear, cubic = h - average(h) * centered, c * product
            ends = [(linear * r, cubic * r**3) for r in (self.low, self.high)]
            low, high = (f(ends[0][0], ends[1][0]) for f in (numpy.minimum, numpy.maximum))
            low, high = low - numpy.maximum(ends[0][1], ends[1][1]), high - numpy.minimum(ends[0][1], ends[1][1])
            r = self.high
            # What underflows, times the factors that it may still meet; a half format holds normalized numbers only.
            lost = (4 * d + 64) * self.sample.number(w) * (1 + r) ** 3
            lost = lost * (1 + outer + average(outer)) * (1 + inner + average(size + wide))
            normal = (1 + r) * (2 + r * outer) * (1 + r * average(size + wide) + r * inner)
            error = (r * one + r**3 * three + lost + self._cast(_CASTS * normal)) * self.sample.number(Fraction(SLACK))
            # A product of some of these factors may overflow on the way to a number.
            error = numpy.where(lost > self.sample.number(w * self.arithmetic.work.largest), numpy.inf, error)
        return low - error, high + error

    def of_gain(self, cotangent: ArrayLike, columns: slice = slice(None)) -> tuple[Reals, Reals]:
        """Ends of the box of dL/dg = Σ ȳ ∘ ŷ over the n rows, each (1, d); sums are in the format of the work.

        Of all components, or of some `columns`.
        """
        (m, _, c), x = self.layer.exact(self.sample), self.sample.x
        y, c, x = (a[:, columns] for a in (self.sample.numbers(cotangent), c, x))
        u, r = self.sample.number(self.arithmetic.work.roundoff), self.high
        with numpy.errstate(all="ignore"):
            reach = (self.alpha + u * (3 * abs(x) + 4 * abs(m))) * self.layer.centered
            error = r * (reach + self._rough(len(y) + _STEPS, _CASTS) * (abs(c) + reach))
            ends = y * c * self.low, y * c * r
            return self._summed(numpy.minimum(*ends), numpy.maximum(*ends), abs(y) * error, (1 + r) * (1 + abs(y)))

    def of_bias(self, cotangent: ArrayLike, columns: slice = slice(None)) -> tuple[Reals, Reals]:
        """Ends of the box of dL/db = Σ ȳ over the rows of `cotangent`, for all rows x, each (1, d)."""
        y = self.sample.numbers(numpy.asarray(cotangent)[:, columns])
        return self._summed(y, y, self._rough(len(y) + _STEPS, _CASTS) * abs(y), 1 + abs(y))

    def _summed(self, low: Reals, high: Reals, error: Reals, factors: Reals) -> tuple[Reals, Reals]:
        n = len(low)
        low, high, error, factors = -_total(-low), _total(high), _total(error), _total(factors)
        error = error + n * _STEPS * self.sample.number(self.arithmetic.work.tiny) * factors + self._cast(n * factors)
        error = error * self.sample.number(Fraction(SLACK))
        return low - error, high + error

    def _rough(self, steps: int, casts: int) -> float:
        """Γ: so many roundings of the computation and, in a half format, so many of the format."""
        storage, work = self.arithmetic.storage, self.arithmetic.work
        rough = gamma(steps, self.sample.number(work.roundoff))
        cast = gamma(casts, self.sample.number(storage.roundoff)) if storage.bits < work.bits else 0
        return rough + cast + rough * cast

    def _cast(self, factors: Reals) -> Reals:
        """The error of subnormal numbers, in the format and in values kept in a half format."""
        storage = self.arithmetic.storage
        half = storage.bits < self.arithmetic.work.bits
        return self.sample.number(storage.tiny) * (1 + (self.sample.number(storage.roundoff) * factors if half else 0))


def _total(values: Reals) -> Reals:
    """Sums over the rows; fractions are rounded up to one denominator, far below the last digit of every format."""
    if values.dtype != object:
        return numpy.sum(values, axis=0, keepdims=True)
    whole = numpy.array([-(-value.numerator * _FINE // value.denominator) for value in values.flat], dtype=object)
    sums = whole.reshape(values.shape).sum(axis=0)
    return numpy.array([[Fraction(total, _FINE) for total in sums]], dtype=object)
