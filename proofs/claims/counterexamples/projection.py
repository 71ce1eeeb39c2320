"""Where statements about the mean vector and the projection go wrong: signs, directions, counts."""

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import dot, norm, ones, square_norm

from ..case import WorkedExample, counterexample
from ._exact import cosine


@counterexample
def nothing_to_remove(case: WorkedExample) -> None:
    """The mean angle is 90° and yet centring changes every single output."""
    x, y = case.vector("x (probability ½)", 1, 7), case.vector("−x (probability ½)", -1, -7)
    case.given("cos|cos| of θ(−x) and of θ(x) add up to 0: the mean angle is 90°", _signed(x) + _signed(y), "=", 0)
    layer, rms = lg.layer_norm(x, eps=0), lg.rms_norm(x, eps=0)
    case.find("LN(x)", layer)
    case.find("RMS(x)", rms)
    case.claimed("there is nothing to remove: LN(x) = RMS(x)", layer, "=", rms)
    case.true("their angle is |90° − θ|: cos = sin θ", cosine(layer, rms), "=", norm(lg.project(x)) / norm(x))


@counterexample
def positive_vectors(case: WorkedExample) -> None:
    """A law with a mean: random vectors with components 0 and 1 all lean towards 1."""
    law = [case.vector(f"x{k} (probability ⅓)", *row) for k, row in enumerate(((1, 0), (0, 1), (1, 1)), 1)]
    cosines = [case.find(f"cos θ(x{k})", cosine(x, ones(x))) for k, x in enumerate(law, 1)]
    total = cosines[0] + cosines[1] + cosines[2]
    case.claimed("orthogonal on average: E[cos θ] = 0", total / 3, "=", 0)
    case.true("every angle is below 90°", Enclosure([c[0] for c in cosines]), ">", 0)


@counterexample
def one_direction(case: WorkedExample) -> None:
    """Symmetric but not isotropic: ±1 has mean angle 90° and spread 90°."""
    x = case.vector("x (probability ½), and −x", 1, 1, 1, 1)
    square = case.find("d cos²θ for both", 4 * cosine(x, ones(x)) * cosine(x, ones(x)))
    case.claimed("the spread is small: d·E[cos²θ] = 1", square, "=", 1)
    case.true("d·E[cos²θ] = d", square, "=", 4)


def _signed(x: Enclosure) -> Enclosure:
    """Cos θ |cos θ| for the angle θ with 1: rational, unlike cos θ, and of the same sign."""
    along = dot(x, ones(x))
    return along * abs(along) / (len(x) * square_norm(x))
