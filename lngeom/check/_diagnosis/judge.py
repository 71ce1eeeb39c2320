"""The decision whether a kernel is wrong, in exact fractions, and the smallest row that shows it."""

import contextlib
from dataclasses import replace

import numpy as np

from .._trials.claim import Claim
from .._trials.trial import Trial
from .._trials.trials import Tried
from .shrink import smallest_input

_SIMPLE = 4
"""Wrong rows, those of the shortest numbers first, of which one is shown if no other row could be tried."""


def judged(tried: Tried) -> Tried:
    """With the trial of smallest dimension, first a shrunk one, of which fractions too say that it is wrong.

    Where floats alone accuse a kernel, they were too near to tell.
    """
    claim = tried.inputs.claim
    wrong = None if tried.faults else _certain(claim, [trial for trial in tried.trials if trial.wrong.any()])
    if wrong is not None:
        plain = claim.like("plain")
        with contextlib.suppress(Exception):  # a kernel may refuse a row alone in any way its framework has
            alone = plain.trial(wrong.label, wrong.x[[wrong.worst[0]]])
            if alone.wrong.any() and alone.certain():
                return replace(tried, wrong=alone, refuted=plain)
    return replace(tried, wrong=wrong, refuted=claim)


def _certain(claim: Claim, failing: list[Trial]) -> Trial | None:
    if not failing:
        return None
    # One component less its mean is 0, and a divisor d − 1 is 0 there: more components show what is wrong.
    least = 2 if claim.centered and any(trial.d > 1 for trial in failing) else 1
    failing = sorted((trial for trial in failing if trial.d >= least), key=lambda trial: (trial.d, -trial.largest))
    first = failing[0]
    row, fixed = first.x[first.worst[0]], claim.kernel.fixed is not None
    small = smallest_input(lambda x: claim.trial(first.label, x), row, fixed=fixed, least=least)
    simple = sorted(np.flatnonzero(first.wrong).tolist(), key=lambda row: len(str(first.x[row].tolist())))[:_SIMPLE]
    single = (first.part(first.label, row, row + 1) for row in simple)
    return next((trial for trial in (*filter(None, [small]), *single, *failing) if trial.certain()), None)
