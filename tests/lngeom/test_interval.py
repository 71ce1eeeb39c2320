"""Rational intervals: every operation encloses the exact result, and only certain comparisons are answered."""

import math
import operator
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from lngeom.carriers import SQRT_BITS, Interval, UndecidedError
from lngeom.errors import InputError

fractions = st.fractions(max_denominator=10**6) | st.sampled_from([Fraction(0), Fraction(1), Fraction(-7, 3)])


@st.composite
def intervals_with_member(draw: st.DrawFn) -> tuple[Interval, Fraction]:
    ends = sorted([draw(fractions), draw(fractions)])
    weight = draw(st.fractions(0, 1, max_denominator=100))
    return Interval(*ends), ends[0] + weight * (ends[1] - ends[0])


@given(intervals_with_member(), intervals_with_member())
def test_arithmetic_contains_the_result_of_every_member(first, second) -> None:
    (left, a), (right, b) = first, second
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        if operation is operator.truediv and right.contains(0):
            with pytest.raises(UndecidedError, match="contains 0"):
                operation(left, right)
            continue
        assert operation(left, right).contains(operation(a, b))
        assert operation(left, b).contains(operation(a, b))
        assert operation(Interval(a), b).certainly_equal(operation(a, b))


@given(intervals_with_member(), st.integers(0, 5))
def test_powers_and_absolute_value_contain_the_result_and_are_tight(case, exponent) -> None:
    interval, member = case
    power = interval**exponent
    assert power.contains(member**exponent)
    assert abs(interval).contains(abs(member))
    assert abs(interval).lower >= 0
    if exponent % 2 == 0:
        assert power.lower >= 0
    if not interval.contains(0):
        assert (interval**-exponent).contains(Fraction(1) / member**exponent)


@given(st.fractions(min_value=0), st.integers(-400, 400))
def test_square_root_is_enclosed_to_the_stated_relative_width(value, scale) -> None:
    value *= Fraction(2) ** scale
    root = Interval(value).sqrt()
    assert root.lower**2 <= value <= root.upper**2
    assert root.width <= root.lower / 2**SQRT_BITS
    assert Interval(value**2).sqrt().certainly_equal(value)


@given(intervals_with_member(), intervals_with_member())
def test_comparisons_answer_only_what_is_certain(first, second) -> None:
    (left, a), (right, b) = first, second
    between = not left.certainly_different(right) and not (left.is_point and right.is_point)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        corners = {compare(x, y) for x in (left.lower, left.upper, a) for y in (right.lower, right.upper, b)}
        if len(corners) == 2 or (compare in (operator.eq, operator.ne) and between):
            with pytest.raises(UndecidedError, match="undecided"):
                compare(left, right)
        else:
            assert compare(left, right) is corners.pop()
        assert compare(Interval(a), b) is compare(a, Interval(b)) is compare(a, b)


def test_truth_and_three_valued_predicates() -> None:
    assert bool(Interval(1, 2)) is True
    assert bool(Interval(0)) is False
    with pytest.raises(UndecidedError):
        bool(Interval(0, 1))
    assert not Interval(0, 2).certainly_less(1)
    assert not Interval(1, 2).certainly_equal(Interval(1, 2))
    assert Interval(0, 1).certainly_at_most(1)
    assert Interval(0, 1).certainly_different(1.5)


def test_floats_are_taken_at_their_exact_value() -> None:
    assert Interval(0.1).lower == Fraction(0.1)
    assert Interval(0.1) + 0.2 == Fraction(0.1) + Fraction(0.2)
    assert 1 - Interval(0.25) == Fraction(3, 4)
    assert 1 / Interval(3) == Fraction(1, 3)
    assert float(Interval(2).sqrt().midpoint) == math.sqrt(2)


def test_display_reaches_beyond_the_floats() -> None:
    assert repr(Interval(1, 2)) == "Interval(1, 2)"
    assert str(Interval(Fraction(1, 3))) == "1/3"
    assert str(Interval(2).sqrt()).startswith("1.4142135623730950 (± ")
    assert str(Interval(10**800 + 1).sqrt() * 10**400).startswith("1.0000000000000000e+800 (± ")


def test_intervals_are_immutable_unhashable_and_pickle() -> None:
    interval = Interval(1, 2)
    with pytest.raises(AttributeError, match="immutable"):
        interval.lower = Fraction(0)
    with pytest.raises(TypeError):
        hash(interval)
    copy = pickle.loads(pickle.dumps(interval))
    assert (copy.lower, copy.upper) == (1, 2)


@pytest.mark.parametrize("ends", [(math.nan,), (1, math.inf), (2, 1)])
def test_bad_endpoints_are_refused(ends) -> None:
    with pytest.raises(InputError):
        Interval(*ends)


def test_square_root_of_a_possibly_negative_number_is_refused() -> None:
    with pytest.raises(UndecidedError, match="may be negative"):
        Interval(-1, 4).sqrt()


def test_other_types_are_refused_by_the_operators() -> None:
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.ge):
        with pytest.raises(TypeError):
            operation(Interval(1), "2")
    assert Interval(1) != "1"
