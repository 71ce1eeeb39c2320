"""Epsilon: with ε > 0 outputs lie inside the sphere, and how deep is a matter of σ²/ε."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Proved,
    add,
    at_least,
    combine,
    constant,
    dim,
    equal,
    greater,
    inverse,
    multiply,
    norm,
    prove,
    root,
    root_of_square,
    square,
    square_norm,
    square_of_root,
    transport,
    weaken,
)

from .._records import read
from .._shared import deviation, variance


def length(x: Any, eps: Any) -> Any:
    """‖LN_ε(x)‖²."""
    return square_norm(lg.standardize(x, eps=eps))


def _scaled_root(goal: Formula, given: list[Proved], x: Any, a: Any, eps: Any) -> Proved:
    positive, nonnegative = given
    v = variance(x)
    inside = v + eps / (a * a)
    u = a * root(inside)
    above = prove(at_least(u), positive)
    squared = prove(equal(u * u, a * a * v + eps), positive, nonnegative)
    same = root_of_square(a * a * v + eps, above, squared)
    return prove(goal, (same, root(a * a * v + eps)), positive, nonnegative)


def _gauge(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    u = root(dim(x)) * lg.gauge(x, eps=eps)
    squared = prove(equal(u * u, length(x, eps)), *given)
    same = root_of_square(length(x, eps), prove(at_least(u), *given), squared)
    return prove(goal, (same, norm(lg.standardize(x, eps=eps))))


def _decreasing(goal: Formula, given: list[Proved], x: Any, eps: Any, c: Any) -> Proved:
    positive = prove(greater(c), *given, add(given[1], given[2]))
    v = variance(x)
    i, j = 1 / (v + eps), 1 / (v + c)
    whole = multiply(given[2], prove(greater(dim(x) * v * i * j), *given, positive))
    one = inverse(prove(greater(v + eps), *given))
    other = inverse(prove(greater(v + c), *given, positive))
    # i − j = (c − ε)ij, from (v + ε)i = 1 and (v + c)j = 1.
    fractions = combine(i - j - (c - eps) * i * j, [(-i, None, other), (j, None, one)])
    same = prove(equal(goal.term, whole.conclusion.term), (fractions, c * i * j), *given, positive)
    return transport(goal.term, same, whole)


def _increasing(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any) -> Proved:
    positive, larger = given
    v, v2 = variance(x), variance(x2)
    factor = prove(greater(dim(x) * eps / (v + eps) / (v2 + eps)), positive)
    whole = multiply(larger, factor)
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), positive), whole)


def mismatch(x: Any, outside: Any, inside: Any) -> Any:
    """(σ + ε_out)² − (σ² + ε_in): how far the two denominators are from each other."""
    v = variance(x)
    return lg.scale(v, eps=outside, placement="outside") ** 2 - lg.scale(v, eps=inside) ** 2


def _conjugate(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """(s − σ)(s + σ) = ε for s = √(σ² + ε), divided by s + σ."""
    sigma, s = deviation(x), root(variance(x) + eps)
    above = prove(greater(s + sigma), *given)
    one = inverse(above)
    product = prove(equal((s - sigma) * (s + sigma), eps), *given)
    return combine(goal.term, [(1 / (s + sigma), None, product), (sigma - s, None, one)])


def _no_constant(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any, c: Any) -> Proved:
    outside, inside, different = given
    product = multiply(multiply(constant(2, "!="), outside), different)
    same = prove(equal(goal.term, product.conclusion.term), inside)
    return transport(goal.term, same, product)


def _standard(x: Any, eps: Any) -> Any:
    return lg.standardize(x, eps=eps, placement="outside")


def _sphere(x: Any, eps: Any) -> Any:
    return lg.rms_norm(x, eps=eps, placement="outside")


def _quotient(v: Any, given: list[Proved], eps: Any) -> Proved:
    """(‖v‖ + ε√d)/(‖v‖/√d + ε) = √d, where ‖v‖/√d is written √(‖v‖²/d)."""
    mean_root = root(square_norm(v) / dim(v))
    law = inverse(prove(greater(mean_root + eps), *given))
    same = prove(equal(norm(v), root(dim(v)) * mean_root), *given)
    share = 1 / (mean_root + eps)
    return combine(
        (norm(v) + eps * root(dim(v))) * share - root(dim(v)), [(share, None, same), (root(dim(v)), None, law)]
    )


def _steps(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return combine(goal.term, [(lg.project(x), None, _quotient(lg.project(x), given, eps))])


def _length(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    quotient = _quotient(x, given, eps)
    root_d = square_of_root(prove(greater(dim(x))))
    factor = quotient.conclusion.term + 2 * root(dim(x))
    return combine(goal.term, [(square_norm(x) * factor, None, quotient), (square_norm(x), None, root_d)])


def _between(goal: Formula, given: list[Proved], x: Any, eps: Any, factor: Callable[[Any, Any], Any]) -> Proved:
    """The claim is (s − σ)² times a positive factor, s = √(σ² + ε)."""
    sigma, s = deviation(x), root(variance(x) + eps)
    positive = prove(greater(factor(sigma, s)), *given)
    whole = multiply(square(s - sigma), weaken(positive, ">="))
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), *given), whole)


def _upper(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: (s + 2 * sigma) / (2 * sigma * sigma * s))


def _lower(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: 1 / (2 * s * s))


THEOREMS = read(__name__)
