"""Audit of the rules: each keeps its hypotheses, preserves truth in small models, and refuses what it must."""

from itertools import product

import pytest

from lngeom import kernel as sy
from lngeom.kernel import ProofError, _rules

from .attempts import KEPT, MISUSED


@pytest.mark.parametrize("name", MISUSED)
def test_a_rule_that_does_not_apply_is_refused(name: str) -> None:
    with pytest.raises((ProofError, IndexError)):
        MISUSED[name]()


def rules_of(proof: sy.Proved) -> set[str]:
    return {proof.rule}.union(*(rules_of(premise) for premise in proof.premises))


def test_the_audit_meets_every_rule() -> None:
    made = [name for name, f in vars(_rules).items() if getattr(f, "__annotations__", {}).get("return") == "Proved"]
    assert set.union(*(rules_of(attempt()) for attempt, _, _ in KEPT.values())) == {
        name for name in made if not name.startswith("_")
    }


@pytest.mark.parametrize("rule", KEPT)
def test_rules_keep_their_hypotheses_and_preserve_truth(rule: str) -> None:
    attempt, hypotheses, conclusion = KEPT[rule]
    proof = attempt()
    assert proof.hypotheses == {sy.Formula(*hypothesis) for hypothesis in hypotheses}
    assert proof.conclusion == sy.Formula(*conclusion)
    truths = set()
    for n, a in product((1, 2), (-1, 0, 1)):
        for x, y in product(product((-2, 0, 2, 4), repeat=n), repeat=2):
            values = {"x": x, "y": y, "w": x[::-1], "a": a}
            if all(sy.holds(formula, values, n) for formula in proof.hypotheses):
                truths.add(sy.holds(proof.conclusion, values, n))
    assert True in truths
    assert False not in truths
