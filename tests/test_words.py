"""The calculus of matrix identities: normal form is meaning, rules preserve truth, and nothing can be forged."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lngeom.symbolic import ProofError
from lngeom.symbolic._word_search import prove_zero
from lngeom.symbolic._words import (
    Identity,
    Matrix,
    assume_zero,
    combine_words,
    cut_words,
    identity,
    letter,
    replace_letters,
    substitute_letters,
    text,
    transpose,
)

A, B = letter("A", "m", "n"), letter("B", "m", "n")
G, H, one, eye = letter("G"), letter("H"), letter("u", "n", "1"), identity()
SIZES = {"m": 2, "n": 3, "1": 1}

squares = st.sampled_from([G, H, G.T, H.T, eye, one @ one.T, A.T @ B, A.T @ A])
polynomials = st.lists(
    st.tuples(st.fractions(-3, 3, max_denominator=4), st.lists(squares, min_size=1, max_size=3)), max_size=4
).map(
    lambda terms: sum(
        (_product(factors) * c for c, factors in terms),
        start=Matrix("n", "n", {}),
    )
)
models = st.integers(0, 2**32).map(lambda seed: Model(seed))


def _product(factors: list[Matrix]) -> Matrix:
    result = eye
    for factor in factors:
        result = result @ factor
    return result


class Model:
    """A matrix of small integers for each letter, and the value of every polynomial."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = {"A": "mn", "B": "mn", "G": "nn", "H": "nn", "u": "n1"}
        self.values = {
            name: np.array(rng.integers(-3, 4, [SIZES[size] for size in shape]), dtype=object)
            for name, shape in sizes.items()
        }

    def __call__(self, matrix: Matrix) -> np.ndarray:
        rows, columns = (SIZES[size] for size in matrix.shape)
        total = np.zeros((rows, columns), dtype=object)
        for word, coefficient in matrix.words.items():
            product = np.eye(rows, dtype=int).astype(object)
            for name, _, _, transposed in word:
                product = product @ (self.values[name].T if transposed else self.values[name])
            total = total + coefficient * product
        return total


@given(polynomials, polynomials, st.fractions(max_denominator=9), models)
def test_normal_forms_mean_what_the_operations_say(p, q, factor, model) -> None:
    assert (model(p + q) == model(p) + model(q)).all()
    assert (model(p - q) == model(p) - model(q)).all()
    assert (model(p @ q) == model(p) @ model(q)).all()
    assert (model(p * factor) == model(p) * factor).all()
    assert (model(p.T) == model(p).T).all()
    image = model(substitute_letters(p, {G: q, A: B}))
    model.values |= {"G": model(q), "A": model.values["B"]}
    assert (image == model(p)).all()


@given(polynomials, polynomials)
def test_equal_matrices_have_equal_normal_form(p, q) -> None:
    """A nonzero polynomial of low degree vanishes on no five random models of size 3."""
    difference = p @ q - q @ p + p.T - p
    values = [Model(seed)(difference) for seed in range(5)]
    if not difference:
        assert all((value == 0).all() for value in values)
    elif all(len(word) <= 3 for word in difference.words):
        assert any((value != 0).any() for value in values)


@given(polynomials, polynomials, polynomials, models)
def test_rules_preserve_truth(p, left, right, model) -> None:
    """Each hypothesis e is made true by taking e = q − its value in the model, given as a word of its own."""
    model.values["E"] = model(p)
    e = p - letter("E")
    known = assume_zero(e)
    assert not model(e).any()
    combined = combine_words(left @ e @ right, [(left, known, right)])
    for theorem in (combined, transpose(known), cut_words(known, combined), replace_letters(known, {A: A})):
        assert all(not model(h).any() for h in theorem.hypotheses)
        assert not model(theorem.conclusion).any()


def test_sizes_are_checked() -> None:
    for wrong in (lambda: A + G, lambda: A @ B, lambda: G @ A, lambda: G * G, lambda: G + 1, lambda: one @ G):
        with pytest.raises(ProofError, match="the rule does not apply"):
            wrong()
    with pytest.raises(ProofError, match="nonempty"):
        letter("")
    assert (A @ B.T).shape == ("m", "m")
    assert (A.T @ B).shape == ("n", "n")


def test_text_is_readable() -> None:
    assert text(G @ H.T - eye * Fraction(1, 2)) == "G·Hᵀ − 1/2 I"
    assert text(G - G) == "0"
    assert text(-G) == "−G"
    assert repr(assume_zero(G - eye)) == "G − I = 0 |- G − I = 0"


# ------------------------------------------------------------------------------------------------------- proofs

