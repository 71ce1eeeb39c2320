"""Whether a computed norm layer differs from the exact one by rounding, by its definition or by a bug, and by which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy

from ..carriers import Array, dtype_name
from ..errors import InputError
from ..norms import Placement
from ._definition import Definition, Verdict, rounded
from ._family import Arithmetic, Method, Reals, Sample
from ._formats import FORMATS
from ._mistakes import candidates
from ._tolerance import declared, definition, floats, longest, outward

_EXAMINED = 4  # rows with the largest ratios on which variants and mistakes are tried, and as many of other sizes


class Case(NamedTuple):
    """Rows x, what a kernel computed from them, and the layer that it should be."""

    base: Definition
    sample: Sample
    got: Reals

    def explained_by(self, definition: Definition, arithmetic: Arithmetic) -> bool:
        """Whether a kernel of the definition may return every row."""
        with numpy.errstate(all="ignore"):
            family = definition.family(self.sample, arithmetic)
            low, high = family.box()
            if (numpy.isfinite(self.got) & ((self.got < low) | (self.got > high))).any():
                return False  # without the linear program: most definitions fail here
            return bool(family.fit(self.got).ok.all())


def diagnose(cases: Sequence[Case], dtype: str, *, eps: tuple[float, ...] = ()) -> tuple[Verdict, str | None]:
    """What explains all `cases`: a variant, an unstable algorithm or a mistake; ("bug", None) if nothing known does.

    `eps` are values measured on the kernel. A variant or mistake that a dimension cannot show counts as the layer.

    >>> import numpy as np
    >>> from lngeom.rounding import Case, Definition, Sample, diagnose
    >>> layer = Definition(centered=True, gain=None, bias=None, eps=0.0)
    >>> diagnose([Case(layer, Sample([[1.0, 3.0, 8.0]]), np.array([[-3.0, -1.0, 4.0]]) / 13**0.5)], "float32")
    ('variant', 'variance divided by d - 1 (ddof=1)')
    """
    plain = Arithmetic.of(dtype)
    cases, makers, verdicts = list(cases), {}, {}
    for d, base in {case.sample.d: case.base for case in cases}.items():
        found = list(candidates(base, d, dtype, eps=eps))
        makers[d] = {name: make for name, _, make in found}
        verdicts.update({name: verdict for name, verdict, _ in found})
    names = list(verdicts)
    variants = [name for name in names if verdicts[name] == "variant"]

    def explained(name: str, arithmetic: Arithmetic) -> bool:
        return _explain(cases, {d: found[name]() for d, found in makers.items() if name in found}, arithmetic)

    def computed(name: str, algorithm: str) -> str:
        return f"{name}; {algorithm}" if name else algorithm

    for name in variants:
        if explained(name, plain):
            return "variant", name
    single = [name for name in variants if "; " not in name]
    one_pass = replace(plain, method="one-pass")
    for name in ("", *(single if cases[0].base.centered else ())):
        if cases[0].base.centered and explained(name, one_pass):
            return "unstable", computed(name, "one-pass variance mean(x^2) - mean(x)^2, which loses kappa^2 digits")
    if plain.storage.bits < 24:
        wider = replace(plain, storage=replace(plain.storage, bits=plain.storage.bits - 1))
        for name in ("", *single):
            if explained(name, wider) and all(_inward(case, plain) for case in cases):
                text = f"output rounded toward zero in {dtype}, not to nearest"
                return "unstable", computed(name, text)
    for name in names:
        if verdicts[name] != "variant" and explained(name, plain):
            return verdicts[name], name
    if (scaled := _wrong_scale(cases, plain)) is not None:
        return scaled
    # Arithmetic in a narrow format shows in most rows.
    often = 2 * sum(not case.explained_by(case.base, plain) for case in cases) >= len(cases)
    for form in ("float32", "float16", "bfloat16"):
        own = plain.storage.bits >= 24 or FORMATS[form] == plain.storage
        if often and own and FORMATS[form].bits < plain.work.bits:
            low = replace(plain, work=FORMATS[form], sums=FORMATS[form])
            what = "half-precision accumulation" if form != "float32" else "lower precision"
            for name in ("", *single):
                if explained(name, low):
                    return "unstable", computed(name, f"intermediate results kept in {form} ({what})")
                if explained(name, replace(low, method="one-pass")):
                    return "unstable", computed(name, f"one-pass variance in {form}")
    return "bug", None


def indistinct(cases: Sequence[Case], dtype: str, arithmetic: Arithmetic | None = None) -> Iterator[str]:
    """Names of single variants and mistakes that differ from the layer and explain all `cases` as well as it does.

    `arithmetic` is that of a kernel of `dtype` which declares nothing, unless another is given.
    """
    cases, bases = list(cases), {case.sample.d: case.base for case in cases}
    makers = {d: {n: make for n, _, make in candidates(base, d, dtype)} for d, base in bases.items()}
    for name in dict.fromkeys(name for found in makers.values() for name in found):
        if "; " in name:
            continue
        made = {d: found[name]() for d, found in makers.items() if name in found}
        # The same definition, rounded once more.
        if any(definition.casts or definition.verdict == "unstable" for definition in made.values()):
            continue
        apart = (_differs(case, made[case.sample.d]) for case in cases if case.sample.d in made)
        if _explain(cases, made, arithmetic or Arithmetic.of(dtype)) and any(apart):
            yield name


def _explain(cases: list[Case], made: dict[int, Definition], arithmetic: Arithmetic) -> bool:
    """Whether the definitions `made` for each d explain all cases; one that refutes them moves to the front."""
    for i, case in enumerate(cases):
        if not case.explained_by(made.get(case.sample.d, case.base), arithmetic):
            cases.insert(0, cases.pop(i))
            return False
    return True


def _differs(case: Case, definition: Definition) -> bool:
    exact, error = case.base.enclosed(case.sample)
    with numpy.errstate(all="ignore"):
        return bool((abs(definition.output(case.sample) - exact) > 4 * error).any())


def _inward(case: Case, plain: Arithmetic) -> bool:
    """Whether no component is farther from zero than a correct kernel's before it is rounded to the storage format."""
    low, high = case.base.family(case.sample, replace(plain, storage=plain.work)).box()
    return bool((abs(case.got) <= numpy.maximum(abs(low), abs(high))).all())


