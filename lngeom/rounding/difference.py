"""Whether a computed norm layer differs from the exact one by rounding, by its definition or by a bug, and by which."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy

from ..carriers import Array, door, dtype_name, float64
from ..errors import InputError
from ..sentences import Cause, several
from .definition import Definition, Verdict, rounded
from .family import Arithmetic, Fit, Method, Reals, Sample
from .formats import FORMATS
from .mistakes import candidates
from .tolerances import Layer, declared, definition, outward

_FEW = 32  # components of a row in which a definition is tried first
_EXAMINED = 4  # rows with the largest ratios on which variants and mistakes are tried, and as many of other sizes


class Case(NamedTuple):
    """Rows x, what a kernel computed from them, and the layer that it should be."""

    base: Definition
    sample: Sample
    got: Reals

    def explained_by(self, definition: Definition, arithmetic: Arithmetic) -> bool:
        """Whether a kernel of the definition may return every row."""
        return not self.refuting(definition, arithmetic).any()

    def refuting(self, definition: Definition, arithmetic: Arithmetic) -> Reals:
        """Rows, shape (n,), that no kernel of the definition returns; not all of them where boxes already tell some."""
        with numpy.errstate(all="ignore"):
            # Without the linear program, and in a few components: most definitions fail here.
            for columns in (slice(None, None, max(self.sample.d // _FEW, 1)), slice(None)):
                family, got = definition.family(self.sample, arithmetic, columns), self.got[:, columns]
                low, high = family.box()
                outside = numpy.any(numpy.isfinite(got) & ((got < low) | (got > high)), axis=-1)
                if outside.any():
                    return numpy.asarray(outside)
                if got.shape == self.got.shape:
                    break
            return ~family.fit(self.got).ok

    def row(self, k: int) -> "Case":
        """One of the rows."""
        return Case(self.base, Sample(self.sample.x[k : k + 1]), self.got[k : k + 1])


def _together(cases: Sequence[Case]) -> list[Case]:
    """The cases of each layer in one, which costs as many operations on arrays as the smallest of them."""
    groups: dict[int, list[Case]] = {}
    for case in cases:
        groups.setdefault(id(case.base), []).append(case)
    return [
        Case(of[0].base, Sample(numpy.concatenate([c.sample.x for c in of])), numpy.concatenate([c.got for c in of]))
        for of in groups.values()
    ]


def _listed(cases: Any) -> list[Case]:
    listed = [*cases] if isinstance(cases, list | tuple) else [cases]
    if not listed or not all(isinstance(each, Case) for each in listed):
        raise InputError(f"cases are of type {type(cases).__name__}: give Cases, each a layer, rows and outputs")
    return listed


def diagnose(cases: Sequence[Case], dtype: str, *, eps: tuple[float, ...] = ()) -> tuple[Verdict, Cause | None]:
    """The cause that explains all `cases`: a variant, an unstable algorithm or a mistake; ("bug", None) if none does.

    `eps` are values measured on the kernel. A variant or mistake that a dimension cannot show counts as the layer.

    >>> import numpy as np
    >>> from lngeom.rounding import Case, Definition, Sample, diagnose
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> case = Case(layer, Sample([[1.0, 3.0, 8.0]]), np.array([[-3.0, -1.0, 4.0]]) / 13**0.5)
    >>> verdict, cause = diagnose([case], "float32")
    >>> verdict, str(cause)
    ('variant', 'variance divided by d - 1 (ddof=1)')
    """
    plain, cases, makers, verdicts = Arithmetic.of(dtype), _listed(cases), {}, {}
    for d, base in {case.sample.d: case.base for case in cases}.items():
        known = list(candidates(base, d, dtype, eps=eps))
        makers[d] = {name: make for name, _, make in known}
        verdicts.update({name: verdict for name, verdict, _ in known})
    variants = [name for name, verdict in verdicts.items() if verdict == "variant"]
    single = [name for name in variants if len(name.parts) == 1]
    # What loosens every component is tried last: truncation and an error common to the row would fit into it as well.
    casts = {name: max(of[name]().casts for of in makers.values() if name in of) for name in variants}
    loose = [name for name in variants if casts[name]]
    rows = [name for name in variants if name not in loose and "cast row" in name.kinds]
    exact = [name for name in variants if name not in loose and name not in rows]
    asked = _together(cases)

    def made(name: Cause | None) -> Making:
        return lambda case: makers[case.sample.d].get(name, lambda: case.base)()

    def first(trials: Iterable[Trial]) -> tuple[Verdict, Cause] | None:
        return next((one[:2] for one in trials if _explain(asked, made(one[2]), one[3])), None)

    def nearest(trials: list[Trial]) -> tuple[Verdict, Cause] | None:
        """Of what explains the outputs the first that is at most twice as far from them as any other."""
        fits = [trial for trial in trials if _explain(asked, made(trial[2]), plain)]
        off = [_distance(cases, made(trial[2])) for trial in fits]
        return next((fit[:2] for fit, away in zip(fits, off, strict=True) if away <= 2 * min(off)), None)

    def shows(name: Cause | None) -> bool:
        """Whether most cases lie outside of a definition: narrow arithmetic is seen in most rows."""
        inside = 0
        for seen, case in enumerate(sorted(cases, key=lambda case: case.got.size), 1):
            inside += case.explained_by(made(name)(case), plain)
            if 2 * max(inside, seen - inside) > len(cases):
                break
        return 2 * inside <= len(cases)

    mistakes: list[Trial] = [(verdict, name, name, plain) for name, verdict in verdicts.items() if verdict != "variant"]
    later: list[Trial] = [("variant", name, name, plain) for name in (*rows, *sorted(loose, key=casts.__getitem__))]
    return (
        first(("variant", name, name, plain) for name in exact)
        or first(_toward_zero(cases, single, plain, dtype))
        or first(trial for trial in later if trial[1] in single or trial[1].kinds == {"cast gain", "gain rounded"})
        or first(_one_pass(cases, single, plain))
        or nearest([trial for trial in mistakes if len(trial[1].parts) == 1])
        or first(later)
        or first(mistakes)
        or _wrong_scale(cases, plain)
        or first(_narrow([None, *filter(shows, single)] if shows(None) else [], plain, cases))
        or ("bug", None)
    )


Making = Callable[[Case], Definition]
"""The definition that is tried on a case."""

Trial = tuple[Verdict, Cause, Cause | None, Arithmetic]
"""A verdict and its cause, and the definition (None: the layer itself) and arithmetic that may explain the outputs."""


def _unstable(name: Cause | None, algorithm: Cause, arithmetic: Arithmetic) -> Trial:
    return "unstable", several(name, algorithm), name, arithmetic


def _one_pass(cases: list[Case], single: list[Cause], plain: Arithmetic) -> Iterator[Trial]:
    if cases[0].base.centered:
        low = replace(plain, method="one-pass")
        yield from (_unstable(name, Cause("one-pass"), low) for name in (None, *single))


def _toward_zero(cases: list[Case], single: list[Cause], plain: Arithmetic, dtype: str) -> Iterator[Trial]:
    if plain.storage.bits < 24 and all(_inward(case, plain) for case in cases):
        wider = replace(plain, storage=replace(plain.storage, bits=plain.storage.bits - 1))
        yield from (_unstable(name, Cause("toward zero", dtype), wider) for name in (None, *single))


def _kept(cases: list[Case], form: str) -> bool:
    """Whether most outputs, with the bias and the gain or without, are numbers of a narrow format."""
    parts: list[list[Reals]] = [[], []]
    for base, sample, got in cases:
        family = base.family(sample, Arithmetic.of("float64"))
        with numpy.errstate(all="ignore"):
            parts[0].append(FORMATS[form].holds(got).ravel())
            parts[1].append(FORMATS[form].holds(((got - family.bias) / family.gain).astype(float)).ravel())
    return any(numpy.concatenate(part).mean() > 0.5 for part in parts)


def _narrow(names: Sequence[Cause | None], plain: Arithmetic, cases: list[Case]) -> Iterator[Trial]:
    """Arithmetic in a narrow format; where outputs have a wider one, wide bounds alone are no sign of it."""
    for form in ("float32", "float16", "bfloat16"):
        own = plain.storage.bits >= 24 or FORMATS[form] == plain.storage
        if own and FORMATS[form].bits < plain.work.bits and (plain.storage.bits < 24 or _kept(cases, form)):
            # Merged statistics have no bound there that would not explain nearly anything.
            low = replace(plain, work=FORMATS[form], sums=FORMATS[form], method="two-pass")
            if all(low.lost(case.sample.d) for case in cases):  # bounds that hold anything explain nothing
                continue
            kept = Cause("kept low" if form == "float32" else "kept half", form)
            for name in names:
                yield _unstable(name, kept, low)
                yield _unstable(name, Cause("one-pass in", form), replace(low, method="one-pass"))


def _indistinct(case: Case, dtype: str, arithmetic: Arithmetic) -> Iterator[Cause]:
    """Single variants and mistakes that differ from the layer and explain `case` as well as it does."""
    asked = [case]
    for name, make in {name: make for name, _, make in candidates(case.base, case.sample.d, dtype)}.items():
        if len(name.parts) > 1:
            continue
        made = make()
        # The same definition, rounded once more.
        if made.casts or made.verdict == "unstable":
            continue
        if _differs(case, made) and _explain(asked, lambda _, made=made: made, arithmetic):  # the cheaper test first
            yield name


def _explain(asked: list[Case], made: Making, arithmetic: Arithmetic) -> bool:
    """Whether definitions explain all cases; the row that refutes one is `asked` first of the next."""
    for i, case in enumerate(asked):
        rows = case.refuting(made(case), arithmetic)
        if rows.any():
            asked.insert(0, asked.pop(i) if len(rows) == 1 else case.row(int(numpy.argmax(rows))))
            return False
    return True


def _distance(cases: list[Case], made: Making) -> float:
    """The median over the rows of the largest distance from a definition, against its largest output."""
    rows = [(abs(case.got - (out := made(case).output(case.sample))).max(-1), abs(out).max(-1)) for case in cases]
    off, size = (numpy.nan_to_num(numpy.concatenate(each), posinf=0.0) for each in zip(*rows, strict=True))
    return float(numpy.median(off / numpy.where(size == 0, 1, size)))


def _differs(case: Case, definition: Definition) -> bool:
    exact, error = case.base.enclosed(case.sample)
    with numpy.errstate(all="ignore"):
        return bool((abs(definition.output(case.sample) - exact) > 4 * error).any())


def _inward(case: Case, plain: Arithmetic) -> bool:
    """Whether no component is farther from zero than a correct kernel's before it is rounded to the storage format."""
    low, high = case.base.family(case.sample, replace(plain, storage=plain.work)).box()
    return bool((abs(case.got) <= numpy.maximum(abs(low), abs(high))).all())


