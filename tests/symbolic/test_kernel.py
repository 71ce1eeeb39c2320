"""Audit of the rules: each preserves truth in random models, and what is recorded cannot be changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import lngeom as lg
from lngeom.carriers import UndecidedError
from lngeom.symbolic import (
    Formula,
    Proved,
    S,
    Term,
    add,
    assume,
    at_least,
    cancel,
    combine,
    congruence,
    constant,
    cut,
    d,
    definite,
    dimension,
    equal,
    greater,
    holds,
    instantiate,
    inverse,
    inverse_sign,
    inverse_total,
    multiply,
    prove,
    root_nonnegative,
    root_of_square,
    root_positive,
    scalar,
    square,
    square_of_root,
    strengthen,
    term,
    total,
    transport,
    unequal,
    vector,
    weaken,
)

X, Y, W, A = vector("x"), vector("y"), vector("w"), scalar("a")
ROOT = Path(__file__).parents[2]


def draw(random: Random, n: int) -> dict[str, Any]:
    def number() -> Fraction:
        return Fraction(random.choice((-2, -1, 0, 0, 1, 1, 2, 3, 4)), random.choice((1, 1, 4)))

    vectors = {name: tuple(number() for _ in range(n)) for name in ("x", "y", "w")}
    return vectors | {"a": number()}


def some_term(random: Random, depth: int = 2) -> Term:
    """A random term; squares and constants often, so that hypotheses about it are often true."""
    if depth == 0:
        return random.choice([X, Y, X, Y, A, d, term(1), term(-1), S(X)])
    p, q = some_term(random, depth - 1), some_term(random, depth - 1)
    return random.choice([p + q, p - q, p * q, p * p, p * p + q * q, S(p * q), S(p), p])


def rule_instances(random: Random) -> list[Proved]:
    """One instance of every rule, with random terms and assumptions that models can meet."""
    t, u, v = (some_term(random) for _ in range(3))
    sign = random.choice((">", ">=", "!="))
    strict = random.choice((">", "!="))
    weak = random.choice((">", ">="))
    # w is a free vector: the assumption w − t = 0 has models with any t.
    known, zero = assume(equal(W, t)), assume(equal(W, 0))
    made: list[Callable[[], Proved]] = [
        lambda: assume(Formula(t, sign)),
        lambda: constant(random.randint(1, 3), sign),
        dimension,
        lambda: combine(u * (W - t) + v * S(Y * (W - t)), [(u, None, known), (v, Y, known)]),
        lambda: cancel(W, assume(equal(W * t, 0)), assume(Formula(t, strict))),
        lambda: inverse(assume(Formula(t, strict))),
        lambda: inverse_total(t),
        lambda: inverse_sign(assume(Formula(t, sign))),
        lambda: inverse_sign(zero),
        lambda: square_of_root(assume(Formula(t, weak))),
        lambda: root_nonnegative(t),
        lambda: root_positive(assume(greater(t))),
        lambda: root_of_square(W, assume(Formula(u, weak)), assume(equal(u * u, W))),
        lambda: congruence(random.choice(("inv", "sqrt")), W, t, known),
        lambda: square(t),
        lambda: add(assume(Formula(t, weak)), assume(Formula(u, random.choice((">", ">="))))),
        lambda: multiply(assume(Formula(t, weak)), assume(Formula(u, random.choice((">", ">="))))),
        lambda: multiply(assume(Formula(t, strict)), assume(Formula(u, random.choice((">", "!="))))),
        lambda: weaken(assume(greater(t)), random.choice((">=", "!="))),
        lambda: weaken(zero, ">="),
        lambda: strengthen(assume(at_least(t)), assume(unequal(t))),
        lambda: total(assume(Formula(t, weak))),
        lambda: definite(W, assume(equal(S(W * W), 0))),
        lambda: transport(W, known, assume(Formula(t, sign))),
        lambda: cut(known, assume(equal(W, t))),
        lambda: instantiate(square(X - Y), {X: t, Y: u}),
        lambda: instantiate(assume(Formula(X * A, sign)), {X: t, A: S(u)}),
    ]
    return [make() for make in made]


def models(theorem: Proved, random: Random) -> list[tuple[int, dict[str, Any]]]:
    """Models of the hypotheses; an assumption about w is met by choosing w."""
    found = []
    for n in (1, 2, 4):
        for _ in range(2):
            values = draw(random, n)
            for t, relation in theorem.hypotheses:
                left = t - W
                if relation == "=" and "'w'" not in repr(left.pairs):
                    values["w"] = tuple(-value for value in _values(left, values, n))
                elif relation == "=" and "'w'" not in repr((t + W).pairs):
                    values["w"] = tuple(_values(t + W, values, n))
            if all(holds(formula, values, n) for formula in theorem.hypotheses):
                found.append((n, values))
    return found


def _values(t: Term, values: dict[str, Any], n: int) -> list[Any]:
    from lngeom.symbolic import evaluate

    return evaluate(t, values, n)


@settings(max_examples=30)  # each example has an instance of every rule and six models of each
@given(st.integers(0, 10**9))
def test_every_rule_preserves_truth(seed: int) -> None:
    random = Random(seed)
    for theorem in rule_instances(random):
        for n, values in models(theorem, random):
            try:
                truth = holds(theorem.conclusion, values, n)
            except UndecidedError:
                continue
            assert truth is not False, (theorem, n, values)


def test_the_audit_meets_every_rule_in_models() -> None:
    """The models are not vacuous: each rule's hypotheses were met, and its conclusion decided true."""
    met: set[str] = set()
    for seed in range(30):
        random = Random(seed)
        for theorem in rule_instances(random):
            found = models(theorem, random)
            if any(holds(theorem.conclusion, values, n) for n, values in found):
                met.add(theorem.certificate[0])
    assert met == {
        rule.__name__
        for rule in (
            add, assume, cancel, combine, congruence, constant, cut, definite, dimension, instantiate, inverse,
            inverse_sign, inverse_total, multiply, root_nonnegative, root_of_square, root_positive, square,
            square_of_root, strengthen, total, transport, weaken,
        )
    }  # fmt: skip


