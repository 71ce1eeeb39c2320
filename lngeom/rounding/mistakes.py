"""The documented variants of a norm layer and the usual mistakes, one table of changes of its definition."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy

from ..carriers import Array
from ..norms import scale
from .definition import Definition, Denominator, Statistics, Verdict, rounded
from .family import REAL, Reals, Sample
from .formats import FORMATS


class Setting(NamedTuple):
    """The layer that a kernel should compute, dimension and format of its input, and the layer as changed so far."""

    base: Definition
    d: int
    dtype: str
    changed: Definition


_CONDITIONS: dict[str, Callable[[Setting], bool]] = {
    "layer": lambda at: at.base.centered,
    "rms": lambda at: not at.base.centered,
    "eps": lambda at: at.base.eps > 0,
    "inside": lambda at: at.base.placement == "inside",
    "outside": lambda at: at.base.placement == "outside",
    "gain": lambda at: at.base.gain is not None,
    "bias": lambda at: at.base.bias is not None,
    "affine": lambda at: at.base.gain is not None or at.base.bias is not None,
    "half": lambda at: FORMATS[at.dtype].bits < 24,
    "wide": lambda at: FORMATS[at.dtype].bits > 11,
    "wider": lambda at: FORMATS[at.dtype].bits > 8,
    "seen": lambda at: at.base.eps > 4 * float(FORMATS["float64" if at.dtype == "float64" else "float32"].roundoff),
    "lost": lambda at: not rounded(numpy.asarray(at.base.eps, REAL), "float16") > 0,
    "d>1": lambda at: at.d > 1,
    **{f"d>{k}": lambda at, k=k: at.d > k for k in (1024, 2048, 4096, 8192)},
    "d>3": lambda at: at.d > 3,
}


Fields = Mapping[str, object]
"""Fields of a definition, with other values."""


class Change(NamedTuple):
    """A change of a layer: kind (two of one kind exclude each other), name, new fields, conditions, and what it is."""

    kind: str
    name: str
    fields: Callable[[Setting], Fields]
    needs: str = ""
    verdict: Verdict = "bug"


def _by(kind: str, name: str, form: Denominator, needs: str = "", verdict: Verdict = "bug") -> Change:
    return Change(kind, name, lambda at: {"denominator": form}, needs, verdict)


def _sums(name: str, statistics: Statistics, needs: str, verdict: Verdict = "bug", **more: bool) -> Change:
    return Change("statistics", name, lambda at: {"statistics": statistics, **more}, needs, verdict)


def _part(name: str, part: Callable[[Reals], Reals], needs: str = "", *, divisor_d: bool = False) -> Change:
    """Statistics of a part of each row, divided by its length or by d."""

    def statistics(s: Sample, centered: bool) -> tuple[Array, Array]:
        taken = part(s.x)
        count = s.d if divisor_d else taken.shape[-1]
        center = numpy.sum(taken, axis=-1, keepdims=True) / count if centered else REAL(0)
        return center, numpy.sum((taken - center) ** 2, axis=-1, keepdims=True) / count

    return Change("statistics", name, lambda at: {"statistics": lambda s: statistics(s, at.base.centered)}, needs)


def _gain(name: str, new: Callable[[Reals], Reals | None], verdict: Verdict = "bug") -> Change:
    return Change("gain", name, lambda at: {"gain": new(at.base.gain)}, "gain", verdict)


def _bias(name: str, new: Callable[[Reals], Reals | None]) -> Change:
    return Change("bias", name, lambda at: {"bias": new(at.base.bias)}, "bias")


def _median(s: Sample) -> tuple[Array, Array]:
    center = numpy.median(s.x, axis=-1, keepdims=True)
    return center, numpy.mean((s.x - center) ** 2, axis=-1, keepdims=True)


def _carried(at: Setting, offset: Reals) -> Fields:
    """The bias taken along by the numerator: (x − m + offset)/D."""

    def statistics(sample: Sample) -> tuple[Array, Array]:
        center, square, _ = replace(at.changed, bias=None).exact(sample)
        return center - offset, square

    return {"bias": None, "statistics": statistics}


def _magnitude(at: Setting, s: Sample) -> Reals:
    return abs(s.deviation if at.base.centered else s.x)


def _short(x: Reals, bits: int, whole: Callable[[Reals], Reals]) -> Reals:
    """Significands of so many bits, with the exponents of float32."""
    unit = numpy.ldexp(REAL(1), numpy.maximum(numpy.frexp(x)[1], FORMATS["float32"].low + 1) - bits)
    return whole(x / unit) * unit


def _nonzero(g: Reals) -> Reals:
    return numpy.where(g == 0, 1, g)


def _cast(at: Setting, casts: float, error: float = 0) -> Fields:
    return {"casts": casts, "scale_error": error * float(FORMATS[at.dtype].roundoff)}


def _again(at: Setting, *, affine: bool) -> Fields:
    """The layer on its own output, which is rounded once more in a half format."""
    once = at.base if affine else replace(at.base, gain=None, bias=None)
    return {"prepare": lambda x: once.output(Sample(x)), **_cast(at, 2.02 if FORMATS[at.dtype].bits < 24 else 0)}


def _without_tail(values: Reals, k: int, rest: int) -> Reals:
    return numpy.concatenate([values[:k], numpy.full(len(values) - k, rest)])


ROW_ERROR = "one error for the whole row"
"""In the name of what changes the length of each row by a rounding to the storage format, and no direction."""
_STANDARD = "divided by the standard deviation instead of the root mean square"
_FIRST = "first component subtracted from all before, which rounds each by the size of that one"

# fmt: off
_VARIANTS = (
    Change("cast", "normalized value cast to {dtype} before the gain (as Llama)",
           lambda at: _cast(at, 1.01 if at.base.bias is None else 2.02), "half affine", "variant"),
    Change("cast", "reciprocal of the root cast to {dtype} before the product",
           lambda at: _cast(at, 2.02, 1.01), "half", "variant"),
    Change("cast", f"reciprocal of the root cast to {{dtype}}, products not: {ROW_ERROR}",
           lambda at: _cast(at, 0, 1.01), "half", "variant"),
    _gain("gain used as 1 + gain (as Gemma)", lambda g: 1 + g, "variant"),
    Change("gain", "gain rounded to {dtype} (1 + gain formed in it)",
           lambda at: {"gain": rounded(at.base.gain, at.dtype)}, "gain half", "variant"),
    Change("gain", "gain used as 1 + gain, rounded to {dtype} (as Nemotron)",
           lambda at: {"gain": rounded(1 + at.base.gain, at.dtype)}, "gain half", "variant"),
    Change("eps", "eps outside the root", lambda at: {"placement": "outside"},
           "eps inside", "variant"),
    Change("eps", "eps inside the root", lambda at: {"placement": "inside"},
           "eps outside", "variant"),
    _sums("variance divided by d - 1 (ddof=1)", lambda s: (s.mean, s.variance * s.d / (s.d - 1)), "layer d>1",
          "variant"),
    Change("statistics", "mean not subtracted (RMSNorm)", lambda at: {"centered": False}, "layer", "variant"),
    Change("statistics", "mean subtracted (LayerNorm)", lambda at: {"centered": True}, "rms", "variant"),
    _by("eps", "eps multiplied by max|x|^2", lambda v, e, s: scale(v + e * s.largest**2, eps=0), "eps seen d>1",
        "variant"),
)

_EPS = (
    Change("eps", "eps missing, or 0 as a number of float16", lambda at: {"eps": 0.0}, "eps lost"),
    Change("eps", "eps missing", lambda at: {"eps": 0.0}, "eps"),
    _by("eps", "eps squared", lambda v, e, s: scale(v, eps=e * e), "eps"),
    _by("eps", "eps as a lower limit of the variance instead of a summand",
        lambda v, e, s: scale(numpy.maximum(v, e), eps=0), "eps"),
    _by("eps", "eps as a lower limit of the deviation instead of a summand",
        lambda v, e, s: numpy.maximum(scale(v, eps=0), e), "eps"),
    _by("eps", "eps added to the sum of squares, not to their mean", lambda v, e, s: scale(v, eps=e / s.d), "eps"),
    _by("eps", "eps multiplied by d", lambda v, e, s: scale(v, eps=e * s.d), "eps"),
    _by("eps", "eps multiplied by max|x|", lambda v, e, s: scale(v + e * s.largest, eps=0), "eps"),
    _by("eps", "eps multiplied by the variance", lambda v, e, s: scale(v * (1 + e), eps=0), "eps"),
    _by("eps", "eps added inside and outside the root", lambda v, e, s: scale(v, eps=e) + e, "eps"),
    _by("eps", "eps added twice", lambda v, e, s: scale(v, eps=2 * e), "eps"),
    _by("eps", "eps added to the reciprocal of the root", lambda v, e, s: 1 / (1 / scale(v, eps=0) + e)),
    _by("eps", "root of eps added outside the root", lambda v, e, s: scale(v, eps=0) + e**0.5, "eps"),
)

_SCALE = (
    _by("scale", "square root missing (divided by the variance)", lambda v, e, s: v + e),
    _by("scale", "square root taken twice", lambda v, e, s: scale(scale(v, eps=e), eps=0)),
    _by("scale", "standard deviation in place of the variance (root taken twice)",
        lambda v, e, s: scale(scale(v, eps=0), eps=e)),
    _by("scale", "not divided by the root", lambda v, e, s: numpy.ones_like(v)),
    _by("scale", "multiplied by the root instead of divided", lambda v, e, s: 1 / scale(v, eps=e)),
    _by("scale", "multiplied by the variance instead of divided by its root", lambda v, e, s: 1 / (v + e)),
    _by("scale", "normalized value multiplied by the variance", lambda v, e, s: scale(v, eps=e) / v),
    _by("scale", "divided by the norm, factor sqrt(d) missing", lambda v, e, s: scale(v * s.d, eps=e)),
    _by("scale", "divided by the norm, factor sqrt(d) and eps missing", lambda v, e, s: scale(v * s.d, eps=0)),
    _by("scale", "divided by d once too often", lambda v, e, s: scale(v / s.d, eps=e), "d>1"),
    _by("scale", "sum of squares divided by d + 1", lambda v, e, s: scale(v * s.d / (s.d + 1), eps=e), "d>1"),
    Change("scale", "mean absolute value instead of the root mean square",
           lambda at: {"denominator": lambda v, e, s: _magnitude(at, s).mean(-1, keepdims=True) + e}),
    Change("scale", "largest absolute value instead of the root mean square",
           lambda at: {"denominator": lambda v, e, s: _magnitude(at, s).max(-1, keepdims=True) + e}),
    Change("order", "normalized twice, gain and bias once", lambda at: _again(at, affine=False)),
    Change("order", "normalized twice, gain and bias both times", lambda at: _again(at, affine=True), "affine"),
    _by("scale", "sum of squares divided by d - 1", lambda v, e, s: scale(v * s.d / (s.d - 1), eps=e), "rms d>1"),
)

_STATISTICS = (
    _sums("mean subtracted in the variance only", lambda s: (REAL(0), s.variance), "layer",
          centered=False, spread_centered=True),
    _sums("mean missing in the variance", lambda s: (s.mean, s.square), "layer", centered=True, spread_centered=False),
    _sums("mean added instead of subtracted", lambda s: (-s.mean, s.variance), "layer", spread_centered=True),
    _sums("mean replaced by the median", _median, "layer"),
    _sums("absolute value of the mean subtracted",
          lambda s: (abs(s.mean), s.variance + (abs(s.mean) - s.mean) ** 2), "layer"),
    Change("order", _FIRST, lambda at: {"prepare": lambda x: x - x[:, :1]}, "layer", "unstable"),
    _sums(_STANDARD, lambda s: (REAL(0), s.variance), "rms", spread_centered=True),
    _sums("mean subtracted, yet not in the mean square", lambda s: (s.mean, s.square), "rms", centered=True),
    _sums(f"{_STANDARD}, with divisor d - 1", lambda s: (REAL(0), s.variance * s.d / (s.d - 1)), "rms d>1",
          spread_centered=True),
    _part("last component left out of the statistics", lambda x: x[:, :-1], "d>1"),
    _part("last component left out of the sums, divisor d", lambda x: x[:, :-1], "d>1", divisor_d=True),
    _part("first component left out of the statistics", lambda x: x[:, 1:], "d>1"),
    _part("first component left out of the sums, divisor d", lambda x: x[:, 1:], "d>1", divisor_d=True),
    _part("statistics of every other component", lambda x: x[:, ::2], "d>1"),
    *(_part(f"statistics over a part of the row: components 0 to {k - 1}", lambda x, k=k: x[:, :k], f"d>{k}")
      for k in (1024, 2048, 4096, 8192)),
    # One component alone has no variance.
    _part("statistics of the first half only", lambda x: x[:, : x.shape[-1] // 2], "d>3"),
)

_AFFINE = (
    _gain("gain missing", lambda g: None),
    _gain("gain squared", lambda g: g * g),
    _gain("gain used as gain - 1", lambda g: g - 1),
    _gain("absolute value of the gain used", abs),
    _gain("sign of the gain wrong", lambda g: -g),
    _gain("divided by the gain", lambda g: 1 / _nonzero(g)),
    _gain("exponential of the gain used", numpy.exp),
    _gain("only the first gain used for all components", lambda g: numpy.broadcast_to(g[:1], g.shape)),
    _gain("gain in reverse order", lambda g: g[::-1]),
    _gain("gain shifted by one component", lambda g: numpy.roll(g, 1)),
    _gain("gain shifted back by one component", lambda g: numpy.roll(g, -1)),
    _gain("gain multiplied by 2", lambda g: 2 * g),
    _gain("gain halved", lambda g: g / 2),
    Change("order", "gain applied before the normalization",
           lambda at: {"prepare": lambda x: x * at.base.gain, "gain": None}, "gain"),
    Change("order", "1 + gain applied before the normalization (as Muse Spark)",
           lambda at: {"prepare": lambda x: x * (1 + at.base.gain), "gain": None}, "gain", "variant"),
    Change("order", "gain applied before and after the normalization",
           lambda at: {"prepare": lambda x: x * at.base.gain}, "gain"),
    _gain("last component without the gain", lambda g: numpy.concatenate([g[:-1], [1]])),
    _bias("bias missing", lambda b: None),
    _bias("bias subtracted", lambda b: -b),
    _bias("bias added twice", lambda b: 2 * b),
    _bias("bias halved", lambda b: b / 2),
    _bias("bias in reverse order", lambda b: b[::-1]),
    _bias("bias shifted by one component", lambda b: numpy.roll(b, 1)),
    _bias("only the first bias used for all components", lambda b: numpy.broadcast_to(b[:1], b.shape)),
    Change("bias", "bias multiplied by the gain (added before it)",
           lambda at: {"bias": at.base.bias * at.base.gain}, "bias gain"),
    Change("bias", "gain and bias exchanged",
           lambda at: {"gain": at.base.bias, "bias": at.base.gain}, "bias gain"),
    Change("order", "bias added before the normalization",
           lambda at: {"prepare": lambda x: x + at.base.bias, "bias": None}, "bias"),
    Change("bias", "bias divided by the root as well",
           lambda at: _carried(at, at.base.bias / (1 if at.base.gain is None else _nonzero(at.base.gain))), "bias"),
    Change("bias", "bias divided by the root and multiplied by the gain",
           lambda at: _carried(at, at.base.bias), "bias"),
    Change("input", "input rounded to float16", lambda at: {"prepare": lambda x: rounded(x, "float16")}, "wide"),
    Change("input", "input rounded to TF32 (11 bits)",
           lambda at: {"prepare": lambda x: _short(x, 11, numpy.rint)}, "wide"),
    Change("input", "input rounded to TF32 (11 bits, ties away from zero)",
           lambda at: {"prepare": lambda x: _short(x, 11, lambda y: numpy.trunc(y + numpy.copysign(0.5, y)))}, "wide"),
    Change("input", "input cut off to TF32 (11 bits)",
           lambda at: {"prepare": lambda x: _short(x, 11, numpy.trunc)}, "wide"),
    Change("input", "input cut off to bfloat16", lambda at: {"prepare": lambda x: _short(x, 8, numpy.trunc)}, "wider"),
    Change("input", "input rounded to bfloat16", lambda at: {"prepare": lambda x: rounded(x, "bfloat16")}, "wider"),
)
# fmt: on


_USUAL_EPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 2.0**-23, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0)


def _other_eps(base: Definition, measured: tuple[float, ...]) -> Iterator[Change]:
    """Every usual and every measured value of ε but the layer's."""
    for eps in (*_USUAL_EPS, *measured):
        if abs(eps - base.eps) > 1e-3 * base.eps and (eps or not base.eps):
            yield Change("eps", f"eps = {eps:.4g}", lambda at, eps=eps: {"eps": eps})