def _scales(cases: Sequence[Case], plain: Arithmetic) -> tuple[Reals, Reals, Reals, Reals] | None:
    """Scale of each row, the right one, the mean square and d; None where the direction of some row is wrong."""
    columns = []
    for base, sample, got in cases:
        family = base.family(sample, plain)
        with numpy.errstate(all="ignore"):  # tolerances at the scale that the row has, whatever it should be
            size = numpy.max(abs(numpy.nan_to_num(got) - family.bias), axis=-1, keepdims=True)
            own = size / numpy.max(abs(family.gain * family.numerator), axis=-1, keepdims=True)
            more = 2 * numpy.maximum(1, numpy.nan_to_num(own / family.high, posinf=1.0))
            low, high = 0 * family.low, 0 * family.low + numpy.inf
            wide = replace(family, low=low, high=high, reach=more * family.reach, slack=more * family.slack)
            fit = wide.fit(got)
        if not fit.ok.all():
            return None
        _, square, numerator = base.exact(sample)
        known = abs(numerator).max(axis=-1) * fit.p > 0.02 * abs(family.bias).max()  # rows that tell the scale to 2⁻¹⁷
        known &= (abs(sample.mean) <= 10 * numpy.sqrt(square))[:, 0] & ~family.free & numpy.isfinite(got).all(axis=-1)
        right = base.reciprocal(square, sample)[known, 0].astype(float)
        columns.append((fit.p[known], right, square[known, 0].astype(float), numpy.full(known.sum(), sample.d)))
    p, right, v, d = map(numpy.concatenate, zip(*columns, strict=True))
    return (p, right, v, d) if p.size >= 3 and (p > 0).all() else None


