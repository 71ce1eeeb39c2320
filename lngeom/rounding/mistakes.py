"""The documented variants of a norm layer and the usual mistakes, one table of changes of its definition."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy

from ..carriers import Array
from ..norms import scale
from ..sentences import Cause, Way, several
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
    **{form: lambda at, form=form: at.dtype == form for form in ("float16", "bfloat16")},
    "bare": lambda at: at.base.gain is None and at.base.bias is None,
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
    """A change of a layer: kind (two of one kind exclude each other), cause, new fields, conditions, verdict."""

    kind: str
    name: str | Cause
    fields: Callable[[Setting], Fields]
    needs: str = ""
    verdict: Verdict = "bug"

    def cause(self, dtype: str) -> Cause:
        """The cause; the sentences of what a half format alone shows have its name."""
        half = (dtype,) if "half" in self.needs else ()
        return self.name if isinstance(self.name, Cause) else Cause(self.name, *half)


def _by(kind: str, name: str | Cause, form: Denominator, needs: str = "", verdict: Verdict = "bug") -> Change:
    return Change(kind, name, lambda at: {"denominator": form}, needs, verdict)


def _sums(name: str | Cause, statistics: Statistics, needs: str, verdict: Verdict = "bug", **more: bool) -> Change:
    return Change("statistics", name, lambda at: {"statistics": statistics, **more}, needs, verdict)


def _part(name: str | Cause, part: Callable[[Reals], Reals], needs: str = "", *, divisor_d: bool = False) -> Change:
    """Statistics of a part of each row, divided by its length or by d."""

    def statistics(s: Sample, centered: bool) -> tuple[Array, Array]:
        taken = part(s.x)
        count = s.d if divisor_d else taken.shape[-1]
        center = numpy.sum(taken, axis=-1, keepdims=True) / count if centered else REAL(0)
        return center, numpy.sum((taken - center) ** 2, axis=-1, keepdims=True) / count

    return Change("statistics", name, lambda at: {"statistics": lambda s: statistics(s, at.base.centered)}, needs)


def _gain(name: str | Cause, new: Callable[[Reals], Reals | None], verdict: Verdict = "bug") -> Change:
    return Change("gain", name, lambda at: {"gain": new(at.base.gain)}, "gain", verdict)


def _bias(name: str | Cause, new: Callable[[Reals], Reals | None]) -> Change:
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


def _merged(name: Way, part: Reals) -> Change:
    """The variances of parts of a row, which `part` numbers, merged as if their means were one."""
    order, counts = numpy.argsort(part, kind="stable"), numpy.bincount(part)

    def statistics(s: Sample) -> tuple[Array, Array]:
        x = s.x[:, order]
        means = numpy.add.reduceat(x, numpy.cumsum(counts) - counts, 1) / counts
        return s.mean, numpy.mean((x - numpy.repeat(means, counts, 1)) ** 2, axis=-1, keepdims=True)

    return _sums(Cause("merged", name), statistics, "layer")


def _bits(gain: Reals, kept: str, read: str) -> Reals:
    """The first numbers in the memory of a gain, read in another format."""
    with numpy.errstate(all="ignore"):  # bits of any kind
        single = gain.astype("<f4")
        halves = {"float32": single, "bfloat16": single.view("<u4") >> 16, "float16": gain.astype("<f2")}[kept]
        words = halves.view("<u2")[:: 2 if kept == "bfloat16" else 1][: len(gain)]
        values = (words.astype("<u4") << 16).view("<f4") if read == "bfloat16" else words.view("<f2")
        return values.astype(REAL)


def _without_tail(values: Reals, k: int, rest: int) -> Reals:
    return numpy.concatenate([values[:k], numpy.full(len(values) - k, rest)])


# fmt: off
_VARIANTS = (
    Change("cast", "cast gain",
           lambda at: _cast(at, 1.01 if at.base.bias is None else 2.02), "half affine", "variant"),
    Change("cast", "cast root",
           lambda at: _cast(at, 2.02, 1.01), "half", "variant"),
    Change("cast", "cast row",
           lambda at: _cast(at, 0, 1.01), "half", "variant"),
    _gain("gain plus 1", lambda g: 1 + g, "variant"),
    Change("gain", "gain rounded",
           lambda at: {"gain": rounded(at.base.gain, at.dtype)}, "gain half", "variant"),
    Change("gain", "gain plus 1 rounded",
           lambda at: {"gain": rounded(1 + at.base.gain, at.dtype)}, "gain half", "variant"),
    Change("eps", "eps outside", lambda at: {"placement": "outside"},
           "eps inside", "variant"),
    Change("eps", "eps inside", lambda at: {"placement": "inside"},
           "eps outside", "variant"),
    _sums("ddof", lambda s: (s.mean, s.variance * s.d / (s.d - 1)), "layer d>1",
          "variant"),
    Change("statistics", "no mean", lambda at: {"centered": False}, "layer", "variant"),
    Change("statistics", "mean", lambda at: {"centered": True}, "rms", "variant"),
    _by("eps", "eps max2", lambda v, e, s: scale(v + e * s.largest**2, eps=0), "eps seen d>1",
        "variant"),
)

_EPS = (
    Change("eps", "eps lost", lambda at: {"eps": 0.0}, "eps lost"),
    Change("eps", "eps missing", lambda at: {"eps": 0.0}, "eps"),
    _by("eps", "eps squared", lambda v, e, s: scale(v, eps=e * e), "eps"),
    _by("eps", "eps floor",
        lambda v, e, s: scale(numpy.maximum(v, e), eps=0), "eps"),
    _by("eps", "eps floor of root",
        lambda v, e, s: numpy.maximum(scale(v, eps=0), e), "eps"),
    _by("eps", "eps on sum", lambda v, e, s: scale(v, eps=e / s.d), "eps"),
    _by("eps", "eps d", lambda v, e, s: scale(v, eps=e * s.d), "eps"),
    _by("eps", "eps max", lambda v, e, s: scale(v + e * s.largest, eps=0), "eps"),
    _by("eps", "eps variance", lambda v, e, s: scale(v * (1 + e), eps=0), "eps"),
    _by("eps", "eps both", lambda v, e, s: scale(v, eps=e) + e, "eps"),
    _by("eps", "eps twice", lambda v, e, s: scale(v, eps=2 * e), "eps"),
    _by("eps", "eps on reciprocal", lambda v, e, s: 1 / (1 / scale(v, eps=0) + e)),
    _by("eps", "eps root", lambda v, e, s: scale(v, eps=0) + e**0.5, "eps"),
)

_SCALE = (
    _by("scale", "no root", lambda v, e, s: v + e),
    _by("scale", "root twice", lambda v, e, s: scale(scale(v, eps=e), eps=0)),
    _by("scale", "deviation in root",
        lambda v, e, s: scale(scale(v, eps=0), eps=e)),
    _by("scale", "not divided", lambda v, e, s: numpy.ones_like(v)),
    _by("scale", "multiplied", lambda v, e, s: 1 / scale(v, eps=e)),
    _by("scale", "by variance", lambda v, e, s: 1 / (v + e)),
    _by("scale", "times variance", lambda v, e, s: scale(v, eps=e) / v),
    _by("scale", "norm", lambda v, e, s: scale(v * s.d, eps=e)),
    _by("scale", "norm no eps", lambda v, e, s: scale(v * s.d, eps=0)),
    _by("scale", "d twice", lambda v, e, s: scale(v / s.d, eps=e), "d>1"),
    _by("scale", "d plus 1", lambda v, e, s: scale(v * s.d / (s.d + 1), eps=e), "d>1"),
    *(_by("scale", Cause("power", q), lambda v, e, s, q=q: (v + e) ** q) for q in (0.75, 1.25, 1.5, 2.0)),
    Change("scale", "mean absolute",
           lambda at: {"denominator": lambda v, e, s: _magnitude(at, s).mean(-1, keepdims=True) + e}),
    Change("scale", "largest absolute",
           lambda at: {"denominator": lambda v, e, s: _magnitude(at, s).max(-1, keepdims=True) + e}),
    Change("order", "twice", lambda at: _again(at, affine=False), "affine"),
    Change("order", "only twice", lambda at: _again(at, affine=False), "bare"),
    Change("order", "all twice", lambda at: _again(at, affine=True), "affine"),
    _by("scale", "d less 1", lambda v, e, s: scale(v * s.d / (s.d - 1), eps=e), "rms d>1"),
)

_STATISTICS = (
    _sums("mean in variance", lambda s: (REAL(0), s.variance), "layer",
          centered=False, spread_centered=True),
    _sums("mean not in variance", lambda s: (s.mean, s.square), "layer", centered=True, spread_centered=False),
    _sums("mean added", lambda s: (-s.mean, s.variance), "layer", spread_centered=True),
    _sums("median", _median, "layer"),
    _sums("absolute mean",
          lambda s: (abs(s.mean), s.variance + (abs(s.mean) - s.mean) ** 2), "layer"),
    Change("order", "first subtracted", lambda at: {"prepare": lambda x: x - x[:, :1]}, "layer", "unstable"),
    _sums("deviation", lambda s: (REAL(0), s.variance), "rms", spread_centered=True),
    _sums("mean not in square", lambda s: (s.mean, s.square), "rms", centered=True),
    _sums("deviation ddof", lambda s: (REAL(0), s.variance * s.d / (s.d - 1)), "rms d>1",
          spread_centered=True),
    _part("no last", lambda x: x[:, :-1], "d>1"),
    _part("no last in sums", lambda x: x[:, :-1], "d>1", divisor_d=True),
    _part("no first", lambda x: x[:, 1:], "d>1"),
    _part("no first in sums", lambda x: x[:, 1:], "d>1", divisor_d=True),
    _part("every other", lambda x: x[:, ::2], "d>1"),
    *(_part(Cause("first k", k - 1), lambda x, k=k: x[:, :k], f"d>{k}")
      for k in (1024, 2048, 4096, 8192)),
    # One component alone has no variance.
    _part("first half", lambda x: x[:, : x.shape[-1] // 2], "d>3"),
)

_AFFINE = (
    _gain("gain missing", lambda g: None),
    _gain("gain squared", lambda g: g * g),
    _gain("gain less 1", lambda g: g - 1),
    _gain("gain absolute", abs),
    _gain("gain sign", lambda g: -g),
    _gain("gain divided", lambda g: 1 / _nonzero(g)),
    _gain("gain exponential", numpy.exp),
    _gain("gain first", lambda g: numpy.broadcast_to(g[:1], g.shape)),
    _gain("gain reversed", lambda g: g[::-1]),
    _gain("gain shifted", lambda g: numpy.roll(g, 1)),
    _gain("gain shifted back", lambda g: numpy.roll(g, -1)),
    _gain("gain doubled", lambda g: 2 * g),
    _gain("gain halved", lambda g: g / 2),
    Change("order", "gain before",
           lambda at: {"prepare": lambda x: x * at.base.gain, "gain": None}, "gain"),
    Change("order", "gain plus 1 before",
           lambda at: {"prepare": lambda x: x * (1 + at.base.gain), "gain": None}, "gain", "variant"),
    Change("order", "gain both",
           lambda at: {"prepare": lambda x: x * at.base.gain}, "gain"),
    _gain("gain no last", lambda g: numpy.concatenate([g[:-1], [1]])),
    *(Change("gain", Cause("gain bits", kept, read), lambda at, kept=kept, read=read:
             {"gain": _bits(at.base.gain, kept, read)}, f"gain {need}")
      for kept, read, need in (("float32", "bfloat16", ""), ("float32", "float16", ""),
                               ("bfloat16", "float16", "bfloat16"), ("float16", "bfloat16", "float16"))),
    _bias("bias missing", lambda b: None),
    _bias("bias subtracted", lambda b: -b),
    _bias("bias twice", lambda b: 2 * b),
    _bias("bias halved", lambda b: b / 2),
    _bias("bias reversed", lambda b: b[::-1]),
    _bias("bias shifted", lambda b: numpy.roll(b, 1)),
    _bias("bias first", lambda b: numpy.broadcast_to(b[:1], b.shape)),
    Change("bias", "bias gain",
           lambda at: {"bias": at.base.bias * at.base.gain}, "bias gain"),
    Change("bias", "exchanged",
           lambda at: {"gain": at.base.bias, "bias": at.base.gain}, "bias gain"),
    Change("order", "bias before",
           lambda at: {"prepare": lambda x: x + at.base.bias, "bias": None}, "bias"),
    Change("bias", "bias divided",
           lambda at: _carried(at, at.base.bias / (1 if at.base.gain is None else _nonzero(at.base.gain))), "bias"),
    Change("bias", "bias carried",
           lambda at: _carried(at, at.base.bias), "bias"),
    Change("input", "input float16", lambda at: {"prepare": lambda x: rounded(x, "float16")}, "wide"),
    Change("input", "input TF32",
           lambda at: {"prepare": lambda x: _short(x, 11, numpy.rint)}, "wide"),
    Change("input", "input TF32 ties",
           lambda at: {"prepare": lambda x: _short(x, 11, lambda y: numpy.trunc(y + numpy.copysign(0.5, y)))}, "wide"),
    Change("input", "input TF32 cut",
           lambda at: {"prepare": lambda x: _short(x, 11, numpy.trunc)}, "wide"),
    Change("input", "input bfloat16 cut", lambda at: {"prepare": lambda x: _short(x, 8, numpy.trunc)}, "wider"),
    Change("input", "input bfloat16", lambda at: {"prepare": lambda x: rounded(x, "bfloat16")}, "wider"),
)
# fmt: on


_USUAL_EPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 2.0**-23, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0)


def _other_eps(base: Definition, measured: tuple[float, ...]) -> Iterator[Change]:
    """Every usual and every measured value of ε but the layer's."""
    for eps in (*_USUAL_EPS, *measured):
        if abs(eps - base.eps) > 1e-3 * base.eps and (eps or not base.eps):
            yield Change("eps", Cause("eps other", float(f"{eps:.4g}")), lambda at, eps=eps: {"eps": eps})


