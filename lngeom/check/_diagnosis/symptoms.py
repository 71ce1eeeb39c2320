"""What is seen of wrong outputs: a symptom, and in which dimensions and groups it shows."""

import numpy as np

from lngeom.rounding import places
from lngeom.sentences import Cause, several

from .._trials.layouts import BATCHES
from .._trials.trial import Trial

_BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def told(of: list[Trial], trials: list[Trial], cause: Cause | None = None) -> Cause:
    """The cause, or else the symptom, and in which dimensions and groups of the trials it shows."""
    where = tuple(filter(None, (dimensions(of), groups(of))))
    cause = cause or symptom([trial for trial in of if trial.wrong.any()], trials)
    return several(cause, Cause("where", where) if where else None)


def bad_dimensions(trials: list[Trial]) -> set[int]:
    """The dimensions in which it fails; shapes and batches are tried at one, and do not tell in which others."""
    everywhere = {trial.label for trial in trials if trial.d != trials[0].d}
    return {trial.d for trial in trials if trial.wrong.any() and trial.label in everywhere} or {t.d for t in trials}


def dimensions(trials: list[Trial]) -> Cause | None:
    """In which dimensions it fails, if not in all."""
    dims, bad = {trial.d for trial in trials}, bad_dimensions(trials)
    good = dims - bad
    if not good:  # it fails everywhere: the dimension is no sign
        return None
    block = next((block for block in _BLOCKS if bad == {d for d in dims if d % block}), None)
    if block:
        return Cause("d not multiple", block)
    if min(bad) > max(good):
        return Cause("d above", max(good))
    return Cause("d below", min(good)) if max(bad) < min(good) else Cause("d only", tuple(sorted(bad)))


def groups(trials: list[Trial]) -> Cause | None:
    """In which groups or batches it fails, if in less than half of them."""
    bad = bad_dimensions(trials)
    labels = {trial.label for trial in trials if trial.d in bad}
    failing = [trial for trial in trials if trial.wrong.any()]
    wrong = {trial.label for trial in failing}
    if wrong == labels or len(wrong) > len(labels) // 2:  # a long list would hide the cause
        return None
    last = failing[-1]
    if len(wrong) == 1 and last.label.kind in BATCHES and not last.wrong[0]:
        return Cause("later rows", int(np.flatnonzero(last.wrong)[0]), last.label)
    return Cause("only for", frozenset(wrong))


def symptom(failing: list[Trial], trials: list[Trial]) -> Cause:
    """The symptom, seen from the components."""
    if not any(np.isfinite(trial.got[trial.wrong]).all(axis=-1).any() for trial in failing):
        return Cause("not finite")
    if not any(trial.got[trial.wrong].any() for trial in failing):
        return Cause("zeros out")
    limits = {abs(value) for trial in failing for value in trial.got[trial.ratio > 1]}
    limit = max(limits)
    if len(limits) == 1 and limit > 0 and all(abs(trial.got).max() <= limit for trial in trials):
        return Cause("limited", limit)
    wrong_at = [(np.flatnonzero(ratio > 1).tolist(), t.d) for t in failing for ratio in t.ratio[t.wrong]]
    # A row of large mean holds so wide a family that one wrong component may look like several.
    for which, at in (("last", -1), ("first", 0)):
        alone = [wrong == [range(d)[at]] for wrong, d in wrong_at if d > 1]
        if sum(alone) > 0.8 * len(alone):
            return Cause("component wrong", which)
    widest = max((trial for trial in failing if trial.d > 3), key=lambda trial: trial.d, default=failing[0])
    wrong = widest.ratio[widest.wrong] > 1
    some = np.asarray(wrong.any(0))
    # The places are a sign if most wrong rows have them in common: outputs that are nearly 0 may be wrong anywhere.
    common = wrong[:, some].mean() > 0.5
    if common and not some.all() and not (widest.d > 16 and some.sum() > 0.9 * widest.d):
        return Cause("places wrong", places(some), widest.d)
    return Cause("unknown")
