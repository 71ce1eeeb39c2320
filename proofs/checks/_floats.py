"""Theorems measured in floats: the deviation must stay within the derived error bound."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy
from hypothesis import HealthCheck, example, given, settings, strategies as st

from lngeom.carriers import Rounded

from .._theorem import CheckError, Theorem, call
from ._models import DIMENSIONS, Values, accepted, satisfied

ROWS: dict[str, list[float]] = {
    "zero": [0.0, 0.0, 0.0],
    "constant": [14.1, 14.1, 14.1, 14.1],
    "one-hot": [0.0, 0.0, 1.0, 0.0, 0.0],
    "massive": [0.3, -0.2, 3.0e4, 0.1, -0.7, 0.2],
    "denormal": [5e-324, -2e-323, 1e-320],
    "huge": [1e150, -3e150, 2e149],
    "nearly constant": [1000.0, 1000.0000000000001, 999.9999999999999, 1000.0],
    "d = 1": [-2.5],
    "d = 2": [1.0, -3.0],
}
"""Vectors that break careless formulas."""

MEASURES = 30
"""Inputs that are measured, beside the special rows."""

# Evidence is the same on every run and machine: no clock, no chance, nothing remembered.
_LIMITS = settings(
    max_examples=MEASURES, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)

_numbers = st.one_of(
    st.floats(-8, 8), st.sampled_from([0.0, 1.0, -1.0, 1e-3, 1e4]), st.floats(-1e8, 1e8, allow_subnormal=True)
)
_scalars = st.one_of(st.sampled_from([1e-12, 1e-5, 0.5, 1.0, 3.0, -2.0, 0.0]), st.floats(-100, 100))


@st.composite
def _inputs(draw: st.DrawFn, vectors: int, scalars: int) -> tuple[list[list[float]], list[float]]:
    d = draw(st.integers(1, 8))
    row = st.lists(_numbers, min_size=d, max_size=d)
    special = [[values[i % len(values)] for i in range(d)] for values in ROWS.values()]
    chosen = [draw(st.one_of(row, row, st.sampled_from(special))) for _ in range(vectors)]
    return chosen, [draw(_scalars) for _ in range(scalars)]


def _examples(vectors: int, scalars: int) -> list[tuple[list[list[float]], list[float]]]:
    """Every special row for the first vector, plain values for the rest."""
    return [
        (
            [row, *([[1.0 + k + i % 3 for i in range(len(row))] for k in range(vectors - 1)])],
            [0.5 + k for k in range(scalars)],
        )
        for row in ROWS.values()
    ]


def measure(theorem: Theorem) -> int:
    """Measure the claim at special rows and random floats, or at rounded exact models; returns how often."""
    vectors, scalars = theorem.vectors.split(), theorem.scalars.split()
    assumed = list(theorem.assumed().values())
    count = 0

    def one(exact: Values, d: int) -> None:
        nonlocal count
        exact = accepted(exact)
        if satisfied(assumed, exact, d):
            count += violation(theorem, exact)

    if theorem.model is None:

        @_LIMITS
        @given(_inputs(len(vectors), len(scalars)))
        def run(inputs: tuple[list[list[float]], list[float]]) -> None:
            rows, numbers = inputs
            exact: Values = dict(zip(vectors, (tuple(map(Fraction, row)) for row in rows), strict=True))
            one(exact | dict(zip(scalars, map(Fraction, numbers), strict=True)), len(rows[0]) if rows else 1)

        for row in _examples(len(vectors), len(scalars)):
            run = example(row)(run)
    else:
        sample = theorem.model

        @_LIMITS
        @given(st.integers(0, 2**32), st.sampled_from(DIMENSIONS))
        def run(seed: int, d: int) -> None:
            one(sample(Random(seed), d), d)

    run()
    if not count:
        msg = f"{theorem.id}: no floats satisfy the hypotheses with a finite error bound; give `model`"
        raise CheckError(msg)
    return count


def violation(theorem: Theorem, exact: Values) -> int:
    """Measure the claim for one input: 1 if some bound is finite, 0 if none is."""
    carriers = {name: Rounded.of(value) for name, value in exact.items()}
    measured = call(theorem.claim, carriers)
    if not isinstance(measured.term, Rounded):
        measured = measured._replace(term=Rounded.of(measured.term))
    value, error = measured.term.value, measured.term.error
    excess = {"=": abs(value), "!=": numpy.zeros_like(value)}.get(measured.relation, -value)
    wrong = numpy.isfinite(error) & (excess > error)
    if wrong.any():
        k = int(numpy.argmax(wrong))
        msg = (
            f"{theorem.id}: {value[k]!r} {measured.relation} 0 is violated by more than its error bound "
            f"{error[k]:.3e} at {exact}"
        )
        raise CheckError(msg)
    return int(numpy.isfinite(error).any())
