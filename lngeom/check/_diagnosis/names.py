"""Why a kernel is wrong, and where."""

import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lngeom.rounding import FORMATS, Sample, candidates, diagnose, indistinct, rounded
from lngeom.sentences import Way

from .._calls.binding import UNREGISTERED
from .._calls.fused import Fused
from .._trials.claim import Claim
from .._trials.inputs import HUGE
from .._trials.layouts import BATCHES, OTHER
from .._trials.state import UNSTEADY, steady
from .._trials.trial import Shown, Trial
from .._trials.trials import MANNERS, Tried
from .._trials.unexamined import WITHOUT
from .casts import held_to_cast
from .pattern import of_other_axes, of_other_rows, of_residual, patterned, places

BEGINNINGS = {"one later", "last components", "last rows"}
_EXCHANGED = {"heads", "three exchanged", "four exchanged"}
STRIDES = {"transposed", "every other component", "every other row", "first components", *_EXCHANGED}
"""Memory layouts that contiguous rows at offset 0 do not exercise."""
_CUBES = {"three axes": (2,), "four axes": (2, 2)}
_MORE_AXES = {*_CUBES, "tokens", *_EXCHANGED}
VAGUE = "scale wrong", "approximate", "intermediate results", "one-pass variance in"
"""Beginnings of causes that fit much: what is measured is told before them."""
_CLEAR = 2.0**-6
"""How far below the largest number, relatively, a sum in float16 may round beyond it."""
_BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Named:
    """What a kernel computes.

    Attributes:
        verdict, cause: ``rounding``, ``unstable``, ``variant`` or ``bug``, and the algorithm, definition or mistake.
        notes: All notes.
        shown: What shows it, None of what is right or computes nothing.
        ratio: Largest distance of a derivative from an exact one over its bound, None if none was computed.
    """

    tried: Tried
    verdict: str
    cause: str | None
    notes: tuple[str, ...]
    shown: Shown | None
    ratio: float | None = None


def named(tried: Tried) -> Named:
    """The verdict with its name, under the contract that is meant."""
    wrong, claim, notes, shown = tried.wrong, tried.inputs.claim, list(tried.notes), None
    if tried.faults:
        verdict, cause = "bug", tried.faults[0]
    else:
        verdict, cause = ("rounding", None) if wrong is None else _explained(tried)
    if claim.meant.offset and cause is not None:
        cause = cause.replace("gain used as gain - 1", "w used for 1 + w (plain where Gemma's is meant)")
        cause = cause.replace("gain used as 1 + gain (as Gemma)", "1 added to the weight twice")
    if claim.meant.cast and FORMATS[claim.kernel.dtype].bits < 24:
        verdict, cause, shown = held_to_cast(verdict, cause, tried.trials, claim.kernel.dtype)
    way, not_the_sum = tried.sums if verdict == "rounding" else (None, None)
    if not_the_sum:
        verdict, cause = "bug", not_the_sum
    elif way is not None:
        name = f"sum of input and residual {way} before it is normalized"
        if claim.meant.sum in (None, way):
            notes.append(name)
        else:
            verdict, cause = "variant", name
    if wrong is not None and verdict != "rounding":
        shown = wrong.shown()
    return Named(tried, verdict, cause, (*notes, *_noted(tried, verdict)), shown)


def _noted(tried: Tried, verdict: str) -> Iterator[str]:
    """What such a verdict leaves open."""
    claim, trials = tried.inputs.claim, tried.trials
    kernel = claim.kernel
    still = kernel.at(kernel.d).still if trials else ()
    yield from (text for text in still if kernel.asked.backward or text.endswith(UNREGISTERED))
    if claim.default:
        yield f"no eps is given, stated or seen: the default, {float(claim.eps):.3g}, is meant"
    if verdict == "rounding":
        listed = kernel.asked.undetectable and not claim.meant.stated
        cases = [trial.case() for trial in trials if trial.d <= HUGE] if listed else []
        names = ", ".join(indistinct(cases, kernel.dtype) if cases else ())
        if names:
            yield f"undetectable by these inputs, within rounding: {names}"
        return
    if (infinite := {trial.d for trial in trials if math.isinf(trial.largest)}) and kernel.d not in infinite:
        yield f"NaN or infinite at d = {', '.join(map(str, sorted(infinite)))}"
    if kernel.asked.backward and verdict != "variant":
        yield "the derivatives were not checked: those of the definition are not those of this forward pass"


