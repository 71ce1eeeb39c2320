"""Norm layers as they are written down, right, as documented variants and with the usual mistakes, each as a family."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy

from ..norms import Placement, scale
from ._family import REAL, UNIT, Arithmetic, Family, Reals, Sample
from ._formats import FORMATS

Verdict = Literal["rounding", "unstable", "variant", "bug"]
Statistics = Callable[[Sample], tuple[Any, Any]]
Denominator = Callable[[Reals, float, Sample], Reals]


@dataclass(frozen=True)
class Definition:
    """A norm layer g ∘ (x − m)/D(v, ε) + b, with center m and mean square v, and how it is computed.

    `casts` counts the roundings to the storage format between the norm and the output; `scale_error` is the relative
    error that the reciprocal of D may have beyond rounding.

    >>> from lngeom.rounding import Definition, Sample
    >>> Definition(centered=False, gain=None, bias=None, eps=0.0).output(Sample([[3.0, 3.0]])).astype(float)
    array([[1., 1.]])
    """

    centered: bool
    gain: Reals | None
    bias: Reals | None
    eps: float
    placement: Placement = "inside"
    name: str = ""
    verdict: Verdict = "rounding"
    statistics: Statistics | None = None
    denominator: Denominator | None = None
    prepare: Callable[[Reals], Reals] | None = None
    casts: float = 0
    scale_error: float = 0.0
    spread_centered: bool | None = None

    def exact(self, sample: Sample) -> tuple[Reals, Reals, Reals]:
        """Center m and mean square v, shape (n, 1), and numerator x − m, shape (n, d)."""
        if self.statistics is not None:
            center, square = self.statistics(sample)
            return center, square, sample.x - center
        if self.centered:
            return sample.mean, sample.variance, sample.deviation
        return numpy.zeros_like(sample.mean), sample.square, sample.x

    def reciprocal(self, square: Reals, sample: Sample) -> Reals:
        """1/D(v, ε)."""
        with numpy.errstate(all="ignore"):
            if self.denominator is not None:
                return 1 / self.denominator(square, self.eps, sample)
            return 1 / scale(square, eps=self.eps, placement=self.placement)

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
            error = abs(gain) * p * (sample.margin + (abs(numerator) + sample.margin) * relative) + 8 * UNIT * abs(
                output
            )
        return output, numpy.where(numpy.isfinite(error), error * 1.01, numpy.inf)

    def bound(self, sample: Sample, family: Family) -> Reals:
        """How far the box of the family reaches from the exact output, shape (n, d); inf where it has no end."""
        (exact, error), (low, high) = self.enclosed(sample), family.box()
        with numpy.errstate(all="ignore"):
            bound = numpy.maximum(high - exact, exact - low) + error
        return numpy.where(numpy.isnan(bound), numpy.inf, bound)

    def _affine(self, sample: Sample) -> tuple[Reals, Reals]:
        one = numpy.ones(sample.d, dtype=REAL)
        return (one if self.gain is None else self.gain), (0 * one if self.bias is None else self.bias)

    def family(self, sample: Sample, arithmetic: Arithmetic) -> Family:
        """What a kernel of this definition may return."""
        sample = sample if self.prepare is None else Sample(self.prepare(sample.x))
        u, w = float(arithmetic.work.roundoff), float(arithmetic.work.tiny)
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
            size = numpy.max(numpy.abs(center + 0 * sample.x), axis=-1, keepdims=True)
            own = 0 if arithmetic.method == "two-pass" else 3 * u * size
            reach = alpha + own if self.centered else 0 * alpha
            least = numpy.maximum(low, 0) if arithmetic.method != "one-pass" else low
            inexact = 8 * u + self.scale_error
            p_low = self.reciprocal(numpy.maximum(high, 0) + 2 * w, sample) * (1 - inexact)
            p_high = self.reciprocal(numpy.maximum(least - 2 * w, 0), sample) * (1 + inexact)
            p_low, p_high = (numpy.minimum(p_low, p_high), numpy.maximum(p_low, p_high))  # a mistake may increase
            # The certain divisor of a mistake is not excused by a doubtful one of the layer; below ω it vanishes.
            if self.name:
                vanishing = (square < 16 * w) & (p_high * p_high > 1 / (16 * w))
            else:
                vanishing = (p_high == numpy.inf) | (low + self.eps <= 0)
            vanishing |= ~numpy.isfinite(self.reciprocal(square, sample))
            bounded = numpy.where(numpy.isfinite(p_high), p_high, numpy.where(vanishing, 0, p_low))
            size = bounded * (numpy.abs(numerator) + alpha)
            if arithmetic.method != "two-pass":
                first = bounded * (3 * numpy.abs(sample.x) + 4 * numpy.abs(center))
                first = first if self.centered else 0
            else:
                first = 0
            cast = self.casts * float(arithmetic.storage.roundoff)
            tiny = w * (4 * bounded + 4 + (numpy.abs(sample.x) + numpy.abs(bias) + 1) / numpy.maximum(abs(gain), w))
            if self.casts:  # rounding to a narrow format may underflow too
                tiny = tiny + float(arithmetic.storage.tiny) * cast
            slack = numpy.abs(gain) * ((5 * u + cast) * size + u * first + tiny) + u * numpy.abs(bias)
            slack = numpy.where(gain == 0, u * numpy.abs(bias) + w, slack)
            # A kernel that multiplies first may overflow on the way to a number.
            first = bounded * (numpy.max(abs(gain)) + 1) * (sample.largest + 1) > float(arithmetic.work.largest)
            free = (vanishing | first | ~numpy.isfinite(high + alpha))[:, 0] | spread.overflows(sample, arithmetic)
            return Family(numerator, p_low, p_high, p_high * reach, gain, bias, slack, free, arithmetic.storage)


# ---------------------------------------------------------------------------------- variants and mistakes

Change = tuple[str, str, Verdict, Callable[[Definition], Definition]]
"""What a change is about (two of one kind exclude each other), its name, what it is, and the change."""

_USUAL_EPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 2.0**-23, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0)
_BLOCKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def _change(kind: str, name: str, verdict: Verdict = "bug", **new: Any) -> Change:
    return kind, name, verdict, lambda z: replace(z, **new)


def changes(base: Definition, d: int, dtype: str, *, eps: tuple[float, ...] = ()) -> Iterator[Change]:
    """The documented variants, then the usual mistakes, as changes of the definition `base`; `eps` measured values."""
    yield from _variants(base, d, dtype)
    yield from _eps_mistakes(base, eps)
    yield from _scale_mistakes(base, d)
    yield from _statistics_mistakes(base, d)
    yield from _affine_mistakes(base)
    for name in ("float16", "bfloat16"):
        if FORMATS[name].bits < FORMATS[dtype].bits:
            yield _change("input", f"input rounded to {name}", prepare=lambda x, name=name: rounded(x, name))


def _variants(base: Definition, d: int, dtype: str) -> Iterator[Change]:
    half, g = FORMATS[dtype].bits < 24, base.gain
    if half and (g is not None or base.bias is not None):
        text = f"normalized value cast to {dtype} before the gain (as Llama)"
        yield _change("cast", text, "variant", casts=1.01 if base.bias is None else 2.02)
    if half:
        text = f"reciprocal of the root cast to {dtype} before the product"
        yield _change("cast", text, "variant", casts=2.02, scale_error=float(FORMATS[dtype].roundoff) * 1.01)
    if g is not None:
        yield _change("gain", "gain used as 1 + gain (as Gemma)", "variant", gain=1 + g)
        if half:
            text = f"gain used as 1 + gain, rounded to {dtype} (as Nemotron)"
            yield _change("gain", text, "variant", gain=rounded(1 + g, dtype))
    if base.eps:
        other = "outside" if base.placement == "inside" else "inside"
        yield _change("eps", f"eps {other} the root", "variant", placement=other)
    if base.centered:
        if d > 1:
            text = "variance divided by d - 1 (ddof=1)"
            yield _change("statistics", text, "variant", statistics=lambda s: (s.mean, s.variance * s.d / (s.d - 1)))
        yield _change("statistics", "mean not subtracted (RMSNorm)", "variant", centered=False)
    else:
        yield _change("statistics", "mean subtracted (LayerNorm)", "variant", centered=True)
    if base.eps:
        form: Denominator = lambda v, e, s: scale(v + e * s.largest**2, eps=0)  # noqa: E731
        yield _change("eps", "eps multiplied by max|x|^2", "variant", denominator=form)


def _eps_mistakes(base: Definition, measured: tuple[float, ...]) -> Iterator[Change]:
    forms: dict[str, Denominator] = {
        "eps squared": lambda v, e, s: scale(v, eps=e * e),
        "eps as a lower limit of the variance instead of a summand": lambda v, e, s: scale(numpy.maximum(v, e), eps=0),
        "eps as a lower limit of the deviation instead of a summand": lambda v, e, s: numpy.maximum(scale(v, eps=0), e),
        "eps added to the sum of squares, not to their mean": lambda v, e, s: scale(v, eps=e / s.d),
        "eps multiplied by d": lambda v, e, s: scale(v, eps=e * s.d),
        "eps multiplied by max|x|": lambda v, e, s: scale(v + e * s.largest, eps=0),
        "eps multiplied by the variance": lambda v, e, s: scale(v * (1 + e), eps=0),
        "eps added inside and outside the root": lambda v, e, s: scale(v, eps=e) + e,
        "eps added twice": lambda v, e, s: scale(v, eps=2 * e),
        "root of eps added outside the root": lambda v, e, s: scale(v, eps=0) + e**0.5,
    }
    if base.eps:
        yield _change("eps", "eps missing", eps=0.0)
        yield from (_change("eps", name, denominator=form) for name, form in forms.items())
    for eps in (*_USUAL_EPS, *measured):
        if abs(eps - base.eps) > 1e-3 * base.eps and (eps or not base.eps):
            yield _change("eps", f"eps = {eps:.4g}", eps=eps)


def _scale_mistakes(base: Definition, d: int) -> Iterator[Change]:
    def size(s: Sample) -> Reals:
        return abs(s.deviation if base.centered else s.x)

    forms: dict[str, Denominator] = {
        "square root missing (divided by the variance)": lambda v, e, s: v + e,
        "square root taken twice": lambda v, e, s: scale(scale(v, eps=e), eps=0),
        "not divided by the root": lambda v, e, s: numpy.ones_like(v),
        "multiplied by the root instead of divided": lambda v, e, s: 1 / scale(v, eps=e),
        "divided by the norm, factor sqrt(d) missing": lambda v, e, s: scale(v * s.d, eps=e),
        "divided by the norm, factor sqrt(d) and eps missing": lambda v, e, s: scale(v * s.d, eps=0),
        "divided by d once too often": lambda v, e, s: scale(v / s.d, eps=e),
        "sum of squares divided by d + 1": lambda v, e, s: scale(v * s.d / (s.d + 1), eps=e),
        "mean absolute value instead of the root mean square": lambda v, e, s: size(s).mean(-1, keepdims=True) + e,
        "largest absolute value instead of the root mean square": lambda v, e, s: size(s).max(-1, keepdims=True) + e,
    }
    if not base.centered:
        forms["sum of squares divided by d - 1"] = lambda v, e, s: scale(v * s.d / (s.d - 1), eps=e)
    for name, form in forms.items():
        if d > 1 or "d" not in name.split():
            yield _change("scale", name, denominator=form)


def _statistics_mistakes(base: Definition, d: int) -> Iterator[Change]:
    def change(text: str, statistics: Statistics, **more: Any) -> Change:
        return _change("statistics", text, statistics=statistics, **more)

    zero = REAL(0)
    if base.centered:
        yield change(
            "mean subtracted in the variance only", lambda s: (zero, s.variance), centered=False, spread_centered=True
        )
        yield change("mean missing in the variance", lambda s: (s.mean, s.square), centered=True, spread_centered=False)
        yield change("mean added instead of subtracted", lambda s: (-s.mean, s.variance), spread_centered=True)
        yield change("mean replaced by the median", _about_the_median)
        sign = lambda s: (abs(s.mean), s.variance + (abs(s.mean) - s.mean) ** 2)  # noqa: E731
        yield change("absolute value of the mean subtracted", sign)
        text = "first component subtracted from all before, which rounds each by the size of that one"
        yield _change("order", text, "unstable", prepare=lambda x: x - x[:, :1])
    else:
        text = "divided by the standard deviation instead of the root mean square"
        yield change(text, lambda s: (zero, s.variance), spread_centered=True)
        yield change("mean subtracted, yet not in the mean square", lambda s: (s.mean, s.square), centered=True)
        if d > 1:
            unbiased = lambda s: (zero, s.variance * s.d / (s.d - 1))  # noqa: E731
            yield change(f"{text}, with divisor d - 1", unbiased, spread_centered=True)

    def of_part(part: Callable[[Reals], Reals], divisor: int | None = None) -> Statistics:
        def statistics(s: Sample) -> tuple[Any, Any]:
            z = part(s.x)
            count = z.shape[-1] if divisor is None else divisor
            center = numpy.sum(z, axis=-1, keepdims=True) / count if base.centered else zero
            return center, numpy.sum((z - center) ** 2, axis=-1, keepdims=True) / count

        return statistics

    parts: dict[str, Callable[[Reals], Reals]] = {"last": lambda x: x[:, :-1], "first": lambda x: x[:, 1:]}
    if d > 1:
        for which, part in parts.items():
            yield change(f"{which} component left out of the statistics", of_part(part))
            yield change(f"{which} component left out of the sums, divisor d", of_part(part, divisor=d))
        yield change("statistics of every other component", of_part(lambda x: x[:, ::2]))
    if d > 3:  # one component alone has no variance
        yield change("statistics of the first half only", of_part(lambda x: x[:, : d // 2]))
    for block in _BLOCKS:
        padded, whole = -(-d // block) * block, d // block * block
        if d % block and padded <= 8 * d + 64:
            text, extent = f"padding to a multiple of {block} counted in", (0, padded - d)
            yield change(f"{text} the statistics", of_part(lambda x, w=extent: numpy.pad(x, ((0, 0), w))))
            if base.centered:
                extra = lambda s, k=padded: s.variance + s.mean**2 * (k - s.d) / s.d  # noqa: E731
                yield change(f"{text} the variance", lambda s, extra=extra: (s.mean, extra(s)))
                part = f"{text} sum and divisor of the variance"
                yield change(part, lambda s, extra=extra, k=padded: (s.mean, extra(s) * s.d / k))
                part = f"variance divided by d padded to a multiple of {block}"
                yield change(part, lambda s, k=padded: (s.mean, s.variance * s.d / k))
        if d % block and whole:
            text = f"components after the last whole block of {block} left out of the"
            yield change(f"{text} statistics", of_part(lambda x, k=whole: x[:, :k]))
            yield change(f"{text} sums", of_part(lambda x, k=whole: x[:, :k], divisor=d))


def _about_the_median(s: Sample) -> tuple[Any, Any]:
    center = numpy.median(s.x, axis=-1, keepdims=True)
    return center, numpy.mean((s.x - center) ** 2, axis=-1, keepdims=True)


def _affine_mistakes(base: Definition) -> Iterator[Change]:
    g, b = base.gain, base.bias
    if g is not None:
        gains: dict[str, Reals | None] = {
            "gain missing": None,
            "gain squared": g * g,
            "gain used as gain - 1": g - 1,
            "absolute value of the gain used": abs(g),
            "sign of the gain wrong": -g,
            "divided by the gain": 1 / numpy.where(g == 0, 1, g),
            "exponential of the gain used": numpy.exp(g),
            "only the first gain used for all components": numpy.broadcast_to(g[:1], g.shape),
            "gain in reverse order": g[::-1],
            "gain shifted by one component": numpy.roll(g, 1),
            "gain shifted back by one component": numpy.roll(g, -1),
            "gain multiplied by 2": 2 * g,
            "gain halved": g / 2,
        }
        yield from (_change("gain", name, gain=gain) for name, gain in gains.items())
        yield _change("order", "gain applied before the normalization", prepare=lambda x: x * g, gain=None)
        text = "1 + gain applied before the normalization (as Muse Spark)"
        yield _change("order", text, "variant", prepare=lambda x: x * (1 + g), gain=None)
        yield _change("order", "gain applied before and after the normalization", prepare=lambda x: x * g)
        yield _change("gain", "last component without the gain", gain=numpy.concatenate([g[:-1], [1]]))
    if b is not None:
        biases: dict[str, Reals | None] = {
            "bias missing": None,
            "bias subtracted": -b,
            "bias added twice": 2 * b,
            "bias halved": b / 2,
            "bias in reverse order": b[::-1],
            "bias shifted by one component": numpy.roll(b, 1),
            "only the first bias used for all components": numpy.broadcast_to(b[:1], b.shape),
        }
        if g is not None:
            biases["bias multiplied by the gain (added before it)"] = b * g
        yield from (_change("bias", name, bias=bias) for name, bias in biases.items())
        if g is not None:
            yield _change("bias", "gain and bias exchanged", gain=b, bias=g)
        yield _change("order", "bias added before the normalization", prepare=lambda x: x + b, bias=None)
        undone = b if g is None else b / numpy.where(g == 0, 1, g)
        for text, offset in (("", undone), (" and multiplied by the gain", b)):
            name = "bias divided by the root as well" if not text else f"bias divided by the root{text}"
            yield "bias", name, "bug", lambda z, offset=offset: _carrying(z, offset)


def _carrying(z: Definition, offset: Reals) -> Definition:
    """The bias taken along by the numerator: (x − m + offset)/D."""

    def statistics(sample: Sample) -> tuple[Any, Any]:
        center, square, _ = replace(z, bias=None).exact(sample)
        return center - offset, square

    return replace(z, bias=None, statistics=statistics)


def rounded(x: Reals, dtype: str) -> Reals:
    """`x` rounded to the nearest number of the format, ties to even.

    >>> import numpy as np
    >>> from lngeom.rounding import rounded
    >>> float(rounded(np.array(1.003), "bfloat16"))
    1.0
    """
    form = FORMATS[dtype]
    exponent = numpy.maximum(numpy.frexp(x)[1], form.low + 1)
    unit = numpy.ldexp(REAL(1), exponent - form.bits)
    value = numpy.rint(x / unit) * unit
    return numpy.where(abs(value) > float(form.largest), numpy.copysign(numpy.inf, value), value)


def candidates(
    base: Definition, d: int, dtype: str, *, eps: tuple[float, ...] = ()
) -> Iterator[tuple[str, Verdict, Callable[[], Definition]]]:
    """Name, verdict and maker of `base` with one change each, then with two of different kinds, best known first."""

    def changed(name: str, verdict: Verdict, *parts: Change) -> tuple[str, Verdict, Callable[[], Definition]]:
        def make() -> Definition:
            definition = base
            for part in parts:
                definition = part[3](definition)
            return replace(definition, name=name, verdict=verdict)

        return name, verdict, make

    known = list(changes(base, d, dtype, eps=eps))
    yield from (changed(item[1], item[2], item) for item in known)
    for i, first in enumerate(known):
        for j, second in enumerate(known):
            if first[2] == "variant" and first[0] != second[0] and (j > i or second[2] != "variant"):
                yield changed(f"{first[1]}; {second[1]}", second[2], first, second)