def exact(value: Any) -> bool:
    """Whether a value is made of exact tuples, frozen sets, texts and integers alone."""
    if type(value) in (tuple, frozenset):
        return all(map(exact, value))
    return type(value) in (str, int)


def test_what_is_recorded_cannot_be_changed() -> None:
    theorem = add(total(assume(at_least(X / 2))), square(Y))
    before, others = repr(theorem), [theorem.conclusion, *theorem.hypotheses]
    for name in ("conclusion", "hypotheses", "certificate", "anything"):
        with pytest.raises(AttributeError):
            setattr(theorem, name, equal(X, 0))
    for formula in others:
        assert exact(formula.term.pairs)
        assert exact(formula.relation)
        with pytest.raises(AttributeError):
            formula.relation = "="  # type: ignore[misc]
        with pytest.raises(TypeError):
            formula.term[0] = 1
        with pytest.raises(AttributeError):
            formula.term.pairs = ()
        # A term that is read is a copy: even a new class for it changes nothing that is recorded.
        formula.term.__class__ = Recast
    assert repr(theorem) == before
    assert theorem.conclusion.term == S(X) / 2 + Y * Y


class Recast(tuple):
    """A class that a term could be given by assignment."""

    __slots__ = ()


def sources() -> dict[str, str]:
    """Text of every module of the three packages; tests among them may try to cheat."""
    files = [path for name in ("lngeom", "proofs", "empirical") for path in (ROOT / name).rglob("*.py")]
    modules = [path for path in files if not path.name.startswith("test_")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in modules}


TRUSTED = {"lngeom/symbolic/_kernel.py", "lngeom/symbolic/_terms.py"}


def test_only_the_trusted_files_name_the_tables() -> None:
    private = re.compile(r"\b_PROVED\b|\b_ATOMS\b|\b_KNOWN\b|\b_prove\(")
    assert {name for name, source in sources().items() if private.search(source)} == TRUSTED


def test_nothing_private_is_taken_out_of_the_trusted_files() -> None:
    taking = re.compile(
        r"\b_?(kernel|terms)\._(?!_)\w+|_(kernel|terms) import (?:[^(\n]*\b_\w|\([^)]*\b_\w)|tuple\.__new__"
    )
    assert taking.search("from ._kernel import S, _PROVED")
    assert taking.search("kernel._prove(")
    assert {name for name, source in sources().items() if taking.search(source)} == TRUSTED


def test_nothing_of_the_symbolic_package_is_asserted() -> None:
    assert not [
        name
        for name, source in sources().items()
        if name.startswith("lngeom/symbolic/") and re.search(r"^\s*assert\b", source, flags=re.MULTILINE)
    ]


def test_hypotheses_are_computed() -> None:
    eps = scalar("eps")
    assumed = assume(greater(eps))
    remainder = d * eps / (lg.moments(X)[1] + eps)
    theorem = prove(greater(d - S(lg.standardize(X, eps=eps) ** 2)), assumed, remainder=remainder)
    assert theorem.hypotheses == {greater(eps)}


def test_cut_removes_what_is_proved() -> None:
    lemma = square(X)
    theorem = add(assume(at_least(X * X)), assume(greater(Y)))
    assert cut(lemma, theorem).hypotheses == {greater(Y)}
