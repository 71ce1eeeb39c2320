"""The Moore-Penrose inverse of GΠG: proved, confirmed by SymPy, true of matrices, and the wrong formulas refuted."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from lngeom.symbolic import Matrix, ProofError, letter

from . import pseudo_inverse as mp
from ._word_recheck import recheck_words

CASES = {
    "no zero gain": (mp.INVERSE, mp.NO_ZERO_GAIN),
    "some zero gain": (mp.INVERSE_WITH_ZEROS, mp.SOME_ZERO_GAIN),
}

MUTANTS = {
    "Π in place of Π₂": ("no zero gain", mp.PROJECTOR @ mp.GI @ mp.GI @ mp.PROJECTOR),
    "G⁻¹ΠG⁻¹": ("no zero gain", mp.GI @ mp.PROJECTOR @ mp.GI),
    "Π₂ only on the left": ("no zero gain", mp.OFF_ALPHA @ mp.GI @ mp.GI),
    "square of the Drazin inverse": ("some zero gain", mp.GI @ mp.GI),
    "the formula for gains without zero": ("some zero gain", mp.INVERSE),
    "αα^T subtracted": ("some zero gain", mp.GI @ mp.GI - mp.ALPHA @ mp.K @ mp.ALPHA.T),
}


class Rational:
    """Matrix over Q with the operations of the calculus."""

    def __init__(self, rows: list[list[Fraction]]) -> None:
        self.rows = rows

    def __matmul__(self, other: Rational) -> Rational:
        columns = list(zip(*other.rows, strict=True))
        return Rational(
            [
                [sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in columns]
                for row in self.rows
            ]
        )

    def plus(self, other: Rational, factor: Fraction) -> Rational:
        pairs = zip(self.rows, other.rows, strict=True)
        return Rational([[a + factor * b for a, b in zip(p, q, strict=True)] for p, q in pairs])

    @property
    def T(self) -> Rational:
        return Rational([list(column) for column in zip(*self.rows, strict=True)])

    def vanishes(self) -> bool:
        return not any(value for row in self.rows for value in row)


def model(gain: tuple[int, ...]) -> dict[str, Rational]:
    """The letters for a gain of 4 components, where û is rational."""
    d = len(gain)
    inverse = [Fraction(1, g) if g else Fraction(0) for g in gain]
    zeros = sum(g == 0 for g in gain)
    reciprocal = Fraction(d, zeros) if zeros else d / sum((value * value for value in inverse), Fraction(0))

    def diagonal(values: list[Fraction]) -> Rational:
        return Rational(
            [[value if i == k else Fraction(0) for k in range(d)] for i, value in enumerate(values)]
        )

    return {
        "G": diagonal([Fraction(g) for g in gain]),
        "Gi": diagonal(inverse),
        "û": Rational([[Fraction(1, 2)]] * d),
        "k": Rational([[reciprocal]]),
    }


def value(matrix: Matrix, letters: Mapping[str, Rational]) -> Rational:
    sizes = {"n": len(letters["G"].rows), "1": 1}
    rows, columns = (sizes[size] for size in matrix.shape)
    total = Rational([[Fraction(0)] * columns for _ in range(rows)])
    for word, coefficient in matrix.words.items():
        product = Rational([[Fraction(i == k) for k in range(rows)] for i in range(rows)])
        for name, _, _, transposed in word:
            product = product @ (letters[name].T if transposed else letters[name])
        total = total.plus(product, coefficient)
    return total


GAINS = {
    "no zero gain": [(1, 1, 1, 1), (1, 2, 3, 4), (-1, 2, 2, -5)],
    "some zero gain": [(0, 1, 2, 3), (0, 0, 1, -2), (0, 0, 0, 3), (5, 0, 5, 0)],
}


@pytest.mark.parametrize("case", CASES)
def test_the_penrose_equations_hold_for_every_size_and_gain(case) -> None:
    inverse, laws = CASES[case]
    for theorem in mp.prove_penrose(inverse, laws).values():
        assert theorem.hypotheses <= frozenset(laws.values())
        assert recheck_words(theorem) > 1


@pytest.mark.parametrize("case", CASES)
def test_every_pseudo_inverse_is_given_by_the_formula(case) -> None:
    inverse, laws = CASES[case]
    theorem = mp.prove_formula(inverse, laws)
    x = letter("X")
    assert theorem.conclusion == x - inverse
    assert theorem.hypotheses == frozenset([*laws.values(), *mp.penrose(mp.SPREAD, x).values()])
    assert recheck_words(theorem) > 50


def test_the_moore_penrose_inverse_of_any_matrix_is_unique() -> None:
    theorem = mp.prove_unique()
    assert len(theorem.hypotheses) == 8
    assert recheck_words(theorem) > 10


@pytest.mark.parametrize("case", CASES)
def test_the_laws_have_models_and_the_formula_is_true_in_them(case) -> None:
    inverse, laws = CASES[case]
    for gain in GAINS[case]:
        letters = model(gain)
        assert all(value(law, letters).vanishes() for law in laws.values()), gain
        assert all(
            value(equation, letters).vanishes() for equation in mp.penrose(mp.SPREAD, inverse).values()
        )


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_formulas_have_no_proof_and_a_counterexample(mutant) -> None:
    case, formula = MUTANTS[mutant]
    equations = mp.penrose(mp.SPREAD, formula)
    with pytest.raises(ProofError, match="not proved"):
        mp.prove_penrose(formula, CASES[case][1])
    assert any(
        not value(equation, model(gain)).vanishes() for gain in GAINS[case] for equation in equations.values()
    )


@pytest.mark.parametrize("dropped", mp.NO_ZERO_GAIN)
def test_no_law_of_the_letters_can_be_dropped(dropped) -> None:
    laws = {said: law for said, law in mp.NO_ZERO_GAIN.items() if said != dropped}
    with pytest.raises(ProofError):
        mp.prove_formula(mp.INVERSE, laws)
