import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import lngeom as lg
from lngeom.carriers import Enclosure, Interval, UndecidedError
from lngeom.errors import InputError

floats = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(-(2.0**60), 2.0**60)
vectors = st.lists(small, min_size=1, max_size=12)


def signed_square(value: Fraction) -> Fraction:
    return value * abs(value)


def exact_signed_square(x: list[float], eps: float, *, centered: bool) -> list[Fraction] | None:
    """y|y| for the standardized vector y: rational, unlike y itself."""
    values = [Fraction(value) for value in x]
    mean = sum(values, Fraction(0)) / len(values) if centered else Fraction(0)
    deviations = [value - mean for value in values]
    denominator = sum((value * value for value in deviations), Fraction(eps) * len(values)) / len(values)
    return [signed_square(value) / denominator for value in deviations] if denominator else None


@pytest.mark.parametrize("norm", [lg.layer_norm, lg.rms_norm])
@given(x=st.lists(floats, min_size=1, max_size=9), eps=st.sampled_from([0.0, 5e-324, 1e-12, 1e-5, 1e300]))
@example(x=[1.0], eps=0.0)
@example(x=[1e308, -1e308, 5e-324], eps=0.0)
@example(x=[5e-324, 0.0], eps=0.0)
@example(x=[1e16, 1e16 + 2], eps=1e-5)
@example(x=[0.0, 0.0, 1.0], eps=1e-12)
def test_norms_enclose_the_exact_value_narrowly(norm, x, eps) -> None:
    expected = exact_signed_square(x, eps, centered=norm is lg.layer_norm)
    if expected is None:
        with pytest.raises(UndecidedError, match="eps > 0"):
            norm(Enclosure(x), eps=eps)
        return
    for entry, square in zip(norm(Enclosure(x), eps=eps), expected, strict=True):
        assert signed_square(entry.lower) <= square <= signed_square(entry.upper)
        assert entry.width <= entry.magnitude / 2**158


def test_an_exact_root_stays_exact() -> None:
    y = lg.standardize(Enclosure([-2.0, 2.0]), eps=0)
    assert y.is_exact
    assert [entry.lower for entry in y] == [-1, 1]
    thirds = Enclosure([Fraction(1, 9), Fraction(4, 9)])
    assert [root.lower for root in thirds.__array_namespace__().sqrt(thirds)] == [Fraction(1, 3), Fraction(2, 3)]


def test_scalars_broadcast_and_absolute_values_fold() -> None:
    x = Enclosure(np.array([1.0, -2.0], dtype=np.float32))
    assert [entry.lower for entry in (1 - x) * 2] == [0, 6]
    assert [entry.lower for entry in 2 / x] == [2, -1]
    assert [entry.lower for entry in x**3] == [1, -8]
    assert [entry.lower for entry in x**-2] == [1, Fraction(1, 4)]
    assert [entry.lower for entry in x**0] == [1, 1]
    assert [entry.lower for entry in abs(x)] == [1, 2]
    across = abs(Enclosure([Interval(-1, 3)]))[0]
    assert (across.lower, across.upper) == (0, 3)
    assert x[..., 1].lower == -2
    assert len(x) == 2
    assert repr(x) == "Enclosure([1, -2], d=2)"


def test_unequal_dimensions_and_foreign_operands_are_refused() -> None:
    with pytest.raises(InputError, match="dimension 2 and 3"):
        lg.layer_norm(Enclosure([1.0, 2.0]), Enclosure([1.0, 2.0, 3.0]), eps=1.0)
    with pytest.raises(TypeError):
        operator.add(Enclosure([1.0]), np.ones(1))
    with pytest.raises(UndecidedError, match="negative"):
        lg.norms.scale(Enclosure([-1.0]), eps=0)
    with pytest.raises(InputError, match="last one"):
        Enclosure([1.0]).__array_namespace__().sum(Enclosure([1.0]), axis=1)
