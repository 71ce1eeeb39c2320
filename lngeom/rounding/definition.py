"""A norm layer as it is written down, right or wrong, and the family of outputs that its kernels may return."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy

from ..carriers import Array
from ..norms import Placement
from ..sentences import Cause
from .constants import COMPONENT, FIRST_INPUT, FIRST_MEAN, FOLDED_BIAS, SCALE
from .family import REAL, UNIT, Arithmetic, Family, Reals, Sample
from .formats import FORMATS

Verdict = Literal["rounding", "unstable", "variant", "bug"]
Statistics = Callable[[Sample], tuple[Array, Array]]
Denominator = Callable[[Reals, float, Sample], Reals]
_ALL = slice(None)
_Several = tuple[Reals, ...]


@dataclass(frozen=True)
class Definition:
    """A norm layer g ∘ (x − m)/D(v, ε) + b, with center m and mean square v, and how it is computed.

    `casts` counts the roundings to the storage format between the norm and the output; `scale_error` is the relative
    error that the reciprocal of D may have beyond rounding.
    """

    centered: bool
    gain: Reals | None
    bias: Reals | None
    eps: float
    placement: Placement = "inside"
    cause: Cause | None = None
    verdict: Verdict = "rounding"
    statistics: Statistics | None = None
    denominator: Denominator | None = None
    prepare: Callable[[Reals], Reals] | None = None
    casts: float = 0
    scale_error: float = 0
    spread_centered: bool | None = None

    def exact(self, sample: Sample) -> tuple[Reals, Reals, Reals]:
        """Center m and mean square v, shape (n, 1), and numerator x − m, shape (n, d)."""
        if self.statistics is not None:
            center, square = self.statistics(sample)
            return center, square, sample.x - center
        if self.centered:
            return sample.mean, sample.variance, sample.deviation
        return numpy.zeros_like(sample.square), sample.square, sample.x

    def reciprocal(self, square: Reals, sample: Sample, *, up: bool = True) -> Reals:
        """1/D(v, ε)."""
        with numpy.errstate(all="ignore"):
            if self.denominator is not None:
                return 1 / self.denominator(square, self.eps, sample)
            return sample.reciprocal(square, self.eps, self.placement, up=up)

    def scales(self, low: Reals, high: Reals, sample: Sample, arithmetic: Arithmetic) -> tuple[Reals, Reals]:
        """Ends of the computed 1/D where the computed mean square lies between `low` and `high`."""
        u, w = sample.number(arithmetic.work.roundoff), sample.number(arithmetic.work.tiny)
        inexact = SCALE * u + sample.number(Fraction(self.scale_error))
        least = numpy.maximum(low, 0) if arithmetic.method != "one-pass" else low
        with numpy.errstate(all="ignore"):
            p_low = self.reciprocal(numpy.maximum(high, 0) + 2 * w, sample, up=False) * (1 - inexact)
            p_high = self.reciprocal(numpy.maximum(least - 2 * w, 0), sample) * (1 + inexact)
            return numpy.minimum(p_low, p_high), numpy.maximum(p_low, p_high)  # a mistake may increase

    def output(self, sample: Sample) -> Reals:
        """The output in extended precision."""
        sample = sample if self.prepare is None else Sample(self.prepare(sample.x))
        _, square, numerator = self.exact(sample)
        gain, bias = self._affine(sample)
        with numpy.errstate(all="ignore"):
            return numerator * self.reciprocal(square, sample) * gain + bias

    def enclosed(self, sample: Sample) -> tuple[Reals, Reals]:
        """The output in extended precision and a bound of its error, each of shape (n, d)."""
        _, square, numerator = self.exact(sample)
        gain, _ = self._affine(sample)
        with numpy.errstate(all="ignore"):
            p = self.reciprocal(square, sample)
            output = self.output(sample)
            relative = p * (sample.margin + (sample.d + 8) * UNIT * numpy.sqrt(square)) + 8 * UNIT
            error = abs(gain) * p * (sample.margin + (abs(numerator) + sample.margin) * relative)
            error = error + 8 * UNIT * abs(output)
        return output, numpy.where(numpy.isfinite(error), error * 1.01, numpy.inf)

    def bound(self, sample: Sample, family: Family) -> Reals:
        """How far the box of the family reaches from the exact output, shape (n, d); inf where it has no end."""
        (exact, error), (low, high) = self.enclosed(sample), family.box()
        with numpy.errstate(all="ignore"):
            bound = numpy.maximum(high - exact, exact - low) + error
        return numpy.where(numpy.isnan(bound), numpy.inf, bound)

    def _affine(self, sample: Sample) -> tuple[Reals, Reals]:
        gain, bias = self.gain, self.bias
        return (
            sample.numbers(numpy.ones(sample.d) if gain is None else gain),
            sample.numbers(numpy.zeros(sample.d) if bias is None else bias),
        )

    def family(self, sample: Sample, arithmetic: Arithmetic, columns: slice = _ALL) -> Family:
        """The outputs that a kernel of this definition may return, in some columns, in fractions if the rows are."""
        sample = sample if self.prepare is None else Sample(self.prepare(sample.x))
        u, w = sample.number(arithmetic.work.roundoff), sample.number(arithmetic.work.tiny)
        center, square, numerator = self.exact(sample)
        centered = self.centered if self.spread_centered is None else self.spread_centered
        spread = sample.spread(arithmetic, centered=centered)
        gain, bias = self._affine(sample)
        with numpy.errstate(all="ignore"):
            low, high, alpha = spread.low, spread.high, spread.alpha
            if self.statistics is not None:
                v = sample.variance if centered else sample.square
                low, high = square - 2 * (v - low), square + 2 * (high - v)
                alpha = 2 * alpha
            p_low, p_high = self.scales(low, high, sample, arithmetic)
            # The certain divisor of a mistake is not excused by a doubtful one of the layer; below ω it vanishes.
            if self.cause is not None:
                vanishing = (square < 16 * w) & (p_high * p_high > 1 / (16 * w))
            else:
                vanishing = (p_high == numpy.inf) | (low + sample.number(Fraction(self.eps)) <= 0)
            vanishing |= ~_finite(self.reciprocal(square, sample))
            bounded = numpy.where(_finite(p_high), p_high, numpy.where(vanishing, 0, p_low))
            # A kernel that multiplies first may overflow on the way to a number.
            first = bounded * (numpy.max(abs(gain)) + 1) * (sample.largest + 1) > float(arithmetic.work.largest)
            free = (vanishing | first | ~_finite(high + alpha))[:, 0] | spread.unbounded(sample, arithmetic)
            size = numpy.max(numpy.abs(center + 0 * alpha), axis=-1, keepdims=True)
            own = 0 if arithmetic.method == "two-pass" else 3 * u * size
            reach = alpha + own if self.centered else 0 * alpha
            numerator, gain, bias = numerator[:, columns], gain[columns], bias[columns]
            center = center[:, columns] if center.shape[-1:] == (sample.d,) else center
            some = sample.x[:, columns], center, numerator, gain, bias
            slack = self._slack(sample, arithmetic, (bounded, alpha), some)
            return Family(numerator, p_low, p_high, p_high * reach, gain, bias, slack, free, arithmetic.storage)

    def _slack(self, sample: Sample, arithmetic: Arithmetic, bounds: _Several, columns: _Several) -> Reals:
        """E without half an ulp of the output; `bounds` of p and of the error of the mean.

        `columns` are some columns of x, the center, the numerator, gain and bias.
        """
        (scale, alpha), (x, center, numerator, gain, bias) = bounds, columns
        size = scale * (numpy.abs(numerator) + alpha)
        u, w = sample.number(arithmetic.work.roundoff), sample.number(arithmetic.work.tiny)
        first, rounded_bias = 0 * size, u * numpy.abs(bias)
        if self.centered and arithmetic.method != "two-pass":
            first = scale * (FIRST_INPUT * numpy.abs(x) + FIRST_MEAN * numpy.abs(center))
            rounded_bias = (FOLDED_BIAS + u) * rounded_bias
        cast = self.casts * sample.number(arithmetic.storage.roundoff)
        # What products lose below ω, times the factors that follow: deviations and outputs times the gain, inputs times
        # it before the scale, and the product of gain and scale before an input or the mean.
        wide = numpy.abs(x) + numpy.abs(numerator) + 2 * numpy.abs(center) + alpha + numpy.abs(bias)
        tiny = w * (abs(gain) * (4 * scale + 4) + 2 * scale + wide + 4)
        if self.casts:  # rounding to a narrow format may underflow too
            tiny = tiny + abs(gain) * sample.number(arithmetic.storage.tiny) * cast
        slack = numpy.abs(gain) * ((COMPONENT * u + cast + 4 * sample.noise) * size + u * first) + tiny + rounded_bias
        return numpy.where(gain == 0, u * numpy.abs(bias) + w, slack) if (gain == 0).any() else slack


def _finite(values: Reals) -> Reals:
    return abs(values) < numpy.inf  # of fractions too


def rounded(x: Reals, dtype: str) -> Reals:
    """`x` rounded to the nearest number of the format, ties to even."""
    if dtype in ("float32", "float64"):
        with numpy.errstate(over="ignore"):
            return numpy.asarray(x).astype(dtype).astype(REAL)
    form = FORMATS[dtype]
    exponent = numpy.maximum(numpy.frexp(x)[1], form.low + 1)
    unit = numpy.ldexp(REAL(1), exponent - form.bits)
    value = numpy.rint(x / unit) * unit
    return numpy.where(abs(value) > float(form.largest), numpy.copysign(numpy.inf, value), value)
