"""Statements of the field that are false, and must have no proof."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from lngeom.kernel import ProofError, assume, prove, scalar, term, vector
from lngeom.theorems._run import Condition, Wrong
from lngeom.theorems._search import TRIES, Search

from .false_statements import STATEMENTS


@pytest.mark.parametrize("claim", STATEMENTS, ids=lambda claim: inspect.getsource(claim).strip().rstrip(","))
def test_a_false_statement_has_a_counterexample_and_no_proof(claim: Callable[..., Any]) -> None:
    kinds = {name: "vector" if name in "xyzvgh" else "scalar" for name in inspect.signature(claim).parameters}
    goal, *assumed = claim(**{name: (vector if kind == "vector" else scalar)(name) for name, kind in kinds.items()})
    goal = goal._replace(term=term(goal.term))
    with pytest.raises(ProofError):
        prove(goal, *map(assume, assumed))
    given = {str(formula): Condition(str(formula), formula, None, "", None) for formula in assumed}
    variant = Wrong("false", (goal,), given)
    assert Search(kinds, variant).smallest(total=True, tries=TRIES), "is the statement true?"