def _wrong_scale(cases: Sequence[Case], plain: Arithmetic) -> tuple[Verdict, Cause] | None:
    """A cause that changes the length of every row and no direction."""
    if (scales := _scales(cases, plain)) is None:
        return None
    p, right, v, d = scales
    factor = p / right
    u = max(2.0 ** -(plain.storage.bits - 1), 2.0**-17)
    off, wrong = abs(factor - 1).max(), abs(factor - 1) > 16 * u
    eps, threshold = cases[0].base.eps, v[wrong].max(initial=0)
    approximate = Cause("approximate", off, -numpy.log10(max(off, 2.0**-64)))
    # NaN or infinite where the layer is finite, which no rounding explains.
    lost = any(numpy.isinf(base.family(sample, plain).fit(got).ratio).any() for base, sample, got in cases)
    for times, power in (("sqrt(d)", 0.5), ("1/sqrt(d)", -0.5), ("d", 1), ("1/d", -1)):
        if off >= u and d.max() > 1 and abs(factor / d.astype(float) ** power - 1).max() < 16 * u:
            return "bug", Cause("multiplied by", times)
    if off >= u and numpy.ptp(factor) < u * factor.max():
        return "bug", Cause("output multiplied", numpy.median(factor))
    if not wrong.any():  # in a half format narrow arithmetic does as much
        return ("unstable", approximate) if plain.storage.bits >= 24 and not lost else None
    if padding := _filled(p, v + eps, d, u * (32 + 1 / factor)):
        return "bug", padding
    if wrong.sum() > 1 and numpy.ptp(p[wrong]) < 32 * u * p[wrong].max():
        for side, clamped in (("below", v[~wrong] >= threshold), ("above", v[~wrong] <= v[wrong].min())):
            if clamped.all():
                return "bug", Cause("clamped", side, 1 / numpy.median(p[wrong]) ** 2 - eps)
    if form := _narrow_scale(p, eps, d, plain) or (approximate if off < 2.0**-4 else None):
        return ("bug", several(Cause("not finite"), form)) if lost else ("unstable", form)
    below = (threshold,) if (v[~wrong] > threshold).all() else ()
    return "bug", Cause("scale below" if below else "scale", factor.min(), factor.max(), *below)


