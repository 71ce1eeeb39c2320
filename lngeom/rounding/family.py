"""The outputs that a correct norm kernel may return: a family with two parameters, whatever the order of its sums.

Derived on the page "How far floats may be off" (docs/derivations/tolerance.md). Standard model with underflow, fl(a ∘
b) = (a ∘ b)(1 + δ) + η, |δ| ≤ u, |η| ≤ ω; c = Πx, v the mean square that is divided by (σ², or ‖x‖²/d for RMSNorm);
hats are computed numbers, T(t) the sum of the absolute partial sums of t, γ_k = ku/(1 − ku).

*Mean.* μ̂ = μ + δ, |δ| ≤ α = uT(x)(1 + γ_d)/d + u(4 + γ_d)√(mean x²) + 2ω; merged means add 5u√(lv) + θ(max x − min x +
l√(mean x²)), l = ⌈log₂ d⌉ and θ = (1 + u)³ − 1, and grow by 1 + γ_{4d}.

*Variance.* Two passes: v̂ = (v + δ²)(1 + θ), |θ| ≤ uT((|c| + α)²)(1 + γ_d)/(d(v + δ²)) + 8u. Merged: v̂ is within D +
γ_{2h+8}(v + D) of v, D = 4α'√(Lv) + 4α'²L, α' = αd/(d − 1) + ω, L = l/2. One pass, mean x² − μ̂²: within γ_{h+3}
mean x² + 2|μ|α + α² + u(|μ| + α)², and one rounding more.

*Family.* With p = r̂ (a root and a reciprocal, at most 6u) and q = pδ every component obeys ŷ_i = g_i(p c_i − q) + b_i
± E_i, E_i = 5u|g_i|p(|c_i| + α) + u|b_i| + half an ulp of the format of ŷ_i; where x is multiplied before the mean is
subtracted, u|g_i|p(3|x_i| + 4|μ|) more, and (2 + u)u|b_i|. For given p this confines q to an interval, whose emptiness
is a convex piecewise linear function of p alone: Kelley's cutting planes decide in finitely many steps.

Counts of roundings are in :mod:`~lngeom.rounding.constants`.

All of this is evaluated in extended precision (64 bits where the processor has them) with unit w: c has an absolute
error of at most (d + 8)w max|x|, which is added to α, and every bound is enlarged by the factor 1 + 2⁻²⁰.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy
from numpy.typing import ArrayLike

from ..errors import InputError
from ..norms import Placement, scale
from ..projection import moments, project
from .constants import GUARD_REST, GUARD_TERMS, INCREMENT, MERGED_STEPS, SQUARE
from .formats import FORMATS, Format

Order = Literal["any"] | int
Method = Literal["two-pass", "merged", "one-pass"]
METHODS: tuple[Method, ...] = ("two-pass", "merged", "one-pass")
Reals = numpy.ndarray
REAL = numpy.longdouble
UNIT = float(numpy.finfo(REAL).eps) / 2
SLACK = 1 + 2.0**-20
_CUTS = 200  # Kelley's method ends after as many cuts as f has pieces; it takes about ten


class Sample:
    """Rows x, shape (n, d), in extended precision, with the exact quantities that bounds are made of."""

    noise = UNIT  # relative error of one operation with these numbers

    def __init__(self, x: ArrayLike) -> None:
        self.x = numpy.asarray(x, dtype=REAL)
        self.d = self.x.shape[-1]
        self._spreads: dict[tuple[Arithmetic, bool], Spread] = {}

    # Each is computed where it is asked for: RMSNorm needs neither mean nor deviation.

    @cached_property
    def moments(self) -> tuple[Reals, Reals]:
        """Mean and variance of each row, shape (n, 1), as all below but the deviation."""
        return moments(self.x)

    @cached_property
    def mean(self) -> Reals:
        """The mean."""
        return self.moments[0]

    @cached_property
    def variance(self) -> Reals:
        """The mean square of the deviation."""
        return self.moments[1]

    @cached_property
    def deviation(self) -> Reals:
        """Each component less the mean, shape (n, d)."""
        return project(self.x)

    @cached_property
    def square(self) -> Reals:
        """The mean square."""
        return numpy.mean(self.x * self.x, axis=-1, keepdims=True)

    @cached_property
    def largest(self) -> Reals:
        """The largest absolute value."""
        return numpy.max(numpy.abs(self.x), axis=-1, keepdims=True)

    @cached_property
    def margin(self) -> Reals:
        """A bound of the error of the mean."""
        return (self.d + 8) * UNIT * self.largest

    def number(self, value: Fraction) -> Any:
        """A constant as these rows are computed with."""
        return float(value)

    def numbers(self, values: ArrayLike) -> Reals:
        """An array of such numbers."""
        return numpy.asarray(values, dtype=REAL)

    def root(self, values: Reals, *, up: bool) -> Reals:
        """√ of numbers computed from these rows, which fractions round up or down."""
        return numpy.sqrt(values)

    def reciprocal(self, square: Reals, eps: float, placement: Placement, *, up: bool) -> Reals:
        """1/D(v, ε) for mean squares v, infinite where D is 0; fractions are rounded up or down."""
        return 1 / scale(square, eps=eps, placement=placement)

    def sums_exactly(self, sums: Format) -> Reals:
        """Rows, shape (n, 1), that any order of addition sums without rounding.

        If every component is a multiple of q and Σ|x| ≤ 2^bits q, each partial sum is a number of the format.
        """
        values = self.x.astype(numpy.float64)
        mantissa, exponent = numpy.frexp(values)
        whole = numpy.ldexp(mantissa, 53).astype(numpy.int64)
        unit = numpy.where(whole == 0, numpy.inf, numpy.ldexp((whole & -whole).astype(numpy.float64), exponent - 53))
        least = unit.min(axis=-1, keepdims=True)
        size = numpy.sum(numpy.abs(values), axis=-1, keepdims=True)
        return (size <= numpy.ldexp(least, sums.bits)) & (values == self.x).all(axis=-1, keepdims=True)

    def spread(self, arithmetic: Arithmetic, *, centered: bool) -> Spread:
        """``Spread.of`` these rows, computed once: a diagnosis asks for it with each definition that it tries."""
        key = arithmetic, centered
        if key not in self._spreads:
            self._spreads[key] = Spread.of(self, arithmetic, centered=centered)
        return self._spreads[key]


def partial_sums(terms: Reals, order: Order) -> Reals:
    """A bound of T, the sum of the absolute values of the partial sums of each row, shape (n, 1)."""
    d = terms.shape[-1]
    additions = min(order, d - 1) if isinstance(order, int) else d - 1
    return additions * numpy.sum(numpy.abs(terms), axis=-1, keepdims=True)


@dataclass(frozen=True)
class Arithmetic:
    """How a kernel computes: formats of single operations and of sums, their order, and the way to the variance.

    ``method`` None stands for every backward-stable way: two passes or merged, subtracting or multiplying first.
    """

    work: Format
    sums: Format
    storage: Format
    method: Method | None = None
    order: Order = "any"

    @classmethod
    def of(cls, dtype: str) -> Arithmetic:
        """Half precision computed in float32, everything else in its own format."""
        if not isinstance(dtype, str) or dtype not in FORMATS:
            raise InputError(f"dtype is {dtype!r:.40}: the formats are {', '.join(FORMATS)}")
        work = FORMATS["float64" if dtype == "float64" else "float32"]
        return cls(work, work, FORMATS[dtype])

    def chain(self, d: int) -> int:
        """The largest number of additions that a term passes through."""
        return min(d, self.order) if isinstance(self.order, int) else d

    def lost(self, d: int) -> bool:
        """Whether d is so large that no digit is left: (2d + 8)u ≥ 1/2 or, of merged means, 4du ≥ 1/2."""
        merged = self.method in (None, "merged") and MERGED_STEPS * d * self.sums.roundoff >= Fraction(1, 2)
        return merged or (GUARD_TERMS * d + GUARD_REST) * self.work.roundoff >= Fraction(1, 2)

    def growth(self, terms: Reals) -> Reals:
        """Bound of the error of the sum of each row of `terms`, shape (n, 1)."""
        u: Any = self.sums.roundoff if terms.dtype == object else float(self.sums.roundoff)
        return u * partial_sums(terms, self.order) * (1 + gamma(terms.shape[-1], u))


def gamma(k: float, u: float) -> float:
    """γ_k = ku/(1 − ku), inf if ku ≥ 1/2: beyond that no digit is left."""
    return k * u / (1 - k * u) if k * u < 0.5 else numpy.inf


@dataclass(frozen=True)
class Spread:
    """Bounds of the two errors: |δ| ≤ `alpha`, v̂ in [`low`, `high`]; all of shape (n, 1)."""

    alpha: Reals
    low: Reals
    high: Reals

    @classmethod
    def of(cls, sample: Sample, arithmetic: Arithmetic, *, centered: bool) -> Spread:
        """The bounds of the derivation for each row."""
        number, d, h = sample.number, sample.d, arithmetic.chain(sample.d)
        u, us, w = (number(a) for a in (arithmetic.work.roundoff, arithmetic.sums.roundoff, arithmetic.work.tiny))
        # What extended precision loses in a mean of squares, beside what it loses in a deviation.
        slack, unit = number(Fraction(SLACK)), sample.noise * (d + 8)
        with numpy.errstate(all="ignore"):
            if not centered:
                v, zero = sample.square, numpy.zeros_like(sample.square)
                error = arithmetic.growth(sample.x * sample.x) / d
                error = error * slack + SQUARE * u * v + 4 * w + unit * v
                return cls(zero, numpy.maximum(v - error, 0), v + error)
            v, mean = sample.variance, numpy.abs(sample.mean)
            error = arithmetic.growth(sample.x)
            if arithmetic.method == "two-pass":  # which divides the sum; merged means round even where sums do not
                error, divided = numpy.where(sample.sums_exactly(arithmetic.sums), 0 * error, error), 2 * mean
            else:  # each term may be multiplied by a rounded 1/d
                divided = (4 + gamma(d, us)) * sample.root(sample.square, up=True)
            alpha = (error / d + u * divided + 2 * w) * slack + sample.margin
            shifted = numpy.abs(sample.deviation) + alpha
            two = arithmetic.growth(shifted * shifted) / d
            # Rounding each difference moves the root mean square by a factor 1 ± u and by ω.
            bottom, top = v * (1 - SQUARE * u) - two - 4 * w, (v + alpha * alpha) * (1 + SQUARE * u) + two + 4 * w
            top = (sample.root(top, up=True) + w) ** 2
            bottom = numpy.maximum(sample.root(numpy.maximum(bottom, 0), up=False) - w, 0) ** 2
            if arithmetic.method == "one-pass":
                change = gamma(h + 3, us) * sample.square + 2 * mean * alpha + alpha**2
                change = change + u * (mean + alpha) ** 2 + u * v + 4 * w
                bottom, top = v - change * slack, v + change * (1 + u) * slack
            elif arithmetic.method != "two-pass":
                alpha = cls._merged_mean(sample, alpha, us, w)
                change = cls._merged_variance(sample, alpha, w, gamma(2 * h + 8, us)) * slack
                # The squares have positive weights: a merged variance is not negative.
                bottom, top = numpy.minimum(bottom, numpy.maximum(v - change, 0)), numpy.maximum(top, v + change)
            inexact = 2 * sample.margin * sample.root(v, up=True) + sample.margin**2 + unit * v
            return cls(alpha, bottom - inexact, top + inexact)

    @staticmethod
    def _merged_mean(sample: Sample, alpha: Reals, us: float, w: float) -> Reals:
        """α of merged means, from the α of sums in any order.

        A smaller part is merged into a larger one in any tree; larger ones into smaller ones where these parts are
        disjoint; and ⌈log₂ d⌉ levels of trees may weight both means, (n_a/n)m_a + (n_b/n)m_b.
        """
        d, levels, number = sample.d, (sample.d - 1).bit_length(), sample.number
        three = us * (3 + us * (3 + us))  # (1 + u)³ − 1
        change = INCREMENT * us * sample.root(levels * sample.variance, up=True) + 2 * (d + 2 * levels) * w
        width = numpy.max(sample.x, axis=-1, keepdims=True) - numpy.min(sample.x, axis=-1, keepdims=True)
        change = change + three * (width + levels * sample.root(sample.square, up=True))
        return (alpha + change * number(Fraction(SLACK))) * (1 + gamma(MERGED_STEPS * d, us))

    @staticmethod
    def _merged_variance(sample: Sample, alpha: Reals, w: float, rough: float) -> Reals:
        """D + γ(v + D): the error of a merged variance; α is for merged means.

        The errors of partial means, in the mean square that the merges weight them by, are at most αd/(d − 1).
        """
        v, d, number = sample.variance, sample.d, sample.number
        levels = number(Fraction((d - 1).bit_length(), 2))
        shift = alpha * number(Fraction(d, max(d - 1, 1))) + w
        change = 4 * shift * sample.root(levels * v, up=True) + 4 * shift**2 * levels
        return change + rough * (v + change) + (levels + 8) * w

    def unbounded(self, sample: Sample, arithmetic: Arithmetic) -> Reals:
        """Rows, shape (n,), that have no bound: a sum or a square may overflow, or no digit is left."""
        top = float(arithmetic.work.largest) if arithmetic.work.high < 1000 else float(FORMATS["float64"].largest)
        with numpy.errstate(over="ignore"):
            overflows = (4 * sample.d * numpy.maximum(sample.largest**2, sample.largest) > top)[:, 0]
        return overflows | arithmetic.lost(sample.d)


@dataclass(frozen=True)
class Family:
    """Outputs g(p·n − q) + b ± E with p in [low, high] and |q| ≤ reach, for each row; `free` rows may be anything."""

    numerator: Reals
    low: Reals
    high: Reals
    reach: Reals
    gain: Reals
    bias: Reals
    slack: Reals
    free: Reals
    storage: Format

    def tolerance(self, y: Reals) -> Reals:
        """E at the output `y`."""
        return self.slack + half_ulp(y, self.storage)

    def box(self) -> tuple[Reals, Reals]:
        """Lower and upper ends of the outputs, each component by itself; infinite in free rows."""
        with numpy.errstate(all="ignore"):
            ends = [self.gain * p * self.numerator for p in (self.low, self.high)]
            reach = numpy.abs(self.gain) * self.reach + self.slack
            low, high = numpy.minimum(*ends) + self.bias - reach, numpy.maximum(*ends) + self.bias + reach
            low = low - half_ulp(low, self.storage) * SLACK
            high = high + half_ulp(high, self.storage) * SLACK
            free = self.free[:, None] | ~(numpy.maximum(-low, high) < float(self.storage.largest))
            return numpy.where(free, -numpy.inf, low), numpy.where(free, numpy.inf, high)

    def fit(self, y: Reals) -> Fit:
        """The member of the family that comes closest to `y`, shape (n, d)."""
        y = numpy.asarray(y, dtype=REAL)
        finite, gain = numpy.isfinite(y), self.gain
        with numpy.errstate(all="ignore"):
            value = y if finite.all() else numpy.where(finite, y, 0)
            error, none, size = self.tolerance(value), gain == 0, numpy.abs(self.numerator)
            # Measured from p_low: beside a massive component, p n would round away what the smaller ones tell.
            rest, width = (value - self.bias) / gain - self.numerator * self.low, error / numpy.abs(gain)
            loose = none
            if (
                value is not y
            ):  # an overflow to infinity is right where the exact value may lie beyond the largest number
                top = float(self.storage.largest) * (1 - 2 * float(self.storage.roundoff))
                most = numpy.abs(gain) * (size * self.high + self.reach) + numpy.abs(self.bias)
                loose = none | (~finite & (most * (1 + 1e-3) >= top))
            low, high = rest - width, rest + width
            if loose.any():
                low, high = numpy.where(loose, -numpy.inf, low), numpy.where(loose, numpy.inf, high)
            more, q = _closest(self.numerator, low, high, self.low, self.high, self.reach)
            p, distance = self.low + more, numpy.abs(gain) * numpy.abs(more * self.numerator - q - rest)
            if none.any():
                distance = numpy.where(none, numpy.abs(self.bias - value), distance)
            ratio = numpy.where(distance == 0, 0, distance / error)
            if value is not y:
                ratio = numpy.where(finite, ratio, numpy.where(loose & ~none, 0, numpy.inf))
            if (outside := numpy.max(ratio, axis=-1) > 1).any():
                # A row outside is judged by each component's own interval, where that tells.
                width = error + numpy.abs(gain) * (self.reach + size * (self.high - self.low) / 2)
                middle = gain * self.numerator * (self.low + self.high) / 2 + self.bias
                alone = numpy.where(finite, numpy.abs(value - middle) / width, ratio)
                alone = numpy.where(distance == 0, numpy.minimum(alone, 1), alone)
                told = outside & (numpy.max(alone, axis=-1) > 1)
                ratio = numpy.where(told[:, None], alone, ratio)
        ratio = numpy.where(self.free[:, None], 0, ratio / SLACK).astype(numpy.float64)
        return Fit(p[:, 0].astype(float), q[:, 0].astype(float), ratio)


@dataclass(frozen=True)
class Fit:
    """Parameters p and q of each row, and the distance of each component from that member over its tolerance."""

    p: Reals
    q: Reals
    ratio: Reals

    @property
    def ok(self) -> Reals:
        """Rows that the family holds."""
        return self.ratio.max(axis=-1) <= 1


def half_ulp(y: Reals, storage: Format) -> Reals:
    """Half the distance of the numbers of a format next to `y`; ω at 0, which a subnormal number may be flushed to."""
    exponent = numpy.frexp(numpy.where(numpy.isfinite(y), y, 0))[1]
    half = numpy.ldexp(REAL(1), numpy.maximum(exponent, storage.low + 1) - storage.bits - 1)
    return numpy.where(y == 0, REAL(2) ** storage.low, half)


def _emptiness(p: Reals, n: Reals, low: Reals, high: Reals, reach: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """Convex function of p that is above 0 where no q is left, its slope, and the two ends of the interval of q."""
    value = n * p
    over, under = value - high, value - low
    i, j = numpy.argmax(over, axis=-1)[:, None], numpy.argmin(under, axis=-1)[:, None]
    top, bottom = (numpy.take_along_axis(a, k, -1) for a, k in ((over, i), (under, j)))
    slope = numpy.where(top > -reach, numpy.take_along_axis(n, i, -1), 0)
    slope = slope - numpy.where(bottom < reach, numpy.take_along_axis(n, j, -1), 0)
    top, bottom = numpy.maximum(top, -reach), numpy.minimum(bottom, reach)
    return top - bottom, slope, top, bottom


def _closest(n: Reals, low: Reals, high: Reals, p_low: Reals, p_high: Reals, reach: Reals) -> tuple[Reals, Reals]:
    """Scale beyond p_low and shift q of each row at which the interval left for q is least empty, both (n, 1).

    `low` and `high` confine q to `low` ≤ (p − p_low)n − q ≤ `high`.
    """

    def at(p: Reals, rows: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        some = (n, low, high, reach) if len(rows) == len(n) else (n[rows], low[rows], high[rows], reach[rows])
        return _emptiness(p, *some)

    # The largest |n_j| confines p to (max(|l_j|, |h_j|) + reach)/|n_j|, however wide its own range is.
    j = numpy.argmax(numpy.abs(n), axis=-1)[:, None]
    most = numpy.maximum(*(numpy.abs(numpy.take_along_axis(a, j, -1)) for a in (low, high))) + reach
    most = numpy.maximum(most / numpy.abs(numpy.take_along_axis(n, j, -1)), 0)
    ceiling = numpy.where(numpy.isfinite(p_high), p_high - p_low, numpy.where(numpy.isfinite(most), most, 1e30))
    left, right = 0 * n[:, :1], ceiling + 0 * n[:, :1]
    every = numpy.arange(len(n))
    p = numpy.sqrt(numpy.maximum(p_low, 1e-300) * numpy.maximum(p_low + right, 1e-300)) - p_low + left
    (fl, sl, *_), (fr, sr, *_), here = edges = at(left, every), at(right, every), at(p, every)
    best, least, ends = p.copy(), numpy.full_like(p, numpy.inf), here[2] + here[3]
    for edge, (gap, _, top, bottom) in zip((left, right), edges, strict=False):
        news = (edge, best), (gap, least), (top + bottom, ends)
        best, least, ends = (numpy.where(gap < least, new, old) for new, old in news)
    rows = every
    for _ in range(_CUTS):
        gap, slope, top, bottom = here
        better = gap < least[rows]
        for old, new in ((best, p[rows]), (least, gap), (ends, top + bottom)):
            old[rows] = numpy.where(better, new, old[rows])
        falls = slope < 0
        for old, new in ((left, p[rows]), (fl, gap), (sl, slope)):
            old[rows] = numpy.where(falls, new, old[rows])
        for old, new in ((right, p[rows]), (fr, gap), (sr, slope)):
            old[rows] = numpy.where(falls, old[rows], new)
        # Where the two tangents meet lies the least value that f can still have between them.
        meeting = (fr - fl + sl * left - sr * right) / (sl - sr)
        floor = fl + sl * (meeting - left)
        inside = (meeting > left) & (meeting < right) & (sl < 0) & (sr > 0) & (floor < least)
        rows = every[(inside & (least > 0))[:, 0]]
        if rows.size == 0:
            break
        p[rows] = meeting[rows]
        here = at(p[rows], rows)
    return best, numpy.clip(ends / 2, -reach, reach)
