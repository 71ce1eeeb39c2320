"""Angles: of vectors with the uniform direction, and what such angles can and cannot show."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from lngeom.symbolic import (
    Formula,
    Proved,
    at_least,
    combine,
    constant,
    dim,
    dot,
    equal,
    greater,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square_norm,
)

from .._records import read
from .._steps import as_sum, product, sum_of_squares
from ..checks import draw_vector


def _cosine(x: Any, b: Any) -> Any:
    return dot(x, b) / (norm(x) * norm(b))


def _length(m: Any, x: Any) -> Any:
    """‖mx‖ for a mask m, for which m² = m."""
    return root(dot(m, x * x))


def mask_model(random: Random, d: int) -> dict[str, Any]:
    """A 0-1 mask of some coordinates, and a vector."""
    mask = [Fraction(random.randint(0, 1)) for _ in range(d)]
    return {"x": draw_vector(random, d), "m": tuple(mask)}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A constant vector."""
    return {"x": draw_vector(random, d)[:1] * d}


def opposite_constant_model(random: Random, d: int) -> dict[str, Any]:
    """Two opposite constant vectors."""
    x = constant_model(random, d)["x"]
    return {"x": x, "x_": tuple(-value for value in x)}


def opposite_model(random: Random, d: int) -> dict[str, Any]:
    """Two opposite vectors."""
    x = draw_vector(random, d)
    return {"x": x, "x_": tuple(-value for value in x)}


def _all_energy(goal: Formula, given: list[Proved], x: Any, x_: Any) -> Proved:
    """‖x‖² − (1·x)²/d = ‖Πx‖² = 0, and the other vector is −x."""
    constant, opposite = given
    energy = combine(square_norm(x) - dot(ones(x), x) ** 2 / dim(x), [(1, x, constant)])
    return prove(goal, (opposite, x_), (energy, square_norm(x)))


def _group(m: Any, x: Any, facts: list[Any], count: Proved, length: Proved) -> Proved:
    """√k‖mx‖ − m·x ≥ 0 over the k coordinates of a mask m: Σ m(√k x − ‖mx‖)² is twice its product with √k‖mx‖."""
    k, size = dot(m, ones(x)), _length(m, x)
    squares = sum_of_squares(m * (root(k) * x - size))
    inverse = product(prove(greater(1 / root(k) / size), count, length), constant(Fraction(1, 2), ">"))
    return as_sum(at_least(root(k) * size, dot(m, x)), [product(squares, inverse)], count, length, *facts)


def _massive(goal: Formula, given: list[Proved], x: Any, m: Any) -> Proved:
    mask, some, large, more, small = given
    facts = [(mask, m * m)]
    return as_sum(goal, [_group(m, x, facts, some, large), _group(1 - m, x, facts, more, small)])


def _kept_direction(goal: Formula, v: Any, y: Any, m: Any, eps: Any) -> Proved:
    """‖y‖ = ‖v‖/√(m + ε) for y = v/√(m + ε)."""
    u = norm(v) / root(m + eps)
    squared = prove(equal(u * u, square_norm(y)))
    return prove(goal, (root_of_square(square_norm(y), prove(at_least(u)), squared), norm(y)))


def _supported(goal: Formula, given: list[Proved], x: Any, m: Any) -> Proved:
    """k(k‖x‖² − (1·x)²) = ‖kx − (1·x)m‖²."""
    mask, support, count = given
    k = dot(m, ones(x))
    squares = sum_of_squares(k * x - dot(ones(x), x) * m)
    parts = [product(squares, prove(greater(1 / k), count))]
    return as_sum(goal, parts, count, (mask, m * m), (support, m * x))


THEOREMS = read(__name__)