def _filled(p: Reals, square: Reals, d: Reals, unit: Reals) -> Cause | None:
    """The padding, if a fixed number for each component up to a multiple was added to the sum of squares."""
    more, error = d * (1 / p**2 - square), d * unit * (1 / p**2 + square)
    for block in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        count = -d % block
        if not count.any() or (abs(more) > error)[count == 0].any():
            continue
        low, high = ((more + k * error)[count > 0] / count[count > 0] for k in (-1, 1))
        if 0 < low.max() <= high.min():
            return Cause("padding filled", block, numpy.sqrt(high.min()))
    return None


def _narrow_scale(p: Reals, eps: float, d: Reals, plain: Arithmetic) -> Cause | None:
    """The quantity kept in a half format, if nearly all its values are numbers of one."""
    for form in ("float16", "bfloat16"):
        variance = 1 / p**2 - eps
        for what, value in (("variance", variance), ("sum of squares", d * variance), ("reciprocal of the root", p)):
            kept = (abs(rounded(value, form) - value) <= 2.0**-17 * value).mean() > 0.9
            if kept and FORMATS[form].bits < plain.storage.bits:
                return Cause("quantity rounded", what, form)
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """How far a computed output is off, and which causes are possible; made by :func:`explain_difference`.

    Attributes:
        verdict: {"rounding", "unstable", "variant", "bug"}. Every row is in the family that holds all outputs of
            correct kernels; or a named algorithm that loses digits, or another documented definition, fits; or neither.
        method: {"two-pass", "merged", "one-pass"} or None. The first way to the variance that explains every row.
        cause: str or None. The algorithm, definition or mistake whose own family holds what was computed.
        also_fits: tuple of str. For rounding: variants and mistakes that the precision cannot rule out. For a variant
            or bug: the algorithm that loses digits, if the layer itself explains every row by it.
        difference, bound: float64 arrays, shape (..., d). Error of each component, rounded up, and how far a
            backward-stable kernel may be off there.
        ratio, outside: arrays, shape (..., d). Distance from the closest output of a correct kernel over its
            tolerance, and whether that is above 1.

    Its repr is :attr:`message`.
    """

    verdict: Verdict
    method: Method | None
    cause: str | None
    also_fits: tuple[str, ...]
    difference: numpy.ndarray
    bound: numpy.ndarray
    ratio: numpy.ndarray
    outside: numpy.ndarray

    @property
    def message(self) -> str:
        """Verdict, largest ratio and cause in one sentence."""
        ratio, bound, also = self.ratio[self.worst], self.bound[self.worst], self.also_fits
        numbers = (
            f"at {ratio:.3g} times the tolerance where it is farthest from a correct output "
            f"(there {self.difference[self.worst]:.3g} from the exact value, at most {bound:.3g} from rounding)"
        )
        if self.verdict != "rounding":
            outside = f"{int(self.outside.sum())} of {self.ratio.size} components beyond every rounding"
            unknown = "none of the known variants, mistakes and algorithms agrees with it"
            known = " or ".join(filter(None, (self.cause, *also)))
            return f"{self.verdict}: {outside}, {numbers}; {f'it agrees with: {known}' if known else unknown}"
        missing = "" if numpy.isfinite(self.bound).all() else "; where squares may over- or underflow no bound exists"
        more = f" and {len(also) - 3} more" if len(also) > 3 else ""
        hint = f"; on these inputs one would not see: {', '.join(also[:3])}{more}" if also else ""
        note = " of an implementation that merges partial variances or multiplies before it subtracts the mean"
        return f"rounding{note if self.method == 'merged' else ''}: {numbers}{missing}{hint}"

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    @property
    def worst(self) -> tuple[int, ...]:
        """Index of the component with the largest ratio."""
        return tuple(int(i) for i in numpy.unravel_index(numpy.argmax(self.ratio), self.ratio.shape))


