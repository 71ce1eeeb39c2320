from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import assume, example, given, strategies as st

import lngeom as lg
from lngeom.carriers import Enclosure, Interval, Rounded, UndecidedError, anchored, ends, stands
from lngeom.proofs import find
from lngeom.prover import evaluate
from lngeom.theorems._run import Floats
from lngeom.theorems.checks import check_wrong

ROWS = {
    "denormal": [5e-324, -2e-323, 1e-320],
    "huge": [1e150, -3e150, 2e149],
    "massive": [0.3, -0.2, 3.0e4, 0.1, -0.7, 0.2],
    "nearly constant": [1000.0, 1000.0000000000001, 999.9999999999999, 1000.0],
}
"""Vectors that break careless formulas."""

VECTORS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=True), min_size=1, max_size=9)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "project": lg.project,
    "mean_vector": lg.projection.mean_vector,
    "variance": lambda x: lg.moments(x)[1],
    "layer_norm": lambda x: lg.layer_norm(x, eps=0.25),
    "outside": lambda x: lg.layer_norm(x, eps=0.25, placement="outside"),
    "rms_norm": lambda x: lg.rms_norm(x, eps=0.25),
    "relative_radius": lambda x: lg.epsilon.relative_radius(x, eps=0.25),
    "twice": lambda x: lg.layer_norm(lg.layer_norm(x, eps=0.25), eps=0.25),
}


def on_rows(test: Callable[..., None]) -> Callable[..., None]:
    """A test of each function on drawn rows and on those that break careless formulas."""
    for row in ROWS.values():
        test = example(row)(test)
    return pytest.mark.parametrize("name", FUNCTIONS)(given(VECTORS)(test))


@on_rows
def test_values_are_those_of_numpy_bit_for_bit(name: str, row: list[float]) -> None:
    x = numpy.array(row)
    # Of a row that is constant up to rounding arrays lose the constant first.
    _, anchor = anchored(x)
    assume(anchor is None or not anchor.any())
    assert numpy.array_equal(FUNCTIONS[name](Rounded(x)).value, numpy.atleast_1d(FUNCTIONS[name](x)))


@on_rows
def test_errors_bound_the_distance_from_the_exact_value(name: str, row: list[float]) -> None:
    try:
        exact = FUNCTIONS[name](Enclosure(row))
    except UndecidedError:
        assume(False)
        raise
    rounded = FUNCTIONS[name](Rounded(numpy.array(row)))
    entries = list(exact) if isinstance(exact, Enclosure) else [exact]
    for entry, value, error in zip(entries, rounded.value, rounded.error, strict=True):
        if numpy.isfinite(error):
            gap = Interval(float(value)) - (entry if isinstance(entry, Interval) else Interval(entry))
            assert not stands(abs(gap) - float(error), ">"), (value, error, entry)


def test_errors_are_small_for_ordinary_vectors() -> None:
    y = lg.layer_norm(Rounded(numpy.random.default_rng(0).normal(size=64)), eps=1e-5)
    # The bound grows with the number of summands: γ_64 and a few roundings more, on values below √63.
    assert y.error.max() < 4 * 80 * 2.0**-53 * 63**0.5


def test_fractions_enter_with_their_rounding() -> None:
    assert 0 < Rounded.of(Fraction(1, 3)).error[0] <= 2.0**-54
    assert Rounded.of([Fraction(1, 2), Fraction(3)]).error.tolist() == [0, 0]


def test_overflow_and_division_by_zero_are_unknown() -> None:
    x = Rounded([1e200, -1e200])
    assert numpy.isinf((x * x).error).all()
    assert numpy.isinf((Rounded([1.0]) / Rounded([0.0])).error).all()


@pytest.mark.parametrize(
    "id", ["standardization.norm", "projection.pythagoras_moments", "epsilon.norm", "projection.mean_zero"]
)
def test_wrong_statements_are_seen_in_floats(id: str) -> None:
    """The bound is not so large that nothing can exceed it: each wrong variant is violated at its counterexample."""
    theorem = find(id)
    for label, variant in theorem.wrongs.items():
        refutation = check_wrong(theorem, label)
        (goal,) = variant.goals
        exact = evaluate(goal.term, refutation.values, refutation.dimension)
        bound = Floats()
        bound.execute(theorem.body, {name: Rounded.of(value) for name, value in refutation.values.items()})
        assert max(abs(float(ends(value)[0])) for value in exact) > 1e6 * max(bound.sides[0][0].error)
