import math
import operator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from lngeom.carriers import SQRT_BITS, Interval, UndecidedError, ends, stands
from lngeom.errors import InputError

fractions = st.fractions(max_denominator=10**6) | st.sampled_from([Fraction(0), Fraction(1), Fraction(-7, 3)])
SIGNS = {"=": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}


def inside(interval: Interval, value: Any) -> bool:
    low, high = ends(value)
    return interval.lower <= low <= high <= interval.upper


@st.composite
def intervals_with_member(draw: st.DrawFn) -> tuple[Interval, Fraction]:
    ends = sorted([draw(fractions), draw(fractions)])
    weight = draw(st.fractions(0, 1, max_denominator=100))
    return Interval(*ends), ends[0] + weight * (ends[1] - ends[0])


@given(intervals_with_member(), intervals_with_member())
def test_arithmetic_contains_the_result_of_every_member(first, second) -> None:
    (left, a), (right, b) = first, second
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        if operation is operator.truediv and inside(right, 0):
            with pytest.raises(UndecidedError, match="contains 0"):
                operation(left, right)
            continue
        assert inside(operation(left, right), operation(a, b))
        assert inside(operation(left, b), operation(a, b))
        assert ends(operation(Interval(a), b)) == ends(operation(a, Interval(b))) == ends(operation(a, b))


@given(intervals_with_member(), st.integers(0, 5))
def test_powers_and_absolute_value_contain_the_result_and_are_tight(case, exponent) -> None:
    interval, member = case
    assert inside(interval**exponent, member**exponent)
    assert inside(abs(interval), abs(member))
    assert abs(interval).lower >= 0
    if exponent % 2 == 0:
        assert (interval**exponent).lower >= 0
    if not inside(interval, 0):
        assert inside(interval**-exponent, Fraction(1) / member**exponent)


@given(st.fractions(min_value=0), st.integers(-400, 400))
def test_square_root_is_enclosed_to_the_stated_relative_width(value, scale) -> None:
    value *= Fraction(2) ** scale
    root = Interval(value).sqrt()
    assert root.lower**2 <= value <= root.upper**2
    assert root.width <= root.lower / 2**SQRT_BITS
    assert ends(Interval(value**2).sqrt()) == (value, value)


@given(intervals_with_member(), st.sampled_from(list(SIGNS)))
def test_only_what_is_certain_is_said_of_a_sign(case, relation) -> None:
    interval, member = case
    answers = {SIGNS[relation](value, 0) for value in (interval.lower, interval.upper, member)}
    across = relation in ("=", "!=") and inside(interval, 0) and not interval.is_point
    assert stands(interval, relation) is (None if across or len(answers) == 2 else answers.pop())
    assert stands(member, relation) is stands(Interval(member), relation) is SIGNS[relation](member, 0)


def test_display_reaches_beyond_the_floats() -> None:
    assert repr(Interval(1, 2)) == "Interval(1, 2)"
    assert str(Interval(Fraction(1, 3))) == "1/3"
    assert str(Interval(2).sqrt()).startswith("1.4142135623730950 (± ")
    assert str(Interval(10**800 + 1).sqrt() * 10**400).startswith("1.0000000000000000e+800 (± ")


@pytest.mark.parametrize("ends", [(math.nan,), (1, math.inf), (2, 1)])
def test_bad_endpoints_are_refused(ends) -> None:
    with pytest.raises(InputError):
        Interval(*ends)


def test_what_has_no_answer_is_refused() -> None:
    for ask in (Interval(-1, 4).sqrt, lambda: Interval(1) == 1):
        with pytest.raises(UndecidedError, match="may be"):
            ask()
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(TypeError):
            operation(Interval(1), "2")