def _elsewhere(tried: Tried) -> str | None:
    """What is normalized instead of each row: other rows, other axes, other memory, the input without its residual."""
    trials = tried.trials
    with np.errstate(all="ignore"):
        failing = next(trial for trial in trials if trial.wrong.any())
        with contextlib.suppress(Exception):  # rows of a batch of three axes may be refused as one of two
            if not steady(tried.inputs.claim, failing.x, 64 * failing.d):
                return UNSTEADY
        usual = tried.inputs.claim.meant.stated is None
        left = _left_out(tried)
        if left is not None and left.endswith("they are 0"):
            return left
        if usual and (rows := of_other_rows(trials[0])) is not None:
            return rows
        if _rows_mix(tried):
            return "the output of a row depends on the other rows of its batch"
        if left is not None:
            return left
        if (memory := _memory(trials)) is not None:
            return memory
        fused = isinstance(tried.inputs.claim.kernel.form.target, Fused) and trials[0].wrong.any()
        return of_residual(trials[0]) if fused else None


def _left_out(tried: Tried) -> str | None:
    """Whether rows from one on are wrong in a batch, and right in one that ends before it."""
    claim, first, zero = tried.inputs.claim, set[int](), True
    for d, groups in tried.inputs.groups.items():
        trials = {trial.label: trial for trial in tried.trials if trial.d == d}
        rows = [trials[label] for label, _ in groups if label in trials]  # in the order of the batch that they are
        wrong = np.concatenate([np.zeros(1, bool), *(trial.wrong for trial in rows)])[1:]
        if wrong.any():
            first.add(begin := int(np.argmax(wrong)))
            zero &= not np.concatenate([trial.got for trial in rows])[begin:].any()
            some = np.concatenate([trial.x for trial in rows])[wrong][: min(begin, 8)]
            alone = False
            with contextlib.suppress(Exception):  # a smaller batch may be refused
                alone = begin > 0 and not claim.trial(Way("ordinary"), some).wrong.any()
            if not alone:
                return None
    if not first or (zero and len(first) > 1):
        return None
    told = "not computed: they are 0" if zero else "wrong, which are right in a smaller batch"
    return f"rows after the first {min(first)} of a batch are {told}"


def _explained(tried: Tried) -> tuple[str, str]:
    """Verdict and cause: what explains all trials, else what explains the failing groups, else where it fails."""
    claim, trials = tried.inputs.claim, tried.trials
    dtype, measured = claim.kernel.dtype, claim.measured
    if (elsewhere := _elsewhere(tried)) is not None:
        return "bug", elsewhere
    if claim.meant.stated is not None:
        return "bug", f"not {claim.kind}: {_told(trials, trials)}"
    # The failing ones first, so that a wrong explanation is given up early.
    whole = sorted(trials, key=lambda trial: (not trial.wrong.any(), trial.d > 300))
    # A gain of a wider dtype is not rounded as one of the kernel's own.
    own = [trial for trial in whole if trial.label.kind != OTHER]
    whole = own if any(trial.wrong.any() for trial in own) else whole
    # At d = 1 a divisor d − 1 gives NaN, which no definition is compared with: more components name it.
    several = [trial for trial in whole if trial.d > 1]
    chosen = several if any(trial.wrong.any() for trial in several) else whole
    failing = [trial for trial in whole if trial.wrong.any()]
    kinds = {trial.label.kind for trial in failing}  # a mistake of the formula would show everywhere
    if kinds <= set(WITHOUT):
        verdict, cause = diagnose([trial.case() for trial in failing], dtype, eps=measured)
        return "bug", f"{cause or _symptom(failing, trials)}; {_groups(trials)}"
    if kinds <= MANNERS or kinds <= _MORE_AXES:
        with np.errstate(all="ignore"):
            axes = of_other_axes(failing, _CUBES)
        return "bug", axes or f"{_symptom(failing, trials)}; {_groups(trials)}"
    verdict, cause = _cast_with_gain(claim, chosen) or diagnose([each.case() for each in chosen], dtype, eps=measured)
    if cause is not None and not cause.startswith(VAGUE):
        beyond = _beyond(trials, cause, dtype, measured) if verdict == "variant" else []
        return ("bug", f"{cause}; beyond that {_told(beyond, trials)}") if beyond else (verdict, cause)
    if (fitted := patterned(claim, trials)) is not None:
        return "bug", _told(trials, trials, fitted)
    if cause is not None:
        lost = _lost(trials, cause) or (_overflown(trials) if cause.startswith("approximate") else None)
        return ("bug", f"{lost}; {cause}") if lost else (verdict, cause)
    bad = _bad_dimensions(trials)
    if any(trial.d not in bad for trial in trials):  # another way in some dimensions, with a mistake of its own
        verdict, cause = diagnose([trial.case() for trial in whole if trial.d in bad], dtype, eps=measured)
        if cause is not None and not cause.startswith(VAGUE):
            return "bug", "; ".join(filter(None, (cause, _dimensions(trials))))
    cases = [trial.case() for trial in failing if trial.wrong.all()] or [failing[0].case()]
    # Rows whose variance vanishes would alone let anything without ε explain whatever comes out.
    least = 16 * float(claim.arithmetic.work.tiny)
    if any((case.base.exact(case.sample)[1] > least).any() for case in cases):
        verdict, cause = diagnose(cases, dtype, eps=measured)
        cause = None if verdict == "unstable" else cause  # an algorithm would show everywhere
    return "bug", _told(trials, trials, cause)


