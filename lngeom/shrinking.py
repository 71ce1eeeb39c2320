"""The smallest row on which something is wrong, found by Hypothesis."""

import contextlib
import random
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np


class _Judged(Protocol):
    """Outputs of rows: which are wrong."""

    @property
    def wrong(self) -> np.ndarray: ...


T = TypeVar("T", bound=_Judged)

_ROWS = 200
"""Rows that are tried: a count, so that the same one is found on a busy machine."""

_SMALL = (0.0, 1.0, -1.0, 2.0, 1e-3, 1e-6, 300.0, 1e4, 1e4 + 1)


def smallest_input(attempt: Callable[[np.ndarray], T], witness: np.ndarray, *, fixed: bool, least: int = 1) -> T | None:
    """The `attempt` of one row as short (unless `fixed`) and simple as can be that is still wrong, None if none is.

    `witness` is a wrong row; `least` components or more are tried.
    """
    # A right kernel does not wait for it.
    from hypothesis import HealthCheck as Health, Phase, find, settings, strategies as st
    from hypothesis.errors import HypothesisException

    healthy = [Health.too_slow, Health.filter_too_much, Health.data_too_large]
    phases = [Phase.generate, Phase.shrink]
    limits = settings(max_examples=_ROWS, deadline=None, database=None, phases=phases, suppress_health_check=healthy)
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

    def rows(entries: "st.SearchStrategy[float]") -> "st.SearchStrategy[list[float]]":
        return lengths.flatmap(lambda n: st.lists(entries, min_size=n, max_size=n))

    if not wrong(witness.tolist()):
        return None
    # Shrinking prefers the first of the alternatives; the last one is known to fail.
    options = st.one_of(rows(st.integers(-8, 8).map(float)), rows(st.sampled_from(_SMALL)), st.just(witness.tolist()))
    # Flaky: beyond the count every further row is right.
    with contextlib.suppress(HypothesisException):
        find(options, wrong, random=random.Random(0), settings=limits)
    failing = [values for values, is_wrong in drawn.items() if is_wrong]
    simplest = min(failing, key=lambda values: (len(values), len(str(values)), sum(map(abs, values))))
    return attempt(np.array([simplest]))
