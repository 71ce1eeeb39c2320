"""The smallest input on which a kernel is wrong, shrunk by Hypothesis and confirmed in exact fractions."""

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings, strategies as st
from hypothesis.errors import HypothesisException

from .._trials.claim import Claim
from .._trials.trial import Outputs, Trial
from .._trials.trials import Tried

T = TypeVar("T", bound=Outputs)

_ROWS = 200
"""Rows that are tried: a count, so that the same one is found on a busy machine."""

_SIMPLE = 4
"""How many wrong rows to try, simplest first, if shrinking fails."""
_SMALL = (0.0, 1.0, -1.0, 2.0, 1e-3, 1e-6, 300.0, 1e4, 1e4 + 1)
_SETTINGS = settings(
    max_examples=_ROWS,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def smallest_input(attempt: Callable[[np.ndarray], T], witness: np.ndarray, *, fixed: bool, least: int = 1) -> T | None:
    """The `attempt` of one row as short (unless `fixed`) and simple as can be that is still wrong, None if none is.

    `witness` is a wrong row; `least` components or more are tried.
    """
    d = len(witness)
    lengths = st.just(d) if fixed else st.integers(min(least, d), min(d, 8))
    drawn: dict[tuple[float, ...], bool] = {}

    def wrong(values: list[float]) -> bool:
        key = tuple(values)
        if key not in drawn:
            if len(drawn) >= _ROWS:
                return False
            drawn[key] = False
            with contextlib.suppress(Exception):  # a dimension that the kernel refuses makes no smaller example
                drawn[key] = bool(attempt(np.array([values])).wrong.any())
        return drawn[key]

    def rows(entries: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
        return lengths.flatmap(lambda n: st.lists(entries, min_size=n, max_size=n))

    if not wrong(witness.tolist()):
        return None
    # Shrinking prefers the first of the alternatives; the last one is known to fail.
    options = st.one_of(rows(st.integers(-8, 8).map(float)), rows(st.sampled_from(_SMALL)), st.just(witness.tolist()))
    # Flaky: beyond the count every further row is right.
    with contextlib.suppress(HypothesisException):
        find(options, wrong, random=random.Random(0), settings=_SETTINGS)
    failing = [values for values, is_wrong in drawn.items() if is_wrong]
    simplest = min(failing, key=lambda values: (len(values), len(str(values)), sum(map(abs, values))))
    return attempt(np.array([simplest]))


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