def _lost(trials: list[Trial], cause: str) -> str | None:
    """Whether exactly the rows fail, of those of small variance, whose variance + ε is 0 in the half format."""
    form = next((form for form in ("bfloat16", "float16") if f"kept in {form}" in cause), None)
    square = np.concatenate([trial.base.exact(Sample(trial.x))[1][:, 0] for trial in trials])
    bad, eps = np.concatenate([~np.isfinite(trial.got).all(-1) for trial in trials]), trials[0].base.eps
    gone = rounded(square + eps, form) == 0 if form else bad & False
    if not gone.any() or (bad != gone)[square < 1].any():
        return None
    return f"eps lost: variance + eps is kept in {form}, where {float(eps):g} is 0: NaN or inf at small variance"


def _overflown(trials: list[Trial]) -> str | None:
    """Whether rows come out as zeros: most of those, and those alone, whose squares float16 cannot sum or average."""
    largest = float(FORMATS["float16"].largest)
    square = np.concatenate([trial.base.exact(Sample(trial.x))[1][:, 0] for trial in trials])
    total = square * np.concatenate([[trial.d] * len(trial.x) for trial in trials])
    zero = np.concatenate([(trial.got == 0).all(-1) for trial in trials]) & (square > 0)
    for what, value in (("the sum", total), ("the mean", square)):
        beyond = value > (1 - _CLEAR) * largest
        if zero.any() and beyond[zero].all() and 2 * zero.sum() > beyond.sum():
            return f"{what} of the squares is kept in float16: beyond {largest:g} it is infinite, and outputs are 0"
    return None


def _cast_with_gain(claim: Claim, trials: list[Trial]) -> tuple[str, str] | None:
    """Whether the value is cast before it is multiplied by a 1 + weight that is rounded as well."""
    dtype = claim.kernel.dtype
    if not claim.meant.offset or FORMATS[dtype].bits >= 24:
        return None
    rounded_gain = [
        trial.against(replace(trial.base, gain=rounded(trial.base.gain, dtype)))
        for trial in trials
        if trial.base.gain is not None
    ]
    if not any(trial.wrong.any() for trial in rounded_gain):  # the gain alone explains it, under its own name
        return None
    verdict, cause = diagnose([trial.case() for trial in rounded_gain], dtype, eps=claim.measured)
    if cause is None or not cause.startswith("normalized value cast"):
        return None
    return verdict, f"1 + weight rounded to {dtype}, and {cause.removesuffix(' (as Llama)')}"


def _told(of: list[Trial], trials: list[Trial], cause: str | None = None) -> str:
    """The cause, or else the symptom, and in which dimensions and groups of the trials it shows."""
    where = ", ".join(filter(None, (_dimensions(of), _groups(of))))
    return "; ".join(filter(None, (cause or _symptom([trial for trial in of if trial.wrong.any()], trials), where)))


def _beyond(trials: list[Trial], cause: str, dtype: str, measured: tuple[float, ...]) -> list[Trial]:
    """All rows held against the variant that explains a few of each trial; none if it holds them all.

    In a dimension in which the variant is not defined it promises nothing.
    Beside a variant the worst rows are those farthest from the definition, not those that are wrong for another reason.
    """
    again, bases = [], {id(trial.base): trial for trial in trials}
    makers = {key: {name: make for name, _, make in candidates(one.base, one.d, dtype, eps=measured)}
              for key, one in bases.items()}  # fmt: skip
    for trial in trials:
        made = makers[id(trial.base)]
        # A divisor d − 1 is none at d = 1; a gain of another dtype may not be rounded.
        wide = re.sub(r", rounded to \w+ \(as Nemotron\)", " (as Gemma)", cause)
        names = {cause, wide} if trial.label.kind == OTHER else {cause}
        if held := [trial.against(made[name]()) for name in names & made.keys()]:
            again.append(min(held, key=lambda each: each.wrong.sum()))
    return again if any(trial.wrong.any() for trial in again) else []