@door
def explain_difference(
    x: Array,
    got: Array,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float,
    dtype: object = None,
    **layer: Unpack[Layer],
) -> Explanation:
    """Compare `got` with the exact ``layer_norm(x, gain, bias, eps=eps)`` and say: rounding, a variant, or a bug.

    "Rounding" means that every row is in a family that holds all outputs of correct kernels (:func:`tolerance`). Else
    documented variants, the usual mistakes (divisor d − 1, no mean subtraction, ε elsewhere or another ε, gain missing
    or used as 1 + gain, ...) and the unstable algorithms are tried, each with its own family of possible outputs.

    `got` is the computed output, of the shape of `x`, in the format `dtype` (default: its own). `layer` stands for
    `centered`, `placement` and `additions`, as in :func:`error_bound`; without `additions` no correct kernel is
    reported as wrong. Returns an Explanation, whose repr is a sentence. Raises InputError at ε = 0 for a constant
    vector (RMSNorm: the zero vector), which has no exact output.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 4.2.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> lg.explain_difference(x, lg.layer_norm(x, eps=1e-5), eps=1e-5).verdict
    'rounding'
    >>> explanation = lg.explain_difference(x, (x - 3) / x.std(ddof=1), eps=0.0)
    >>> explanation.verdict, explanation.cause
    ('variant', 'variance divided by d - 1 (ddof=1)')
    """
    dtype = dtype_name(got) if dtype is None and hasattr(got, "dtype") else dtype
    rows, base, name, order = definition(x, gain, bias, eps, dtype, **layer)
    if not rows.size:
        raise InputError(f"x has shape {rows.shape}: there are no vectors to compare")
    computed, shape = float64("got", got), rows.shape
    if computed.shape != shape:
        raise InputError(f"got has shape {computed.shape}, but x has shape {shape}: compare outputs of these vectors")
    case = Case(base, Sample(rows.reshape(-1, shape[-1])), computed.reshape(-1, shape[-1]))
    _check_defined(base, case.sample)
    plain = declared(name, order=order)
    family = base.family(case.sample, plain)
    fit = family.fit(case.got)
    verdict, method, cause, also_fits = _judged(case, fit, plain, name)
    exact, error = base.enclosed(case.sample)
    with numpy.errstate(all="ignore"):
        difference = abs(case.got - exact) + error
        difference = numpy.where(numpy.isnan(difference), numpy.inf, difference)
    apart, reach = outward(difference, shape), outward(base.bound(case.sample, family), shape)
    ratio = fit.ratio.reshape(shape)
    return Explanation(verdict, method, cause, also_fits, apart, reach, ratio, ratio > 1)


