"""Jacobian: the derivative of LayerNorm, its spectrum, its norm, and the bounds that do not hold."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import variance
from .._steps import as_sum, product, sum_of_squares
from ..checks import draw_scalar, draw_vector


def standardized(x: Any, eps: Any) -> Any:
    """Πx/√(σ² + ε)."""
    return lg.standardize(x, eps=eps)


def denominator(x: Any, eps: Any) -> Any:
    """√(σ² + ε)."""
    return lg.norms.scale(variance(x), eps=eps)


def _layer(g: Any, b: Any, eps: Any) -> Callable[[Any], Any]:
    return lambda x: lg.layer_norm(x, g, b, eps=eps)


def _tangential_square(x: Any, v: Any, eps: Any) -> sy.Proved:
    """‖Πv − y(y·v)/d‖² ≥ 0."""
    y = standardized(x, eps)
    return sum_of_squares(lg.project(v) - y * sy.dot(y, v) / sy.dim(x))


def _positive(goal: sy.Formula, given: list[sy.Proved], x: Any, v: Any, eps: Any) -> sy.Proved:
    """v·Jv = ‖Πv − y(y·v)/d‖²/s + ε(y·v)²/(d s³), because ‖y‖²/d = 1 − ε/s²."""
    defined, not_negative = given
    inverse = sy.prove(sy.greater(1 / denominator(x, eps)), defined)
    along = product(not_negative, sy.square(sy.dot(standardized(x, eps), v)), inverse, inverse, inverse)
    parts = [product(_tangential_square(x, v, eps), inverse), product(along, sy.prove(sy.greater(1 / sy.dim(x))))]
    return as_sum(goal, parts, defined)


def _off(x: Any, v: Any) -> dict[str, Any]:
    """`v` made orthogonal to 1 and to x, exactly."""
    d = len(x)
    mean = sum(x) / d
    u = [value - mean for value in x]
    square = sum(value * value for value in u)
    shift = sum(v) / d
    along = sum(a * b for a, b in zip(u, v, strict=True)) / square if square else 0
    return {"x": tuple(x), "v": tuple(b - shift - along * a for a, b in zip(u, v, strict=True))}


def orthogonal_model(random: Random, d: int) -> dict[str, Any]:
    """A vector v orthogonal to 1 and to x."""
    return _off(draw_vector(random, d), draw_vector(random, d)) | {"eps": abs(draw_scalar(random))}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A constant vector x, and arbitrary others."""
    return {
        "x": draw_vector(random, d)[:1] * d,
        "v": draw_vector(random, d),
        "g": draw_vector(random, d),
        "eps": abs(draw_scalar(random)),
    }


def _norm_at_zero(goal: sy.Formula, varies: sy.Proved, x: Any, v: Any) -> sy.Proved:
    """d‖v‖² − ‖Πx‖²‖Jv‖² = (1·v)² + (y·v)² at ε = 0."""
    return as_sum(goal, [sy.square(sy.dot(sy.ones(v), v)), sy.square(sy.dot(standardized(x, 0), v))], varies)


def _at_constant(goal: sy.Formula, constant: sy.Proved, x: Any, v: Any, g: Any, eps: Any) -> sy.Proved:
    """With Πx = 0 the variance vanishes, and √(σ² + ε) = √ε as functions of equal arguments."""
    vanishes = sy.combine(variance(x), [(1 / sy.dim(x), x, constant)])
    roots = sy.congruence("sqrt", variance(x) + eps, eps, vanishes)
    inverses = sy.congruence("inv", denominator(x, eps), sy.root(eps), roots)
    # y = Πx/s, and Πx = 0.
    y = sy.combine(standardized(x, eps), [(1 / denominator(x, eps), None, constant)])
    along = sy.dot(standardized(x, eps), v) / sy.dim(x) / denominator(x, eps)
    return sy.combine(goal.term, [(g * lg.project(v), None, inverses), (-g * along, None, y)])


def pair_model(random: Random, d: int) -> dict[str, Any]:
    """Two vectors and a positive ε."""
    return {"x": draw_vector(random, d), "z": draw_vector(random, d), "eps": abs(draw_scalar(random)) or Fraction(1, 2)}


def _defined(x: Any, positive: sy.Proved) -> sy.Proved:
    """σ² + ε > 0."""
    return sy.prove(sy.greater(variance(x) + positive.conclusion.term), positive)


def _cocoercive(goal: sy.Formula, given: list[sy.Proved], x: Any, z: Any, eps: Any) -> sy.Proved:
    """(y − y′)·(x − x′) − ½(s + s′)‖y − y′‖² = ½dε(s − s′)²(s + s′)/(s s′)², because ‖y‖² = d(1 − ε/s²)."""
    facts = [_defined(x, given[0]), _defined(z, given[0])]
    s, t = denominator(x, eps), denominator(z, eps)
    parts = [
        sy.prove(sy.greater(sy.dim(x) / 2)),
        given[0],
        sy.square(s - t),
        sy.prove(sy.greater(s + t), *facts),
        sy.prove(sy.greater(1 / s**2), facts[0]),
        sy.prove(sy.greater(1 / t**2), facts[1]),
    ]
    return as_sum(goal, [product(*parts)], *facts)


def _mean_scale(x: Any, z: Any, eps: Any) -> Any:
    return (denominator(x, eps) + denominator(z, eps)) / 2


THEOREMS = read(__name__)
