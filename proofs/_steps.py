"""Steps that many proofs share: sums of nonnegative terms, products of signs, squares."""

from __future__ import annotations

import functools
from typing import Any

from lngeom.symbolic import (
    Formula,
    ProofError,
    Theorem,
    add,
    equal,
    multiply,
    prove,
    square,
    total,
    transport,
    weaken,
)


def sum_of_squares(v: Any) -> Theorem:
    """‖v‖² ≥ 0."""
    return total(square(v))


def product(*signs: Theorem) -> Theorem:
    """The product of terms of known sign has the sign."""
    return functools.reduce(multiply, signs)


def as_sum(goal: Formula, parts: list[Theorem], *facts: Any) -> Theorem:
    """An inequality whose left side equals a sum of terms of known sign, by the facts."""
    whole = functools.reduce(add, parts)
    if goal.relation == ">=" and whole.conclusion.relation == ">":
        whole = weaken(whole, ">=")
    if goal.relation != whole.conclusion.relation:
        msg = f"the sum reads {whole.conclusion.relation} 0, the goal {goal.relation} 0"
        raise ProofError(msg)
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), *facts), whole)