def _wrong_scale(cases: Sequence[Case], plain: Arithmetic) -> tuple[Verdict, str] | None:
    """What is known of the scale, where the direction of every row is right and its length is not."""
    scales, rights, squares = [], [], []
    eps = cases[0].base.eps
    for base, sample, got in cases:
        family = base.family(sample, plain)
        with numpy.errstate(all="ignore"):  # tolerances at the scale that the row has, whatever it should be
            size = numpy.max(abs(numpy.nan_to_num(got) - family.bias), axis=-1, keepdims=True)
            own = size / numpy.max(abs(family.gain * family.numerator), axis=-1, keepdims=True)
            more = 2 * numpy.maximum(1, numpy.nan_to_num(own / family.high, posinf=1.0))
        wide = replace(
            family,
            low=0 * family.low,
            high=0 * family.low + numpy.inf,
            reach=more * family.reach,
            slack=more * family.slack,
        )
        with numpy.errstate(all="ignore"):
            fit = wide.fit(got)
        if not fit.ok.all():
            return None
        _, square, numerator = base.exact(sample)
        known = abs(numerator).max(axis=-1) * fit.p > 0.02 * abs(family.bias).max()  # rows that tell the scale to 2⁻¹⁷
        known &= (abs(sample.mean) <= 10 * numpy.sqrt(square))[:, 0] & ~family.free & numpy.isfinite(got).all(axis=-1)
        scales.append(fit.p[known])
        rights.append(base.reciprocal(square, sample)[known, 0].astype(float))
        squares.append(square[known, 0].astype(float))
    p, right, v = map(numpy.concatenate, (scales, rights, squares))
    if p.size < 3 or not (p > 0).all():
        return None
    factor = p / right
    u = max(2.0 ** -(plain.storage.bits - 1), 2.0**-17)
    off, wrong = abs(factor - 1).max(), abs(factor - 1) > 16 * u
    digits = -numpy.log10(max(off, 2.0**-64))
    approximate = f"approximate reciprocal square root (off by up to {off:.2g}, {digits:.1f} digits left)"
    if off >= u and numpy.ptp(factor) < u * factor.max():
        return "bug", f"output multiplied by {numpy.median(factor):.6g}"
    if not wrong.any():  # in a half format narrow arithmetic does as much
        return ("unstable", approximate) if plain.storage.bits >= 24 else None
    threshold = v[wrong].max()
    capped = wrong.sum() > 1 and numpy.ptp(p[wrong]) < 32 * u * p[wrong].max()
    if capped and (v[~wrong] >= threshold).all():
        return "bug", f"variance clamped below at {1 / numpy.median(p[wrong]) ** 2 - eps:.3g}"
    if capped and (v[~wrong] <= v[wrong].min()).all():
        return "bug", f"variance clamped above at {1 / numpy.median(p[wrong]) ** 2 - eps:.3g}"
    for form in ("float16", "bfloat16"):
        if FORMATS[form].bits < plain.storage.bits:
            for what, value in (("variance", 1 / p**2 - eps), ("reciprocal of the root", p)):
                if (abs(rounded(value, form) - value) <= 2.0**-17 * value).mean() > 0.9:
                    return "unstable", f"{what} rounded to {form} (half-precision accumulation)"
    if off < 2.0**-4:
        return "unstable", approximate
    where = f" where the variance is below {threshold:.3g}" if (v[~wrong] > threshold).all() else ""
    return "bug", f"scale wrong by factors {factor.min():.3g} to {factor.max():.3g}{where}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a computed output differs by, and what can and cannot have caused it; made by :func:`explain_difference`.

    Attributes:
        verdict: {"rounding", "unstable", "variant", "bug"}. A backward-stable kernel may return it; only a named
            algorithm that loses digits may; it is another documented definition; none of these.
        method: {"two-pass", "merged", "one-pass"} or None. The first way to the variance that explains every row.
        cause: str or None. The algorithm, definition or mistake whose own family holds what was computed.
        also_fits: tuple of str. For rounding: variants and mistakes that the precision cannot rule out.
        lower, upper, difference, bound: float64 arrays, shape (..., d). Enclosure of the exact output; error of each
            component, rounded up, and how far a backward-stable kernel may be off there.
        ratio, outside: arrays, shape (..., d). Distance from the closest output of a correct kernel over its
            tolerance, and whether that is above 1.
        message: One sentence, which is also the repr; :meth:`component` has one for each component.
    """

    verdict: Verdict
    method: Method | None
    cause: str | None
    also_fits: tuple[str, ...]
    lower: numpy.ndarray
    upper: numpy.ndarray
    difference: numpy.ndarray
    bound: numpy.ndarray
    ratio: numpy.ndarray
    outside: numpy.ndarray
    message: str

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    @property
    def worst(self) -> tuple[int, ...]:
        """Index of the component with the largest ratio."""
        return tuple(int(i) for i in numpy.unravel_index(numpy.argmax(self.ratio), self.ratio.shape))

    def component(self, *index: int) -> str:
        """Sentence about the component at `index`."""
        verdict = f"outside: {self.verdict}" if self.outside[index] else "within: rounding"
        return (
            f"component {', '.join(map(str, index))}: exact value in [{self.lower[index]:.17g}, "
            f"{self.upper[index]:.17g}], difference {self.difference[index]:.3g}, "
            f"bound {self.bound[index]:.3g}, ratio {self.ratio[index]:.3g}, {verdict}"
        )


def explain_difference(
    x: Array,
    got: Array,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float,
    dtype: Any = None,
    centered: bool = True,
    placement: Placement = "inside",
    additions: int | None = None,
) -> Explanation:
    """Compare `got` with the exact ``layer_norm(x, gain, bias, eps=eps)`` and say: rounding, a variant, or a bug.

    Accepted is what some backward-stable kernel may return (:func:`tolerance`). Of the rest each documented variant,
    each usual mistake (divisor d − 1, no mean subtraction, ε elsewhere or another ε, gain missing or used as 1 + gain,
    ...) and each unstable algorithm is tried, by the family of outputs that it would have itself.

    `got`, of the shape of `x`, is what was computed, in the format `dtype`, by default its own. `additions` is that of
    :func:`error_bound`; without it no correct kernel is ever blamed. Returns an Explanation, whose repr is the
    sentence. Raises InputError for a constant vector (RMSNorm: the zero vector) at ε = 0, which has no exact output.
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
    rows, base, name = definition(x, gain, bias, eps, dtype, centered, placement)
    order = longest(additions)
    computed = floats(got)
    if computed.shape != rows.shape:
        msg = f"got has shape {computed.shape}, but x has shape {rows.shape}: compare outputs of the same vectors"
        raise InputError(msg)
    sample, got_rows = Sample(rows.reshape(-1, rows.shape[-1])), computed.reshape(-1, rows.shape[-1])
    square = sample.variance if centered else sample.square
    undefined = numpy.flatnonzero((square[:, 0] == 0) & (base.eps == 0))
    if undefined.size:
        what = "constant" if centered else "zero"
        msg = f"row {undefined[0]} of x is {what} and eps = 0: the layer divides 0 by 0 there; leave the row out"
        raise InputError(msg)

    plain = declared(name, order=order)
    family = base.family(sample, plain)
    fit = family.fit(got_rows)
    by_ratio, by_size = numpy.argsort(-fit.ratio.max(axis=-1), kind="stable"), numpy.argsort(square[:, 0])
    spaced = by_size[numpy.linspace(0, len(by_size) - 1, _EXAMINED).astype(int)]
    worst = numpy.unique(numpy.concatenate([by_ratio[:_EXAMINED], spaced]))
    case = Case(base, Sample(sample.x[worst]), got_rows[worst])
    also_fits: tuple[str, ...] = ()
    if fit.ok.all():
        strict = base.family(sample, replace(plain, method="two-pass")).fit(got_rows).ok.all()
        verdict, cause, method = "rounding", None, "two-pass" if strict or not centered else "merged"
        also_fits = tuple(indistinct([case], name, plain))
    else:
        verdict, cause = diagnose([case], name)
        method = "one-pass" if verdict == "unstable" and "one-pass" in str(cause) else None

    exact, error = base.enclosed(sample)
    with numpy.errstate(all="ignore"):
        difference = abs(got_rows - exact) + error
        difference = numpy.where(numpy.isnan(difference), numpy.inf, difference)
    lower, upper = outward(exact - error, rows.shape, -1), outward(exact + error, rows.shape)
    apart, reach = outward(difference, rows.shape), outward(base.bound(sample, family), rows.shape)
    ratio = fit.ratio.reshape(rows.shape)
    message = _message(verdict, cause, also_fits, method, apart, reach, ratio)
    return Explanation(verdict, method, cause, also_fits, lower, upper, apart, reach, ratio, ratio > 1, message)


def _message(
    verdict: Verdict,
    cause: str | None,
    also_fits: tuple[str, ...],
    method: Method | None,
    difference: numpy.ndarray,
    bound: numpy.ndarray,
    ratio: numpy.ndarray,
) -> str:
    worst = numpy.unravel_index(numpy.argmax(ratio), ratio.shape)
    numbers = f"largest ratio {ratio[worst]:.3g} (difference {difference[worst]:.3g}, bound {bound[worst]:.3g})"
    if verdict != "rounding":
        count = int((ratio > 1).sum())
        reason = (
            f"it agrees with: {cause}"
            if cause
            else "none of the known variants, mistakes and algorithms agrees with it"
        )
        return f"{verdict}: {count} of {ratio.size} components beyond every rounding, {numbers}; {reason}"
    missing = "" if numpy.isfinite(bound).all() else "; where squares may over- or underflow no bound exists"
    more = f" and {len(also_fits) - 3} more" if len(also_fits) > 3 else ""
    hint = f"; at this precision it cannot be told apart from: {', '.join(also_fits[:3])}{more}" if also_fits else ""
    note = " of an implementation that merges partial variances or multiplies before it subtracts the mean"
    return f"rounding{note if method == 'merged' else ''}: {numbers}{missing}{hint}"
