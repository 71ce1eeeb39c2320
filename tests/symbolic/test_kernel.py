"""Audit of the rules: each preserves truth on models, refuses what it does not cover, and cannot be forged."""

from __future__ import annotations

import re
import subprocess
import sys
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
    ProofError,
    S,
    Term,
    Theorem,
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
    substitute,
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


def rule_instances(random: Random) -> list[Theorem]:
    """One instance of every rule, with random terms and assumptions that models can meet."""
    t, u, v = (some_term(random) for _ in range(3))
    sign = random.choice((">", ">=", "!="))
    strict = random.choice((">", "!="))
    weak = random.choice((">", ">="))
    # w is a free vector: the assumption w − t = 0 has models with any t.
    known, zero = assume(equal(W, t)), assume(equal(W, 0))
    made: list[Callable[[], Theorem]] = [
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


def models(theorem: Theorem, random: Random) -> list[tuple[int, dict[str, Any]]]:
    """Models of the hypotheses; an assumption about w is met by choosing w."""
    found = []
    for n in (1, 2, 4):
        for _ in range(2):
            values = draw(random, n)
            for t, relation in theorem.hypotheses:
                left = t - W
                if relation == "=" and "'w'" not in repr(tuple(left)):
                    values["w"] = tuple(-value for value in _values(left, values, n))
                elif relation == "=" and "'w'" not in repr(tuple(t + W)):
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


ZERO_X, NONZERO, POSITIVE = assume(equal(X, 0)), assume(unequal(X)), assume(greater(X))
NONNEGATIVE, OTHER = assume(at_least(X)), assume(unequal(Y))
FORGED = object.__new__(Theorem)


class Equal(Term):
    """A term that claims to be equal to everything."""

    __hash__ = Term.__hash__

    def __eq__(self, other: object) -> bool:
        return True


REFUSED: dict[str, Callable[[], Any]] = {
    "a theorem is called into being": lambda: Theorem(),
    "a theorem with a statement is called into being": lambda: Theorem([], equal(1 - d, 0)),
    "an object that was never proved": lambda: weaken(FORGED, ">="),
    "an object that was never proved is read": lambda: FORGED.conclusion,
    "a formula instead of a theorem": lambda: inverse(greater(X)),  # type: ignore[arg-type]
    "a term that redefines equality": lambda: combine(Equal({}), []),
    "a negative power smuggled into a term": lambda: combine(
        term(1), [(Term({((("v", "x"), -1),): Fraction(1)}), None, ZERO_X)]
    ),
    "a power of 0 smuggled into a term": lambda: square(Term({((("v", "x"), 0),): Fraction(1)})),
    "a repeated atom smuggled into a term": lambda: square(
        Term({((("v", "x"), 1), (("v", "x"), 1)): Fraction(1)})
    ),
    "an atom made elsewhere": lambda: square(Term({((("S", ()), 1),): Fraction(1)})),
    "a float as coefficient": lambda: square(Term({(): 0.1})),  # type: ignore[dict-item]
    "a zero coefficient": lambda: square(tuple.__new__(Term, [((), Fraction(0))])),
    "false constant": lambda: constant(0, ">"),
    "false equation of constants": lambda: constant(1, "="),
    "unknown relation": lambda: assume(Formula(X, "<")),
    "a combination that does not add up": lambda: combine(X, [(Y, None, ZERO_X)]),
    "a combination of inequalities": lambda: combine(X, [(1, None, POSITIVE)]),
    "cancelling what may be 0": lambda: cancel(Y, assume(equal(X * Y, 0)), NONNEGATIVE),
    "cancelling another factor": lambda: cancel(Y, assume(equal(X * Y, 0)), OTHER),
    "the inverse of what may be 0": lambda: inverse(NONNEGATIVE),
    "the root of what may be negative": lambda: square_of_root(NONZERO),
    "a positive root of what may be 0": lambda: root_positive(NONNEGATIVE),
    "a root of another square": lambda: root_of_square(Y, NONNEGATIVE, assume(equal(X * X, W))),
    "a root of unknown sign": lambda: root_of_square(Y, NONZERO, assume(equal(X * X, Y))),
    "congruence of unequal terms": lambda: congruence("inv", X, Y, ZERO_X),
    "congruence of another function": lambda: congruence("S", X, term(0), ZERO_X),
    "a sum of nonzero terms": lambda: add(NONZERO, OTHER),
    "a product of nonnegative and nonzero": lambda: multiply(NONNEGATIVE, NONZERO),
    "strengthening by weakening": lambda: weaken(NONNEGATIVE, ">"),
    "strengthening with another term": lambda: strengthen(NONNEGATIVE, OTHER),
    "the total of a nonzero vector": lambda: total(NONZERO),
    "a definite form of another vector": lambda: definite(Y, assume(equal(S(X * X), 0))),
    "a definite form of a product": lambda: definite(X, assume(equal(S(X * Y), 0))),
    "transport along another equation": lambda: transport(Y, ZERO_X, POSITIVE),
    "a scalar becomes a vector": lambda: instantiate(square(A), {A: X}),
    "a sum is replaced": lambda: instantiate(square(S(X)), {S(X): X}),
    "d is replaced": lambda: instantiate(dimension(), {d: term(0)}),
    "replacing inside a statement": lambda: substitute(A, {A: X}),
    "a wrong equation": lambda: prove(equal(X, Y)),
    "a wrong sign": lambda: prove(greater(d - 1)),
}


@pytest.mark.parametrize("attempt", REFUSED)
def test_refused(attempt: str) -> None:
    with pytest.raises(ProofError):
        REFUSED[attempt]()


def test_everything_is_refused_when_assertions_are_off() -> None:
    """Python -O strips assert statements; nothing of the kernel rests on one."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); assert False\n"
        "import test_kernel as audit\n"
        "from lngeom.symbolic import ProofError\n"
        "for name, attempt in audit.REFUSED.items():\n"
        "    try:\n        attempt()\n"
        "    except ProofError:\n        continue\n"
        "    print('accepted:', name)\n"
    )
    command = [sys.executable, "-O", "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_theorems_are_read_only() -> None:
    theorem = square(X)
    with pytest.raises(AttributeError):
        theorem.conclusion = equal(X, 0)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        theorem.anything = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        theorem.conclusion.term[0] = 1
    assert theorem.conclusion == at_least(X * X)


def sources() -> dict[str, str]:
    """Text of every module of the three packages; tests among them may try to cheat."""
    files = [path for name in ("lngeom", "proofs", "empirical") for path in (ROOT / name).rglob("*.py")]
    modules = [path for path in files if not path.name.startswith("test_")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in modules}


def test_only_the_kernel_names_the_table_of_what_is_proved() -> None:
    private = re.compile(r"\b_PROVED\b|\b_ATOMS\b|\b_prove\(")
    naming = {name for name, source in sources().items() if private.search(source)}
    assert naming == {"lngeom/symbolic/_kernel.py"}


def test_nothing_private_is_taken_out_of_the_kernel() -> None:
    taking = re.compile(r"\b_?kernel\._(?!_)\w+|_kernel import (?:[^(\n]*\b_\w|\([^)]*\b_\w)")
    assert taking.search("from ._kernel import S, _PROVED")
    assert taking.search("kernel._prove(")
    assert {name for name, source in sources().items() if taking.search(source)} == set()


def test_nothing_in_the_kernel_is_asserted() -> None:
    source = (ROOT / "lngeom" / "symbolic" / "_kernel.py").read_text(encoding="utf-8")
    assert not re.search(r"^\s*assert\b", source, flags=re.MULTILINE)


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
