"""The second checker accepts what the calculus proved and rejects certificates that were tampered with."""

from __future__ import annotations

from typing import Any

import pytest

from lngeom.symbolic import assume_zero, cut_words, identity, letter, prove_zero, replace_letters, transpose

from ._word_recheck import recheck_words

A, X, Y = letter("A", "m", "n"), letter("X", "n", "m"), letter("Y", "n", "m")
PENROSE = [e for z in (X, Y) for e in (A @ z @ A - A, z @ A @ z - z, (A @ z).T - A @ z, (z @ A).T - z @ A)]


def test_the_uniqueness_of_the_pseudo_inverse_is_confirmed() -> None:
    assert recheck_words(prove_zero(X - Y, PENROSE)) > 10


def test_every_rule_is_confirmed() -> None:
    symmetric = prove_zero(A.T @ X.T - X @ A, [(X @ A).T - X @ A])
    used = prove_zero(A.T @ X.T @ Y - X @ A @ Y, [assume_zero(A.T @ X.T - X @ A)])
    cut = cut_words(symmetric, used)
    assert recheck_words(transpose(replace_letters(cut, {Y: X + 2 * Y}))) > 4


def test_a_wrong_step_is_rejected() -> None:
    theorem: Any = prove_zero(A @ X @ A @ X - A @ X, [A @ X @ A - A])
    rule, terms, used = theorem.certificate
    for changed in (
        {"conclusion": A @ X},
        {"hypotheses": frozenset()},
        {"certificate": ("combine", (2 * terms[0], *terms[1:]), used)},
        {"certificate": ("guess", terms, used)},
        {"certificate": ("transpose", (), used)},
    ):
        said = {
            "conclusion": theorem.conclusion,
            "hypotheses": theorem.hypotheses,
            "certificate": (rule, terms, used),
        }
        tampered: Any = Tampered(**(said | changed))
        with pytest.raises(ValueError, match="does not yield"):
            recheck_words(tampered)
    assert recheck_words(prove_zero(A - A @ identity("n"), [])) == 1


class Tampered:
    """An object that looks like an identity."""

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)