def _check_defined(base: Definition, sample: Sample) -> None:
    square = sample.variance if base.centered else sample.square
    undefined = numpy.flatnonzero((square[:, 0] == 0) & (base.eps == 0))
    if undefined.size:
        what = "constant" if base.centered else "zero"
        raise InputError(f"row {undefined[0]} of x is {what} and eps = 0: the layer divides 0 by 0; leave the row out")


def _judged(
    case: Case, fit: Fit, plain: Arithmetic, dtype: str
) -> tuple[Verdict, Method | None, str | None, tuple[str, ...]]:
    """Verdict, method, cause and other causes that fit, from the worst rows and some of every size."""
    square = case.sample.variance if case.base.centered else case.sample.square
    by_ratio, by_size = numpy.argsort(-fit.ratio.max(axis=-1), kind="stable"), numpy.argsort(square[:, 0])
    spaced = by_size[numpy.linspace(0, len(by_size) - 1, _EXAMINED).astype(int)]
    worst = numpy.unique(numpy.concatenate([by_ratio[:_EXAMINED], spaced]))
    few = Case(case.base, Sample(case.sample.x[worst]), case.got[worst])
    if not fit.ok.all():
        verdict, cause = diagnose([few], dtype)
        one_pass = verdict == "unstable" and cause is not None and cause.kinds & {"one-pass", "one-pass in"}
        low = replace(plain, method="one-pass")
        also = not one_pass and case.base.centered and case.explained_by(case.base, low)
        method: Method | None = "one-pass" if one_pass or also else None
        return verdict, method, str(cause) if cause else None, (str(Cause("one-pass")),) * also
    strict = case.base.family(case.sample, replace(plain, method="two-pass")).fit(case.got).ok.all()
    method = "two-pass" if strict or not case.base.centered else "merged"
    return "rounding", method, None, tuple(map(str, _indistinct(few, dtype, plain)))
