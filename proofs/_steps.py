"""Steps that many proofs share: sums of nonnegative terms, products of signs, squares."""

from __future__ import annotations

import functools
from typing import Any

from lngeom.symbolic import (
    Formula,
    ProofError,
    Proved,
    add,
    combine,
    congruence,
    equal,
    multiply,
    prove,
    root,
    square,
    square_of_root,
    total,
    transport,
    weaken,
)


def sum_of_squares(v: Any) -> Proved:
    """‖v‖² ≥ 0."""
    return total(square(v))


def product(*signs: Proved) -> Proved:
    """The product of terms of known sign has the sign."""
    return functools.reduce(multiply, signs)


def as_sum(goal: Formula, parts: list[Proved], *facts: Any) -> Proved:
    """An inequality whose left side equals a sum of terms of known sign, by the facts."""
    whole = functools.reduce(add, parts)
    if goal.relation == ">=" and whole.conclusion.relation == ">":
        whole = weaken(whole, ">=")
    if goal.relation != whole.conclusion.relation:
        msg = f"the sum reads {whole.conclusion.relation} 0, the goal {goal.relation} 0"
        raise ProofError(msg)
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), *facts), whole)


def same_divisor(a: Any, b: Any, same: Proved) -> Proved:
    """From a − b = 0: 1/√a − 1/√b = 0."""
    return congruence("inv", root(a), root(b), congruence("sqrt", a, b, same))


def same_radicand(a: Proved, b: Proved, divisors: Proved) -> Proved:
    """From a ≥ 0, b ≥ 0 and 1/√a − 1/√b = 0: a − b = 0."""
    p, q = a.conclusion.term, b.conclusion.term
    roots = congruence("inv", 1 / root(p), 1 / root(q), divisors)
    parts = [(root(p) + root(q), None, roots), (-1, None, square_of_root(a)), (1, None, square_of_root(b))]
    return combine(p - q, parts)
