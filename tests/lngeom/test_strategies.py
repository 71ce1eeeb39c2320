from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from operator import ge, gt, le, lt, ne
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings, strategies as st

from lngeom import strategies
from lngeom.rounding import FORMATS

DIMENSIONS = strategies.dimensions()
DTYPES = st.sampled_from(get_args(strategies.Dtype))
RELATIONS: dict[strategies.Relation, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le, "!=": ne}
KINDS: dict[str, Callable[[Any], bool]] = {
    "small": lambda x: len(set(map(abs, x))) == len(x) and min(x) < 0 < max(x),
    "constant": lambda x: len(set(x)) == 1 and all(x),
    "one-hot": lambda x: sorted(x)[:-1] == [0] * (len(x) - 1) and sum(x) > 0,
    "sparse": lambda x: x.count(0) > 1 and len(set(x)) > 2,
    "tied": lambda x: len(set(x)) == 2 and len(x) > 3,
    "alternating": lambda x: all(a == -b != 0 for a, b in pairwise(x)),
    "centred": lambda x: sum(map(Fraction, x)) == 0 and len(set(map(abs, x))) > 2,
    "massive": lambda x: x[0] > 100 * max(map(abs, x[1:])) > 0,
    "nearly constant": lambda x: 0 < max(x) - min(x) < abs(max(x)) / 100,
}


GENERATED = settings(phases=[Phase.generate], max_examples=2000, database=None)
"""That something is drawn is asked, not what the smallest of it is."""


def inner(x: Any, y: Any) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drawn", [strategies.vectors, strategies.float_vectors])
def test_every_kind_is_drawn(kind: Any, drawn: Callable[..., Any]) -> None:
    find(drawn(4), KINDS[kind], settings=GENERATED)


@pytest.mark.parametrize(
    "size",
    [lambda v, f: 0 < v < f.tiny, lambda v, f: v > f.largest / 8, lambda v, f: f.largest / 8 > v > 2.0 ** (f.high / 3)],
    ids=["subnormal", "huge", "square overflows"],
)
@pytest.mark.parametrize("dtype", FORMATS)
def test_floats_of_every_size_are_drawn(size: Callable[..., bool], dtype: Any) -> None:
    find(strategies.float_vectors(3, dtype=dtype), lambda x: size(max(map(abs, x)), FORMATS[dtype]), settings=GENERATED)


@given(st.data(), DIMENSIONS, DTYPES, st.sampled_from(list(RELATIONS)))
def test_numbers_stand_in_their_relation_and_are_numbers_of_their_format(
    data: st.DataObject, d: int, dtype: strategies.Dtype, relation: strategies.Relation
) -> None:
    exact = (*data.draw(strategies.vectors(d, relation)), data.draw(strategies.scalars(relation)))
    floats = (
        *data.draw(strategies.float_vectors(d, relation, dtype)),
        data.draw(strategies.float_scalars(relation, dtype)),
    )
    assert len(exact) == len(floats) == d + 1
    assert all(RELATIONS[relation](number, 0) for number in exact + floats)
    assert FORMATS[dtype].holds(np.array(floats)).all()


@given(st.data(), DIMENSIONS)
def test_exact_vectors_hold_what_they_promise(data: st.DataObject, d: int) -> None:
    x, y = data.draw(strategies.vectors(d)), data.draw(strategies.vectors(d))
    move, rotate = data.draw(strategies.isometries(d)), data.draw(strategies.isometries(d, fix_mean=True))
    assert inner(move(x), move(y)) == inner(rotate(x), rotate(y)) == inner(x, y)
    assert sum(rotate(x)) == sum(x)
    assert sum(data.draw(strategies.centred(d))) == 0
    assert sum(data.draw(strategies.one_hot(d))) == 1
    assert set(data.draw(strategies.masks(d))) <= {0, 1}
    if d not in (1, 3):
        y = data.draw(strategies.standard(d))
        assert (sum(y), inner(y, y)) == (0, d)


@given(st.data(), DIMENSIONS, st.sampled_from((">", ">=")), st.booleans())
def test_rational_root(data: st.DataObject, d: int, relation: Any, centered: bool) -> None:
    x = data.draw(strategies.vectors(d))
    eps = data.draw(strategies.rational_root(x, relation, centered=centered))
    square = inner(x, x) / d - centered * (sum(x) / d) ** 2 + eps
    assert Fraction(float(square) ** 0.5).limit_denominator(100) ** 2 == square
    assert RELATIONS[relation](eps, 0)
