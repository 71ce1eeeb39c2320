"""Diagnoses of wrong outputs: hypotheses, each with its experiment, tried in the order of DIAGNOSES.

To add one, write a function of the Evidence that returns a verdict and a cause, or None where its hypothesis fails,
and enter it into DIAGNOSES. It may call the kernel again on other rows (`evidence.claim`); a kernel may refuse them in
any way, so suppress what it raises. Accept nothing by a similarity: compare with bounds, on every row that has to show
the fault. What explains much stands behind what explains little, an experiment before a fit, a fit before a symptom.
The cause is a kind with its values; its sentence belongs into :mod:`lngeom.sentences`, so that no decision is taken on
words.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lngeom.rounding import FORMATS, Definition, Sample, candidates, diagnose, rounded
from lngeom.sentences import Cause, several

from .._calls.binding import WITHOUT
from .._calls.fused import Fused
from .._trials.layouts import EXCHANGED, NOT_CONTIGUOUS, OTHER, SINGLE
from .._trials.state import BATCH, steady
from .._trials.trial import UNSTEADY, Trial
from .._trials.trials import MANNERS, ODD_GAINS, Tried
from .pattern import of_other_axes, of_other_rows, of_residual, patterned
from .symptoms import bad_dimensions, dimensions, groups, symptom, told

Answer = tuple[str, Cause]
"""A verdict and its cause."""
BEGINNINGS = {"one later", "last components", "last rows"}
STRIDES = NOT_CONTIGUOUS - {"strided"}
"""Memory layouts that contiguous rows at offset 0 do not exercise."""
_CUBES = {"three axes": (2,), "four axes": (2, 2)}
_MORE_AXES = {*_CUBES, "five axes", "tokens", *EXCHANGED}
_VAGUE = {"scale", "scale below", "approximate", "kept half", "kept low", "one-pass in"}
"""Causes that fit much: what is measured is told before them."""
_CLEAR = 2.0**-6
"""How far below the largest number, relatively, a sum in float16 may round beyond it."""


@dataclass
class Evidence:
    """What a kernel computed, and what the diagnoses share."""

    tried: Tried

    def __post_init__(self) -> None:
        self.claim, self.trials = self.tried.inputs.claim, self.tried.trials

    @cached_property
    def whole(self) -> list[Trial]:
        """The trials that a formula is held against: failing ones first, so that a wrong one is given up early."""
        ordered = sorted(self.trials, key=lambda trial: (not trial.wrong.any(), trial.d > 300))
        # A gain of a wider dtype is not rounded as one of the kernel's own.
        own = [trial for trial in ordered if trial.label.kind != OTHER]
        return own if any(trial.wrong.any() for trial in own) else ordered

    @cached_property
    def failing(self) -> list[Trial]:
        """Those of them that are wrong."""
        return [trial for trial in self.whole if trial.wrong.any()]

    # The ways that fail: a mistake of the formula would show everywhere.
    kinds = property(lambda self: {trial.label.kind for trial in self.failing})

    def diagnosed(self, trials: list[Trial]) -> tuple[str, Cause | None]:
        """The formula that explains these trials."""
        own = (str(trial.label.values[0]) for trial in trials if trial.label.kind == "of dtype")
        dtype = next((each for each in own if FORMATS[each].bits < 24), self.claim.kernel.dtype)
        return diagnose([trial.case() for trial in trials], dtype, eps=self.claim.measured)

    @cached_property
    def formula(self) -> tuple[str, Cause | None]:
        """The formula that explains all trials; a mistake also the rows that it was not found by."""
        # At d = 1 a divisor d − 1 gives NaN, which no definition is compared with: more components name it.
        several = [trial for trial in self.whole if trial.d > 1]
        chosen = several if any(trial.wrong.any() for trial in several) else self.whole
        verdict, cause = self.diagnosed(chosen)
        return verdict, None if verdict == "bug" and cause is not None and _beyond(self, cause) else cause

    @cached_property
    def left_out(self) -> Cause | None:
        """Whether rows from one on are wrong in a batch, and right in one that ends before it."""
        first, zero = set[int](), True
        for d, listed in self.tried.inputs.groups.items():
            trials = {trial.label: trial for trial in self.trials if trial.d == d}
            rows = [trials[label] for label, _ in listed if label in trials]  # in the order of the batch that they are
            wrong = np.concatenate([np.zeros(1, bool), *(trial.wrong for trial in rows)])[1:]
            if wrong.any():
                first.add(begin := int(np.argmax(wrong)))
                zero &= not np.concatenate([trial.got for trial in rows])[begin:].any()
                some = np.concatenate([trial.x for trial in rows])[wrong][: min(begin, 8)]
                alone = False
                with contextlib.suppress(Exception):  # a smaller batch may be refused
                    alone = begin > 0 and not self.claim.trial(rows[0].label, some).wrong.any()
                if not alone:
                    return None
        if not first or (zero and len(first) > 1):
            return None
        return Cause("rows not computed" if zero else "rows wrong", min(first))


def unsteady(evidence: Evidence) -> Answer | None:
    """Calls in a row differ: nothing else can be measured."""
    failing = next(trial for trial in evidence.trials if trial.wrong.any())
    rows = failing.x[failing.wrong, None] if failing.label == SINGLE else [failing.x] * (failing.label.kind == BATCH)
    with contextlib.suppress(Exception):  # rows of a batch of three axes may be refused as one of two
        right = any(not evidence.claim.trial(SINGLE, row).wrong.any() for row in rows)  # at another call
        if right or not steady(evidence.claim, failing.x, 64 * failing.d):
            return "bug", UNSTEADY
    return None


def other_rows(evidence: Evidence) -> Answer | None:
    """The last rows of a batch are zeros, which others would fit, or statistics of other rows, if it is a norm."""
    if evidence.left_out is not None and evidence.left_out.kind == "rows not computed":
        return "bug", evidence.left_out
    rows = of_other_rows(evidence.trials[0]) if evidence.claim.meant.stated is None else None
    return None if rows is None else ("bug", rows)


def mixed_rows(evidence: Evidence) -> Answer | None:
    """A wrong row has other outputs, by more than rounding, where the other rows are others."""
    claim, tried = evidence.claim, evidence.tried
    listed = dict(tried.inputs.groups[claim.kernel.d])
    for trial in tried.trials:
        if trial.label not in listed or len(trial.x) < 2 or not trial.wrong.any():
            continue
        row = trial.worst[0]
        others = claim.stored(trial.x[::-1] * 2 + 1)
        others[row] = trial.x[row]
        with contextlib.suppress(Exception):  # a kernel may refuse rows in any way
            first, second = (claim.kernel.run(rows)[row] for rows in (trial.x, others))
            if (abs(first - second) > 64 * trial.d * 2.0**-trial.arithmetic.storage.bits * (1 + abs(first))).any():
                return "bug", Cause("rows mixed")
    if tried.alone is None:
        return None
    trial = tried.trials[0]
    unit = 2.0**-trial.arithmetic.storage.bits * (1 + abs(tried.alone))
    mixed = bool((abs(tried.alone - trial.got[:3]) > 64 * trial.d * unit).any())
    return ("bug", Cause("rows mixed")) if mixed else None


def memory(evidence: Evidence) -> Answer | None:
    """Rows from one on are wrong, or those alone that are not contiguous or do not begin at offset 0."""
    if evidence.left_out is not None:  # rows that depend on each other would be wrong as well
        return "bug", evidence.left_out
    failing = frozenset(trial.label for trial in evidence.trials if trial.wrong.any())
    kinds = {way.kind for way in failing}
    if kinds & BEGINNINGS and kinds <= BEGINNINGS | {"heads"}:
        return "bug", Cause("offset ignored", failing)
    return ("bug", Cause("strides ignored", failing)) if kinds and kinds <= STRIDES | BEGINNINGS else None


def strided_parameters(evidence: Evidence) -> Answer | None:
    """Memory of gain or bias read as if it were contiguous, where the trial has left a gap behind each number."""

    def read(base: Definition, names: tuple[str, ...]) -> Definition:
        given = {name: values for name in names if (values := getattr(base, name)) is not None}
        return replace(base, **{name: np.repeat(values, 2)[: len(values)] for name, values in given.items()})

    for names in (("gain",), ("bias",), ("gain", "bias")) if evidence.kinds == {"strided"} else ():
        if not any(trial.against(read(trial.base, names)).wrong.any() for trial in evidence.failing):
            return "bug", Cause("parameter strides", " and ".join(names))
    return None


def residual(evidence: Evidence) -> Answer | None:
    """A fused kernel normalizes something else than the sum."""
    fused = isinstance(evidence.claim.kernel.form.target, Fused) and evidence.trials[0].wrong.any()
    lost = of_residual(evidence.trials[0]) if fused else None
    return None if lost is None else ("bug", lost)


def stated(evidence: Evidence) -> Answer | None:
    """Of a definition that the user states no mistakes are known: only the symptom is told."""
    if evidence.claim.meant.stated is None:
        return None
    first, *where = told(evidence.trials, evidence.trials).parts
    return "bug", several(Cause("not stated", evidence.claim.kind, first), *where)


def manner(evidence: Evidence) -> Answer | None:
    """It fails only without gain or bias, with odd gains, in other modes or axes: the usual formula is right."""
    if not any(evidence.kinds <= part for part in (MANNERS, _MORE_AXES, {*WITHOUT})):
        return None
    axes = of_other_axes(evidence.failing, _CUBES)
    whole = evidence.kinds <= MANNERS - {ODD_GAINS.kind} or evidence.kinds <= {*WITHOUT}
    verdict, cause = evidence.diagnosed(evidence.failing) if whole else ("", None)
    cause = None if verdict == "unstable" else cause  # an algorithm would show everywhere
    return "bug", axes or several(cause or symptom(evidence.failing, evidence.trials), groups(evidence.trials))


def formula(evidence: Evidence) -> Answer | None:
    """One formula explains all trials; beside a variant, all rows are held against it."""
    verdict, cause = evidence.formula
    if cause is None or cause.parts[0].kind in _VAGUE:  # it would explain what a fit explains better
        return None
    beyond = _beyond(evidence, cause) if verdict == "variant" else []
    if not beyond:  # a mistake of the formula is told as it is, a variant if it holds every row
        return verdict, cause
    first, *where = told(beyond, evidence.trials).parts
    return "bug", several(cause, Cause("beyond", first), *where)


def fitted(evidence: Evidence) -> Answer | None:
    """A family of formulas is fitted to the outputs; it is told before what fits much."""
    cause = patterned(evidence.claim, evidence.trials)
    return None if cause is None else ("bug", told(evidence.trials, evidence.trials, cause))


def vague_formula(evidence: Evidence) -> Answer | None:
    """A formula that fits much, with what narrow arithmetic loses: ε, or rows whose squares overflow."""
    verdict, cause = evidence.formula
    if cause is None:
        return None
    overflown = _overflown(evidence.trials) if cause.parts[0].kind == "approximate" else None
    lost = _lost(evidence.trials, cause) or overflown
    return ("bug", several(lost, cause)) if lost else (verdict, cause)


def other_dimensions(evidence: Evidence) -> Answer | None:
    """Another path in some dimensions, with a mistake of its own."""
    bad = bad_dimensions(evidence.trials)
    if all(trial.d in bad for trial in evidence.trials):
        return None
    _, cause = evidence.diagnosed([trial for trial in evidence.whole if trial.d in bad])
    if cause is None or cause.parts[0].kind in _VAGUE:
        return None
    return "bug", several(cause, dimensions(evidence.trials))


def failing_rows(evidence: Evidence) -> Answer:
    """What explains the failing groups alone, or else the symptom."""
    failing = evidence.failing
    some, cause = [trial for trial in failing if trial.wrong.all()] or failing[:1], None
    cases = [trial.case() for trial in some]
    # Rows whose variance vanishes would alone let anything without ε explain whatever comes out.
    least = 16 * float(evidence.claim.arithmetic.work.tiny)
    if any((case.base.exact(case.sample)[1] > least).any() for case in cases):
        verdict, cause = evidence.diagnosed(some)
        cause = None if verdict == "unstable" else cause  # an algorithm would show everywhere
    return "bug", told(evidence.trials, evidence.trials, cause)


DIAGNOSES: tuple[Callable[[Evidence], Answer | None], ...] = (
    # What is normalized instead of each row: no formula of one row can explain these.
    unsteady, other_rows, mixed_rows, memory, strided_parameters, residual,
    # What fails only under a circumstance, whose formula is right elsewhere.
    stated, manner,
    # Formulas, from the one that explains most to the symptom.
    formula, fitted, vague_formula, other_dimensions, failing_rows,
)  # fmt: skip


def explained(tried: Tried) -> Answer:
    """The first diagnosis that holds."""
    evidence = Evidence(tried)
    with np.errstate(all="ignore"):  # wrong outputs are anything
        return next(answer for diagnosis in DIAGNOSES if (answer := diagnosis(evidence)) is not None)


def _lost(trials: list[Trial], cause: Cause) -> Cause | None:
    """Whether exactly the rows fail, of those of small variance, whose variance + ε is 0 in the half format."""
    form = next((str(part.values[0]) for part in cause.parts if part.kind == "kept half"), None)
    square = np.concatenate([trial.base.exact(Sample(trial.x))[1][:, 0] for trial in trials])
    bad, eps = np.concatenate([~np.isfinite(trial.got).all(-1) for trial in trials]), trials[0].base.eps
    gone = rounded(square + eps, form) == 0 if form else bad & False
    if not gone.any() or (bad != gone)[square < 1].any():
        return None
    return Cause("eps vanishes", form, float(eps))


def _overflown(trials: list[Trial]) -> Cause | None:
    """Whether rows come out as zeros: most of those, and those alone, whose squares float16 cannot sum or average."""
    largest = float(FORMATS["float16"].largest)
    square = np.concatenate([trial.base.exact(Sample(trial.x))[1][:, 0] for trial in trials])
    total = square * np.concatenate([[trial.d] * len(trial.x) for trial in trials])
    zero = np.concatenate([(trial.got == 0).all(-1) for trial in trials]) & (square > 0)
    for what, value in (("sum", total), ("mean", square)):
        beyond = value > (1 - _CLEAR) * largest
        if zero.any() and beyond[zero].all() and 2 * zero.sum() > beyond.sum():
            return Cause("squares overflow", what, largest)
    return None


def _beyond(evidence: Evidence, cause: Cause) -> list[Trial]:
    """All rows held against the variant that explains a few of each trial; none if it holds them all.

    In a dimension in which the variant is not defined it promises nothing.
    Beside a variant the worst rows are those farthest from the definition, not those that are wrong for another reason.
    """
    claim, groups = evidence.claim, dict[tuple[int, bool], list[Trial]]()
    for trial in evidence.trials:
        groups.setdefault((id(trial.base), trial.label.kind == OTHER), []).append(trial)
    wide = cause.renamed({"gain plus 1 rounded": "gain plus 1"})
    again = dict[int, Trial]()
    for (_, other), some in groups.items():
        # A gain of another dtype may not be rounded.
        names = {cause, wide} if other else {cause}
        x, got = (np.concatenate([getattr(trial, rows) for trial in some]) for rows in ("x", "got"))
        known = candidates(some[0].base, some[0].d, claim.kernel.dtype, eps=claim.measured)
        held = [Trial.of(some[0].label, x, got, make(), claim.arithmetic) for name, _, make in known if name in names]
        ends = np.cumsum([0, *(len(trial.x) for trial in some)])
        for trial, begin, end in zip(some, ends, ends[1:], strict=False):
            if parts := [one.part(trial.label, begin, end) for one in held]:
                again[id(trial)] = min(parts, key=lambda part: part.wrong.sum())
    ordered = [again[id(trial)] for trial in evidence.trials if id(trial) in again]
    return ordered if any(trial.wrong.any() for trial in ordered) else []
