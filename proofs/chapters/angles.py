"""Angles: of vectors with the uniform direction, and what such angles can and cannot show."""

from fractions import Fraction
from random import Random
from typing import Any

from lngeom import kernel as sy

from .._records import read
from .._steps import as_sum, product, sum_of_squares
from ..checks import draw_vector


def _cosine(x: Any, b: Any) -> Any:
    return sy.dot(x, b) / (sy.norm(x) * sy.norm(b))


def _length(m: Any, x: Any) -> Any:
    """‖mx‖ for a mask m, for which m² = m."""
    return sy.root(sy.dot(m, x * x))


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


def _all_energy(goal: sy.Formula, given: list[sy.Proved], x: Any, x_: Any) -> sy.Proved:
    """‖x‖² − (1·x)²/d = ‖Πx‖² = 0, and the other vector is −x."""
    constant, opposite = given
    energy = sy.combine(sy.square_norm(x) - sy.dot(sy.ones(x), x) ** 2 / sy.dim(x), [(1, x, constant)])
    return sy.prove(goal, (opposite, x_), (energy, sy.square_norm(x)))


def _group(m: Any, x: Any, facts: list[Any], count: sy.Proved, length: sy.Proved) -> sy.Proved:
    """√k‖mx‖ − m·x ≥ 0 over the k coordinates of a mask m: Σ m(√k x − ‖mx‖)² is twice its product with √k‖mx‖."""
    k, size = sy.dot(m, sy.ones(x)), _length(m, x)
    squares = sum_of_squares(m * (sy.root(k) * x - size))
    inverse = product(sy.prove(sy.greater(1 / sy.root(k) / size), count, length), sy.constant(Fraction(1, 2), ">"))
    return as_sum(sy.at_least(sy.root(k) * size, sy.dot(m, x)), [product(squares, inverse)], count, length, *facts)


def _massive(goal: sy.Formula, given: list[sy.Proved], x: Any, m: Any) -> sy.Proved:
    mask, some, large, more, small = given
    facts = [(mask, m * m)]
    return as_sum(goal, [_group(m, x, facts, some, large), _group(1 - m, x, facts, more, small)])


def _kept_direction(goal: sy.Formula, v: Any, y: Any, m: Any, eps: Any) -> sy.Proved:
    """‖y‖ = ‖v‖/√(m + ε) for y = v/√(m + ε)."""
    u = sy.norm(v) / sy.root(m + eps)
    squared = sy.prove(sy.equal(u * u, sy.square_norm(y)))
    return sy.prove(goal, (sy.root_of_square(sy.square_norm(y), sy.prove(sy.at_least(u)), squared), sy.norm(y)))


def _supported(goal: sy.Formula, given: list[sy.Proved], x: Any, m: Any) -> sy.Proved:
    """k(k‖x‖² − (1·x)²) = ‖kx − (1·x)m‖²."""
    mask, support, count = given
    k = sy.dot(m, sy.ones(x))
    squares = sum_of_squares(k * x - sy.dot(sy.ones(x), x) * m)
    parts = [product(squares, sy.prove(sy.greater(1 / k), count))]
    return as_sum(goal, parts, count, (mask, m * m), (support, m * x))


THEOREMS = read(__name__)