def _blocks(d: int) -> Iterator[Change]:
    """Mistakes with the last components of a row, or with the means of parts, in a kernel that takes it in blocks."""
    if d > 3:
        yield _merged(Way("two halves"), numpy.arange(d) * 2 // d)
    for block in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        n, whole = -(-d // block) * block, d // block * block
        if d % block and n <= 8 * d + 128:
            yield from _padded(Way("multiple", block), n)
        if d % block and whole:
            yield _part(Cause("tail statistics", block), lambda x, k=whole: x[:, :k])
            yield _part(Cause("tail sums", block), lambda x, k=whole: x[:, :k], divisor_d=True)
            yield _gain(Cause("tail gain", block), lambda g, k=whole: _without_tail(g, k, 1))
            yield _bias(Cause("tail bias", block), lambda b, k=whole: _without_tail(b, k, 0))
        if block < d:
            yield _merged(Way("blocks of", block), numpy.arange(d) // block)
            yield _merged(Way("lanes", block), numpy.arange(d) % block)
    if d & (d - 1):
        yield from _padded(Way("power of 2"), 1 << d.bit_length())


def _padded(size: Way, n: int) -> Iterator[Change]:
    """The last block filled with zeros, up to `n` components."""

    def extra(s: Sample) -> Reals:
        return s.variance + s.mean**2 * (n - s.d) / s.d

    yield _part(Cause("padding statistics", size), lambda x: numpy.pad(x, ((0, 0), (0, n - x.shape[-1]))))
    yield _sums(Cause("padding variance", size), lambda s: (s.mean, extra(s)), "layer")
    yield _sums(Cause("padding variance sums", size), lambda s: (s.mean, extra(s) * s.d / n), "layer")

    def counted(s: Sample) -> tuple[Reals, Reals]:
        center = s.mean * s.d / n
        return center, s.variance + (s.mean - center) ** 2

    yield _sums(Cause("padding mean", size), counted, "layer")
    yield _sums(Cause("padding divisor", size), lambda s: (s.mean, s.variance * s.d / n), "layer")


def candidates(
    base: Definition, d: int, dtype: str, *, eps: tuple[float, ...] = ()
) -> Iterator[tuple[Cause, Verdict, Callable[[], Definition]]]:
    """Cause, verdict and maker of `base` with one change each, then with two of different kinds, best known first.

    `eps` are values of ε measured on the kernel.
    """
    at = Setting(base, d, dtype, base)

    def changed(verdict: Verdict, *changes: Change) -> tuple[Cause, Verdict, Callable[[], Definition]]:
        cause = several(*(change.cause(dtype) for change in changes))

        def make() -> Definition:
            definition = base
            for change in changes:
                definition = replace(definition, **change.fields(at._replace(changed=definition)))
            return replace(definition, cause=cause, verdict=verdict)

        return cause, verdict, make

    table = (*_VARIANTS, *_EPS, *_other_eps(base, eps), *_SCALE, *_STATISTICS, *_blocks(d), *_AFFINE)
    known = [change for change in table if all(_CONDITIONS[need](at) for need in change.needs.split())]
    yield from (changed(change.verdict, change) for change in known)
    for i, first in enumerate(known):
        for j, second in enumerate(known):
            if first.verdict == "variant" and first.kind != second.kind and (j > i or second.verdict != "variant"):
                yield changed(second.verdict, first, second)
