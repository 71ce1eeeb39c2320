"""Projection: mean subtraction is the orthogonal projector Π = I − 11ᵀ/d off the uniform vector."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from ..checks import draw_vector


def unit(x: Any) -> Any:
    """Unit vector 1̂ = 1/√d in the direction of 1."""
    return sy.ones(x) / sy.root(sy.dim(x))


def without_divisor(x: Any) -> Any:
    """(I − 11ᵀ)x, the projector without its divisor."""
    return x - sy.dot(sy.ones(x), x) * sy.ones(x)


def with_sample_divisor(x: Any) -> Any:
    """(I − 11ᵀ/(d − 1))x, written for d other than 1 by its defining product."""
    return x - sy.dot(sy.ones(x), x) * sy.ones(x) / (sy.dim(x) - 1)


def centered_model(random: Random, d: int) -> dict[str, Any]:
    """A vector orthogonal to 1: differences of neighbours, around a circle."""
    x = draw_vector(random, d)
    return {"x": tuple(a - b for a, b in zip(x, x[1:] + x[:1], strict=True))}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A vector of equal components."""
    return {"x": draw_vector(random, d)[:1] * d}


def equivariant_model(random: Random, d: int) -> dict[str, Any]:
    """Operators aI + c11ᵀ that are a projector of rank d − 1, or are one but for a single condition."""
    n = Fraction(d)
    pairs = [(Fraction(1), -1 / n), (Fraction(0), 1 - 1 / n)]
    if d > 1:
        pairs.append(((n - 2) / (n - 1), 1 / (n * (n - 1))))
    a, c = random.choice(pairs)
    w = random.choice((centered_model(random, d)["x"], (Fraction(1),) * d, (Fraction(0),) * d))
    return {"x": draw_vector(random, d), "w": w, "a": a, "c": c}


def _vanishing(goal: sy.Formula, given: list[sy.Proved], x: Any) -> sy.Proved:
    zero = sy.prove(sy.equal(sy.square_norm(lg.project(x)), 0), *given)
    return sy.prove(goal, sy.definite(lg.project(x), zero))


def _equivariant(a: Any, c: Any) -> Callable[[Any], Any]:
    """AI + c11ᵀ, the general operator that commutes with all permutations of the coordinates."""
    return lambda v: a * v + c * sy.summed(v)


def _only_projector(goal: sy.Formula, given: list[sy.Proved], x: Any, w: Any, a: Any, c: Any) -> sy.Proved:
    idempotent_off, idempotent_on, rank, centered, nonzero, dimension = given
    # On w ⟂ 1 the operator is multiplication by a, hence a² = a.
    along = sy.prove(sy.equal((a * a - a) * sy.square_norm(w), 0), (idempotent_off, a * a * w), centered)
    a_squared = sy.cancel(a * a - a, along, nonzero)
    d = sy.dim(x)
    # With c = (d − 1)/d − a the equation on 1 becomes (1 − a)(d − 1)(d − 2) = 0.
    c_known = sy.prove(sy.equal(c, (d - 1) / d - a), (rank, c))
    left = idempotent_on.conclusion.term
    factored = (1 - a) * ((d - 1) * (d - 2))
    same = sy.prove(sy.equal(left, factored), (c_known, c), (a_squared, a * a))
    product = sy.combine(factored, [(1, None, idempotent_on), (-1, None, same)])
    above = sy.prove(sy.greater((d - 1) * (d - 2)), dimension)
    one = sy.cancel(1 - a, product, above)
    return sy.prove(goal, (one, a), (c_known, c))


THEOREMS = read(__name__)
