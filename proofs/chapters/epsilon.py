"""Epsilon: with ε > 0 outputs lie inside the sphere, and how deep is a matter of σ²/ε."""

from collections.abc import Callable
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import deviation, variance


def length(x: Any, eps: Any) -> Any:
    """‖LN_ε(x)‖²."""
    return sy.square_norm(lg.standardize(x, eps=eps))


def _scaled_root(goal: sy.Formula, given: list[sy.Proved], x: Any, a: Any, eps: Any) -> sy.Proved:
    positive, nonnegative = given
    v = variance(x)
    inside = v + eps / (a * a)
    u = a * sy.root(inside)
    above = sy.prove(sy.at_least(u), positive)
    squared = sy.prove(sy.equal(u * u, a * a * v + eps), positive, nonnegative)
    same = sy.root_of_square(a * a * v + eps, above, squared)
    return sy.prove(goal, (same, sy.root(a * a * v + eps)), positive, nonnegative)


def _gauge(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    u = sy.root(sy.dim(x)) * lg.epsilon.gauge(x, eps=eps)
    squared = sy.prove(sy.equal(u * u, length(x, eps)), *given)
    same = sy.root_of_square(length(x, eps), sy.prove(sy.at_least(u), *given), squared)
    return sy.prove(goal, (same, sy.norm(lg.standardize(x, eps=eps))))


def _decreasing(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any, c: Any) -> sy.Proved:
    positive = sy.prove(sy.greater(c), *given, sy.add(given[1], given[2]))
    v = variance(x)
    i, j = 1 / (v + eps), 1 / (v + c)
    whole = sy.multiply(given[2], sy.prove(sy.greater(sy.dim(x) * v * i * j), *given, positive))
    one = sy.inverse(sy.prove(sy.greater(v + eps), *given))
    other = sy.inverse(sy.prove(sy.greater(v + c), *given, positive))
    # i − j = (c − ε)ij, from (v + ε)i = 1 and (v + c)j = 1.
    fractions = sy.combine(i - j - (c - eps) * i * j, [(-i, None, other), (j, None, one)])
    same = sy.prove(sy.equal(goal.term, whole.conclusion.term), (fractions, c * i * j), *given, positive)
    return sy.transport(goal.term, same, whole)


def _increasing(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any, eps: Any) -> sy.Proved:
    positive, larger = given
    v, v2 = variance(x), variance(x2)
    factor = sy.prove(sy.greater(sy.dim(x) * eps / (v + eps) / (v2 + eps)), positive)
    whole = sy.multiply(larger, factor)
    return sy.transport(goal.term, sy.prove(sy.equal(goal.term, whole.conclusion.term), positive), whole)


def mismatch(x: Any, outside: Any, inside: Any) -> Any:
    """(σ + ε_out)² − (σ² + ε_in): how far the two denominators are from each other."""
    v = variance(x)
    return lg.norms.scale(v, eps=outside, placement="outside") ** 2 - lg.norms.scale(v, eps=inside) ** 2


def _conjugate(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    """(s − σ)(s + σ) = ε for s = √(σ² + ε), divided by s + σ."""
    sigma, s = deviation(x), sy.root(variance(x) + eps)
    above = sy.prove(sy.greater(s + sigma), *given)
    one = sy.inverse(above)
    product = sy.prove(sy.equal((s - sigma) * (s + sigma), eps), *given)
    return sy.combine(goal.term, [(1 / (s + sigma), None, product), (sigma - s, None, one)])


def _no_constant(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any, eps: Any, c: Any) -> sy.Proved:
    outside, inside, different = given
    product = sy.multiply(sy.multiply(sy.constant(2, "!="), outside), different)
    same = sy.prove(sy.equal(goal.term, product.conclusion.term), inside)
    return sy.transport(goal.term, same, product)


def _standard(x: Any, eps: Any) -> Any:
    return lg.standardize(x, eps=eps, placement="outside")


def _sphere(x: Any, eps: Any) -> Any:
    return lg.rms_norm(x, eps=eps, placement="outside")


def _quotient(v: Any, given: list[sy.Proved], eps: Any) -> sy.Proved:
    """(‖v‖ + ε√d)/(‖v‖/√d + ε) = √d, where ‖v‖/√d is written √(‖v‖²/d)."""
    mean_root = sy.root(sy.square_norm(v) / sy.dim(v))
    law = sy.inverse(sy.prove(sy.greater(mean_root + eps), *given))
    same = sy.prove(sy.equal(sy.norm(v), sy.root(sy.dim(v)) * mean_root), *given)
    share = 1 / (mean_root + eps)
    return sy.combine(
        (sy.norm(v) + eps * sy.root(sy.dim(v))) * share - sy.root(sy.dim(v)),
        [(share, None, same), (sy.root(sy.dim(v)), None, law)],
    )


def _steps(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    return sy.combine(goal.term, [(lg.project(x), None, _quotient(lg.project(x), given, eps))])


def _length(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    quotient = _quotient(x, given, eps)
    root_d = sy.square_of_root(sy.prove(sy.greater(sy.dim(x))))
    factor = quotient.conclusion.term + 2 * sy.root(sy.dim(x))
    return sy.combine(goal.term, [(sy.square_norm(x) * factor, None, quotient), (sy.square_norm(x), None, root_d)])


def _between(
    goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any, factor: Callable[[Any, Any], Any]
) -> sy.Proved:
    """The claim is (s − σ)² times a positive factor, s = √(σ² + ε)."""
    sigma, s = deviation(x), sy.root(variance(x) + eps)
    positive = sy.prove(sy.greater(factor(sigma, s)), *given)
    whole = sy.multiply(sy.square(s - sigma), sy.weaken(positive, ">="))
    return sy.transport(goal.term, sy.prove(sy.equal(goal.term, whole.conclusion.term), *given), whole)


def _upper(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    return _between(goal, given, x, eps, lambda sigma, s: (s + 2 * sigma) / (2 * sigma * sigma * s))


def _lower(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    return _between(goal, given, x, eps, lambda sigma, s: 1 / (2 * s * s))


THEOREMS = read(__name__)