def _memory(trials: list[Trial]) -> str | None:
    """Whether it fails only where rows lie in memory in another way than one after the other from the beginning."""
    failing = frozenset(trial.label for trial in trials if trial.wrong.any())
    kinds = {way.kind for way in failing}
    if kinds & BEGINNINGS and kinds <= BEGINNINGS | {"heads"}:
        return f"storage offset ignored: wrong for {' and '.join(sorted(map(str, failing)))}"
    if kinds and kinds <= STRIDES | BEGINNINGS:
        where = " and ".join(sorted(map(str, failing)))
        return f"strides ignored, rows read as if they were contiguous: wrong for {where}"
    return None


def _rows_mix(tried: Tried) -> bool:
    """Whether a wrong row has other outputs, by more than rounding, where the other rows are others."""
    claim = tried.inputs.claim
    groups = dict(tried.inputs.groups[claim.kernel.d])
    for trial in tried.trials:
        if trial.label not in groups or len(trial.x) < 2 or not trial.wrong.any():
            continue
        row = trial.worst[0]
        others = claim.stored(trial.x[::-1] * 2 + 1)
        others[row] = trial.x[row]
        with contextlib.suppress(Exception), np.errstate(all="ignore"):  # a kernel may refuse rows in any way
            first, second = (claim.kernel.run(rows)[row] for rows in (trial.x, others))
            if (abs(first - second) > 64 * trial.d * 2.0**-trial.arithmetic.storage.bits * (1 + abs(first))).any():
                return True
    if tried.alone is None:
        return False
    trial = tried.trials[0]
    unit = 2.0**-trial.arithmetic.storage.bits * (1 + abs(tried.alone))
    return bool((abs(tried.alone - trial.got[:3]) > 64 * trial.d * unit).any())


def _bad_dimensions(trials: list[Trial]) -> set[int]:
    """The dimensions in which it fails; shapes and batches are tried at one, and do not tell in which others."""
    everywhere = {trial.label for trial in trials if trial.d != trials[0].d}
    return {trial.d for trial in trials if trial.wrong.any() and trial.label in everywhere} or {t.d for t in trials}


def _dimensions(trials: list[Trial]) -> str | None:
    """In which dimensions it fails, if not in all."""
    dims, bad = {trial.d for trial in trials}, _bad_dimensions(trials)
    good = dims - bad
    if not good:
        return None
    block = next((block for block in _BLOCKS if bad == {d for d in dims if d % block}), None)
    if block:
        return f"only at d that is not a multiple of {block}"
    if min(bad) > max(good):
        return f"only at d > {max(good)}"
    if max(bad) < min(good):
        return f"only at d < {min(good)}"
    return f"only at d = {', '.join(map(str, sorted(bad)))}"


def _groups(trials: list[Trial]) -> str | None:
    """In which groups or batches it fails, if in less than half of them."""
    bad = _bad_dimensions(trials)
    labels = {trial.label for trial in trials if trial.d in bad}
    failing = [trial for trial in trials if trial.wrong.any()]
    wrong = {trial.label for trial in failing}
    if wrong == labels or len(wrong) > len(labels) // 2:
        return None
    last = failing[-1]
    if len(wrong) == 1 and last.label.kind in BATCHES and not last.wrong[0]:
        return f"only for row {int(np.flatnonzero(last.wrong)[0])} and later rows of {last.label}"
    return f"only for {' and '.join(sorted(map(str, wrong)))}"


def _symptom(failing: list[Trial], trials: list[Trial]) -> str:
    """The symptom, seen from the components."""
    if not any(np.isfinite(trial.got[trial.wrong]).all(axis=-1).any() for trial in failing):
        return "NaN or inf"
    limits = {abs(value) for trial in failing for value in trial.got[trial.ratio > 1]}
    limit = max(limits)
    if len(limits) == 1 and limit > 0 and all(abs(trial.got).max() <= limit for trial in trials):
        return f"output limited to ±{limit:.3g}"
    wrong_at = list(_places(failing))
    # A row of large mean holds so wide a family that one wrong component may look like several.
    for which, at in (("last", -1), ("first", 0)):
        alone = [wrong == [range(d)[at]] for wrong, d in wrong_at if d > 1]
        if sum(alone) > 0.8 * len(alone):
            return f"{which} component wrong"
    widest = max((trial for trial in failing if trial.d > 3), key=lambda trial: trial.d, default=failing[0])
    some = np.asarray((widest.ratio > 1).any(0))
    if not some.all() and not (widest.d > 16 and some.sum() > 0.9 * widest.d):
        return f"{places(some)} wrong (d = {widest.d})"
    return "no known variant, mistake or algorithm"


def _places(failing: list[Trial]) -> Iterator[tuple[list[int], int]]:
    """For each wrong row its wrong components, and its length."""
    for trial in failing:
        for ratio in trial.ratio[trial.wrong]:
            yield np.flatnonzero(ratio > 1).tolist(), trial.d