PENROSE = {
    "AXA = A": lambda a, x: a @ x @ a - a,
    "XAX = X": lambda a, x: x @ a @ x - x,
    "AX symmetric": lambda a, x: (a @ x).T - a @ x,
    "XA symmetric": lambda a, x: (x @ a).T - x @ a,
}


def test_the_pseudo_inverse_is_unique_and_every_equation_of_the_definition_is_needed() -> None:
    a, x, y = letter("A", "m", "n"), letter("X", "n", "m"), letter("Y", "n", "m")
    equations = [equation(a, z) for z in (x, y) for equation in PENROSE.values()]
    theorem = prove_zero(x - y, equations)
    assert theorem.conclusion == x - y
    assert theorem.hypotheses == frozenset(equations)
    for dropped in PENROSE:
        fewer = [equation(a, z) for z in (x, y) for name, equation in PENROSE.items() if name != dropped]
        with pytest.raises(ProofError, match="not proved"):
            prove_zero(x - y, fewer, rounds=1)


def test_an_inverse_is_unique_and_a_lemma_can_be_cut() -> None:
    right, left = letter("R"), letter("L")
    theorem = prove_zero(right - left, [G @ right - eye, left @ G - eye])
    special = replace_letters(theorem, {right: left})
    assert not special.conclusion
    assert special.hypotheses == frozenset([G @ left - eye, left @ G - eye])
    symmetric = prove_zero(G.T @ left.T - eye, [left @ G - eye])
    used = prove_zero(G.T @ left.T @ H - H, [assume_zero(G.T @ left.T - eye)])
    assert cut_words(symmetric, used).hypotheses == frozenset([left @ G - eye])


def test_false_and_unreachable_goals_are_refused() -> None:
    with pytest.raises(ProofError, match="rewriting leaves"):
        prove_zero(G @ H - H @ G)
    with pytest.raises(ProofError, match="rewriting leaves"):
        prove_zero(G - eye, [G @ G - eye])  # G = −I
    with pytest.raises(ProofError, match="not the given combination"):
        combine_words(G, [(eye, assume_zero(H), eye)])
    with pytest.raises(ProofError, match="a letter is replaced"):
        replace_letters(assume_zero(G), {G + H: G})
    with pytest.raises(ProofError, match="a letter is replaced"):
        replace_letters(assume_zero(G), {G: one})


# ------------------------------------------------------------------------------------------------------ forgery


def test_identities_cannot_be_made_or_changed_from_outside() -> None:
    with pytest.raises(ProofError, match="not by calling"):
        Identity(G)
    forged = object.__new__(Identity)
    for use in (
        lambda: forged.conclusion,
        lambda: transpose(forged),
        lambda: combine_words(G, [(eye, forged, eye)]),
    ):
        with pytest.raises(ProofError, match="never proved"):
            use()

    class Pretender(Identity):
        conclusion: Any = G

    with pytest.raises(ProofError, match="never proved"):
        transpose(object.__new__(Pretender))
    known = assume_zero(G)
    for name in ("conclusion", "hypotheses", "other"):
        with pytest.raises(AttributeError):
            setattr(known, name, H)


@pytest.mark.parametrize(
    "content",
    [
        ("n", "n", ((), ())),
        ("n", "n", (((), 1.0),)),
        ("n", "n", (((), Fraction(0)),)),
        ("n", "m", (((), Fraction(1)),)),
        ("n", "n", ((((("G", "n", "n", False)), ("A", "m", "n", False)), Fraction(1)),)),
        ("n", "n", (((("G", "n", "n", 0),), Fraction(1)),)),
        ("n", "n", [((), Fraction(1))]),
        ("n", "n", (((("G", "n", "n", False),), Fraction(1)), ((), Fraction(1)))),
        ("n", "n"),
    ],
)
def test_matrices_not_in_normal_form_are_refused(content) -> None:
    with pytest.raises(ProofError, match="the rule does not apply"):
        assume_zero(tuple.__new__(Matrix, content))


def test_a_subclass_of_matrix_is_refused() -> None:
    class Zero(Matrix):
        def __bool__(self) -> bool:
            return False

    with pytest.raises(ProofError, match="is no matrix"):
        combine_words(Zero("n", "n", G.words), [])


def test_the_checks_do_not_rely_on_assert() -> None:
    code = (
        "from lngeom.symbolic._words import *\n"
        "from lngeom.symbolic import ProofError\n"
        "try:\n    combine_words(letter('G'), [])\n"
        "except ProofError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_only_the_trusted_file_names_its_table() -> None:
    root = Path(__file__).parent.parent
    files = itertools.chain((root / "lngeom").rglob("*.py"), (root / "proofs").rglob("*.py"))
    for path in files:
        names = {
            node.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name)
        }
        if path.name not in ("_words.py", "_kernel.py"):
            assert "_PROVED" not in names, path
