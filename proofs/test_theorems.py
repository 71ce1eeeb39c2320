"""Every theorem × {proof, certificate, models, truth, floats, each mutant, each hypothesis}."""

from __future__ import annotations

from collections import Counter

from ._registry import CHAPTERS, theorems
from ._theorem import Mutant, Theorem
from .checks import _check as check


def test_proof_proves_the_claim_from_the_declared_hypotheses(theorem: Theorem) -> None:
    proved = check.check_proof(theorem)
    assert proved.conclusion == theorem.goal()


def test_the_second_checker_confirms_every_step(theorem: Theorem) -> None:
    assert check.check_certificate(theorem) >= 1


def test_hypotheses_have_models(theorem: Theorem) -> None:
    assert check.check_models(theorem) >= 1


def test_claim_is_true_at_exact_models(theorem: Theorem) -> None:
    assert check.check_truth(theorem) >= 1


def test_claim_holds_in_floats_within_the_derived_bound(theorem: Theorem) -> None:
    assert check.check_property(theorem) >= 1


def test_mutant_is_refuted(theorem: Theorem, mutant: Mutant) -> None:
    found = check.check_mutant(theorem, mutant)
    assert found.dimension >= 1


def test_hypothesis_is_necessary_or_marked(theorem: Theorem, hypothesis: str) -> None:
    assert check.check_hypothesis(theorem, hypothesis)


def test_ids_are_unique_and_belong_to_a_chapter() -> None:
    ids = Counter(theorem.id for theorem in theorems())
    assert max(ids.values()) == 1
    assert {theorem.chapter for theorem in theorems()} <= set(CHAPTERS)


def test_a_last_step_and_its_citations_come_together() -> None:
    for theorem in theorems():
        assert not theorem.cites or theorem.last_step, theorem.id