def _blocks(d: int) -> Iterator[Change]:
    """Mistakes with the last components of a row in a kernel that takes them in blocks."""
    for block in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        n, whole = -(-d // block) * block, d // block * block
        if d % block and n <= 8 * d + 128:
            yield from _padded(f"a multiple of {block}", n)
        if d % block and whole:
            text = f"components after the last whole block of {block} left out of the"
            yield _part(f"{text} statistics", lambda x, k=whole: x[:, :k])
            yield _part(f"{text} sums", lambda x, k=whole: x[:, :k], divisor_d=True)
            text = f"components after the last whole block of {block} without the"
            yield _gain(f"{text} gain", lambda g, k=whole: _without_tail(g, k, 1))
            yield _bias(f"{text} bias", lambda b, k=whole: _without_tail(b, k, 0))
    if d & (d - 1):
        yield from _padded("the next power of 2", 1 << d.bit_length())


def _padded(size: str, n: int) -> Iterator[Change]:
    """The last block filled with zeros, up to `n` components."""

    def extra(s: Sample) -> Reals:
        return s.variance + s.mean**2 * (n - s.d) / s.d

    text = f"padding to {size} counted in"
    yield _part(f"{text} the statistics", lambda x: numpy.pad(x, ((0, 0), (0, n - x.shape[-1]))))
    yield _sums(f"{text} the variance", lambda s: (s.mean, extra(s)), "layer")
    yield _sums(f"{text} sum and divisor of the variance", lambda s: (s.mean, extra(s) * s.d / n), "layer")

    def counted(s: Sample) -> tuple[Reals, Reals]:
        center = s.mean * s.d / n
        return center, s.variance + (s.mean - center) ** 2

    yield _sums(f"padding to {size} counted in the mean", counted, "layer")
    text = f"variance divided by d padded to {size}"
    yield _sums(text, lambda s: (s.mean, s.variance * s.d / n), "layer")


def candidates(
    base: Definition, d: int, dtype: str, *, eps: tuple[float, ...] = ()
) -> Iterator[tuple[str, Verdict, Callable[[], Definition]]]:
    """Name, verdict and maker of `base` with one change each, then with two of different kinds, best known first.

    `eps` are values of ε measured on the kernel.
    """
    at = Setting(base, d, dtype, base)

    def changed(name: str, verdict: Verdict, *changes: Change) -> tuple[str, Verdict, Callable[[], Definition]]:
        def make() -> Definition:
            definition = base
            for change in changes:
                definition = replace(definition, **change.fields(at._replace(changed=definition)))
            return replace(definition, name=name, verdict=verdict)

        return name, verdict, make

    table = (*_VARIANTS, *_EPS, *_other_eps(base, eps), *_SCALE, *_STATISTICS, *_blocks(d), *_AFFINE)
    possible = (change for change in table if all(_CONDITIONS[need](at) for need in change.needs.split()))
    known = [change._replace(name=change.name.replace("{dtype}", dtype)) for change in possible]
    yield from (changed(change.name, change.verdict, change) for change in known)
    for i, first in enumerate(known):
        for j, second in enumerate(known):
            if first.verdict == "variant" and first.kind != second.kind and (j > i or second.verdict != "variant"):
                yield changed(f"{first.name}; {second.name}", second.verdict, first, second)
