"""The smallest input on which a kernel is wrong, confirmed in exact fractions."""

import contextlib
from dataclasses import replace

import numpy as np

from lngeom.shrinking import smallest_input

from .._trials.claim import Claim
from .._trials.trial import Trial
from .._trials.trials import Tried

_SIMPLE = 4
"""How many wrong rows to try, simplest first, if shrinking fails."""


def judged(tried: Tried) -> Tried:
    """Adds the smallest trial that exact arithmetic confirms wrong, a shrunk one first.

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
