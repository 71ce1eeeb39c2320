"""The Moore-Penrose inverse of GΠG as a statement about matrices of every size, for every gain.

The chapter on the ellipsoid proves the four Penrose equations as identities between operators applied to arbitrary
vectors. Here they are identities between the matrices themselves, and the step that the algebra of components
cannot take is proved too: there is only one matrix that satisfies all four.

Letters: G = diag(g) and its inverse (with zero gains: its pseudo-inverse) Gi, the unit vector û in the direction of
1, so that Π = I − ûûᵀ, and the 1×1 matrix k, a reciprocal.
"""

from __future__ import annotations

from collections.abc import Mapping

from lngeom.symbolic import Identity, Matrix, cut_words, identity, letter, prove_zero, replace_letters

EYE, ONE = identity(), identity("1")
G, GI = letter("G"), letter("Gi")
U, K = letter("û", "n", "1"), letter("k", "1", "1")

PROJECTOR = EYE - U @ U.T
SPREAD = G @ PROJECTOR @ G
"""GΠG."""

ALPHA = GI @ U
OFF_ALPHA = EYE - ALPHA @ K @ ALPHA.T
"""Π₂ = I − ααᵀ/‖α‖² with α = G⁻¹û and k = 1/‖α‖²."""

INVERSE = OFF_ALPHA @ GI @ GI @ OFF_ALPHA
"""Π₂G⁻²Π₂, the inverse for gains without zero."""

NO_ZERO_GAIN: Mapping[str, Matrix] = {
    "‖û‖ = 1": U.T @ U - ONE,
    "G = Gᵀ": G.T - G,
    "G Gi = I": G @ GI - EYE,
    "k‖α‖² = 1": K @ ALPHA.T @ ALPHA - ONE,
}
"""What the letters stand for when no gain is zero."""

SUPPORT = G @ GI
INVERSE_WITH_ZEROS = GI @ GI + ALPHA @ K @ ALPHA.T
"""diag(g⁻²) + αα^T/k on the support; here k stands for 1/(1 − ûᵀGGiû), d over the number of zero gains."""

SOME_ZERO_GAIN: Mapping[str, Matrix] = {
    "G = Gᵀ": G.T - G,
    "Gi = Giᵀ": GI.T - GI,
    "G Gi G = G": G @ GI @ G - G,
    "Gi G Gi = Gi": GI @ G @ GI - GI,
    "G Gi = Gi G": G @ GI - GI @ G,
    "k(1 − ûᵀG Gi û) = 1": K - K @ U.T @ SUPPORT @ U - ONE,
}
"""What they stand for when some gain is zero: Gi inverts the other gains and is 0 elsewhere."""


def penrose(a: Matrix, x: Matrix) -> dict[str, Matrix]:
    """The four equations that define the Moore-Penrose inverse x of a, each as a matrix that vanishes."""
    return {
        "A X A = A": a @ x @ a - a,
        "X A X = X": x @ a @ x - x,
        "(A X)ᵀ = A X": (a @ x).T - a @ x,
        "(X A)ᵀ = X A": (x @ a).T - x @ a,
    }


def prove_penrose(inverse: Matrix, laws: Mapping[str, Matrix]) -> dict[str, Identity]:
    """Proofs that `inverse` satisfies the Penrose equations of GΠG under the given laws of the letters.

    Raises
    ------
    ProofError
        If one of them is not proved.
    """
    return {said: prove_zero(equation, laws.values()) for said, equation in penrose(SPREAD, inverse).items()}


def prove_unique(rows: str = "m", columns: str = "n") -> Identity:
    """Two matrices that both satisfy the four Penrose equations of a rows×columns matrix A are equal: X = Y."""
    a, x, y = letter("A", rows, columns), letter("X", columns, rows), letter("Y", columns, rows)
    return prove_zero(x - y, [*penrose(a, x).values(), *penrose(a, y).values()])


def prove_formula(inverse: Matrix, laws: Mapping[str, Matrix]) -> Identity:
    """Every Moore-Penrose inverse X of GΠG equals `inverse`: from the laws and the four equations for X alone."""
    theorem = replace_letters(prove_unique("n", "n"), {letter("A"): SPREAD, letter("Y"): inverse})
    for lemma in prove_penrose(inverse, laws).values():
        theorem = cut_words(lemma, theorem)
    return theorem
