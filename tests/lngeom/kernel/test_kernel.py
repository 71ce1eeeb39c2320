"""Audit of the rules: each preserves truth in random models, keeps its hypotheses, and refuses what it must."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from lngeom import kernel as sy
from lngeom.carriers import UndecidedError
from lngeom.kernel import ProofError, _rules

from .attempts import KEPT, MISUSED

X, Y, W, A = sy.vector("x"), sy.vector("y"), sy.vector("w"), sy.scalar("a")


def draw(random: Random, n: int) -> dict[str, Any]:
    def number() -> Fraction:
        return Fraction(random.choice((-2, -1, 0, 0, 1, 1, 2, 3, 4)), random.choice((1, 1, 4)))

    vectors = {name: tuple(number() for _ in range(n)) for name in ("x", "y", "w")}
    return vectors | {"a": number()}


def some_term(random: Random, depth: int = 2) -> sy.Term:
    """A random term; squares and constants often, so that hypotheses about it are often true."""
    if depth == 0:
        return random.choice([X, Y, X, Y, A, sy.d, sy.term(1), sy.term(-1), sy.S(X)])
    p, q = some_term(random, depth - 1), some_term(random, depth - 1)
    return random.choice([p + q, p - q, p * q, p * p, p * p + q * q, sy.S(p * q), sy.S(p), p])


def rule_instances(random: Random) -> list[sy.Proved]:
    """One instance of every rule, with random terms and assumptions that models can meet."""
    t, u, v = (some_term(random) for _ in range(3))
    sign = random.choice((">", ">=", "!="))
    strict = random.choice((">", "!="))
    weak = random.choice((">", ">="))
    # w is a free vector: the assumption w − t = 0 has models with any t.
    known, zero = sy.assume(sy.equal(W, t)), sy.assume(sy.equal(W, 0))
    made: list[Callable[[], sy.Proved]] = [
        lambda: sy.assume(sy.Formula(t, sign)),
        lambda: sy.constant(random.randint(1, 3), sign),
        sy.dimension,
        lambda: sy.combine(u * (W - t) + v * sy.S(Y * (W - t)), [(u, None, known), (v, Y, known)]),
        lambda: sy.cancel(W, sy.assume(sy.equal(W * t, 0)), sy.assume(sy.Formula(t, strict))),
        lambda: sy.inverse(sy.assume(sy.Formula(t, strict))),
        lambda: sy.inverse_total(t),
        lambda: sy.inverse_sign(sy.assume(sy.Formula(t, sign))),
        lambda: sy.inverse_sign(zero),
        lambda: sy.square_of_root(sy.assume(sy.Formula(t, weak))),
        lambda: sy.root_nonnegative(t),
        lambda: sy.root_positive(sy.assume(sy.greater(t))),
        lambda: sy.root_of_square(W, sy.assume(sy.Formula(u, weak)), sy.assume(sy.equal(u * u, W))),
        lambda: sy.congruence(random.choice(("inv", "sqrt")), W, t, known),
        lambda: sy.square(t),
        lambda: sy.add(sy.assume(sy.Formula(t, weak)), sy.assume(sy.Formula(u, random.choice((">", ">="))))),
        lambda: sy.multiply(sy.assume(sy.Formula(t, weak)), sy.assume(sy.Formula(u, random.choice((">", ">="))))),
        lambda: sy.multiply(sy.assume(sy.Formula(t, strict)), sy.assume(sy.Formula(u, random.choice((">", "!="))))),
        lambda: sy.weaken(sy.assume(sy.greater(t)), random.choice((">=", "!="))),
        lambda: sy.weaken(zero, ">="),
        lambda: sy.strengthen(sy.assume(sy.at_least(t)), sy.assume(sy.unequal(t))),
        lambda: sy.total(sy.assume(sy.Formula(t, weak))),
        lambda: sy.definite(W, sy.assume(sy.equal(sy.S(W * W), 0))),
        lambda: sy.transport(W, known, sy.assume(sy.Formula(t, sign))),
        lambda: sy.cut(known, sy.assume(sy.equal(W, t))),
        lambda: sy.instantiate(sy.square(X - Y), {X: t, Y: u}),
        lambda: sy.instantiate(sy.assume(sy.Formula(X * A, sign)), {X: t, A: sy.S(u)}),
    ]
    return [make() for make in made]


def models(theorem: sy.Proved, random: Random) -> list[tuple[int, dict[str, Any]]]:
    """Models of the hypotheses; an assumption about w is met by choosing w."""
    met = []
    for n in (1, 2, 4):
        for _ in range(2):
            values = draw(random, n)
            for t, relation in theorem.hypotheses:
                left = t - W
                if relation == "=" and "'w'" not in repr(left.pairs):
                    values["w"] = tuple(-value for value in sy.evaluate(left, values, n))
                elif relation == "=" and "'w'" not in repr((t + W).pairs):
                    values["w"] = tuple(sy.evaluate(t + W, values, n))
            if all(sy.holds(formula, values, n) for formula in theorem.hypotheses):
                met.append((n, values))
    return met


@settings(max_examples=30)  # each example has an instance of every rule and six models of each
@given(st.integers(0, 10**9))
def test_every_rule_preserves_truth(seed: int) -> None:
    random = Random(seed)
    for theorem in rule_instances(random):
        for n, values in models(theorem, random):
            try:
                truth = sy.holds(theorem.conclusion, values, n)
            except UndecidedError:
                continue
            assert truth is not False, (theorem, n, values)


def test_the_audit_meets_every_rule_in_models() -> None:
    """The models are not vacuous: each rule's hypotheses were met, and its conclusion decided true."""
    met: set[str] = set()
    for seed in range(30):
        random = Random(seed)
        for theorem in rule_instances(random):
            satisfying = models(theorem, random)
            if any(sy.holds(theorem.conclusion, values, n) for n, values in satisfying):
                met.add(theorem.rule)
    made = [name for name, f in vars(_rules).items() if getattr(f, "__annotations__", {}).get("return") == "Proved"]
    assert met == {name for name in made if not name.startswith("_")}


@pytest.mark.parametrize("name", MISUSED)
def test_a_rule_that_does_not_apply_is_refused(name: str) -> None:
    with pytest.raises((ProofError, IndexError)):
        MISUSED[name]()


@pytest.mark.parametrize("rule", KEPT)
def test_rules_keep_their_hypotheses(rule: str) -> None:
    attempt, hypotheses, conclusion = KEPT[rule]
    proof = attempt()
    assert proof.hypotheses == {sy.Formula(*hypothesis) for hypothesis in hypotheses}
    assert proof.conclusion == sy.Formula(*conclusion)
