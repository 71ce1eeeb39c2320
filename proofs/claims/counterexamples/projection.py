"""Where statements about the mean vector and the projection go wrong: signs, directions, counts."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.kernel import dot, norm, ones, root, square_norm

from .._case import WorkedExample, counterexample
from ._exact import cosine, exact, off


@counterexample
def onto_is_not_off(case: WorkedExample) -> None:
    """Subtracting the mean leaves a vector with no component along 1, where projecting onto 1 would leave
    only that.
    """
    x = case.vector("x", 1, -1)
    centered = case.find("x − μ1", x - lg.projection.mean_vector(x))
    onto = case.find("projection of x onto 1", lg.projection.mean_vector(x))
    case.claimed("x − μ1 is the projection onto 1", centered, "=", onto)
    case.true("x − μ1 = Πx, the projection off 1", centered, "=", lg.project(x))


@counterexample
def negative_mean(case: WorkedExample) -> None:
    """A norm is never negative, a mean can be: the norm of the mean vector is the absolute value."""
    x = case.vector("x", -1, -1)
    mean = case.find("μ", lg.moments(x)[0])
    length = case.find("‖μ1‖", norm(lg.projection.mean_vector(x)))
    signed = case.find("x·1̂ = ‖x‖ cos θ", norm(x) * cosine(x, ones(x)))
    case.claimed("‖μ1‖ = μ‖1‖", length, "=", mean * norm(ones(x)))
    case.claimed("‖μ1‖ = ‖x‖ cos θ = x·1̂", length, "=", signed)
    case.claimed("μ1 points along 1", dot(lg.projection.mean_vector(x), ones(x)), ">", 0)
    case.true("‖μ1‖ = |x·1̂|", length, "=", abs(signed))


@counterexample
def another_direction(case: WorkedExample) -> None:
    """Π commutes with exchanging two coordinates, the projection off another direction does not."""
    x = case.vector("x", 1, 0, 0)
    u = case.vector("u", 1, 2, 0)
    swap = [1, 0, 2]

    def swapped(v: Enclosure) -> Enclosure:
        return Enclosure([exact(v)[i] for i in swap])

    case.find("x with its first two coordinates exchanged", swapped(x))
    other = off(u)
    first = case.find("off u, then exchanged", swapped(other(x)))
    second = case.find("exchanged, then off u", other(swapped(x)))
    case.claimed("u does as well as 1: the order does not matter", first, "=", second)
    case.true("for Π the order does not matter", swapped(lg.project(x)), "=", lg.project(swapped(x)))


@counterexample
def opposite_pair(case: WorkedExample) -> None:
    """A vector along 1 and its opposite: their mean angle is 90°, and all their energy lies along 1."""
    x, y = case.vector("x (probability ½)", 1, 1), case.vector("−x (probability ½)", -1, -1)
    case.given("cos|cos| of θ(x) and of θ(−x) add up to 0: the mean angle is 90°", _signed(x) + _signed(y), "=", 0)
    share = (square_norm(lg.projection.mean_vector(x)) + square_norm(lg.projection.mean_vector(y))) / (
        square_norm(x) + square_norm(y)
    )
    case.claimed("no component along 1: E‖μ1‖² / E‖x‖² = 0", share, "=", 0)
    case.true("all energy is along 1: E‖μ1‖² / E‖x‖² = 1", share, "=", 1)
    squares = (cosine(x, ones(x)) * cosine(x, ones(x)) + cosine(y, ones(y)) * cosine(y, ones(y))) / 2
    case.true("d·E[cos²θ] = d = 2, where a random direction has 1", 2 * squares, "=", 2)


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


def _square(x: Enclosure, y: Enclosure) -> Enclosure:
    return dot(x, y) * dot(x, y) / (square_norm(x) * square_norm(y))


@counterexample
def storing_along_uniform(case: WorkedExample) -> None:
    """A reader beside LayerNorm, such as an unembedding of the raw stream, sees what is stored along 1."""
    h = case.vector("h", 1, -1)
    moved = case.find("h + 2·1", h + 2 * ones(h))
    w = case.vector("a reader w", 1, 0)
    case.claimed("every reader gives the same: w·h = w·(h + 2·1)", dot(w, h), "=", dot(w, moved))
    case.true("readers behind LayerNorm do", lg.layer_norm(h, eps=0), "=", lg.layer_norm(moved, eps=0))


@counterexample
def unit_instead_of_deviation(case: WorkedExample) -> None:
    """Dividing by the norm instead of the standard deviation loses the factor √d."""
    x = case.vector("x", 3, 1)
    unit = case.find("Πx/‖Πx‖", lg.project(x) / norm(lg.project(x)))
    case.claimed("Πx/‖Πx‖ is the standardized vector", unit, "=", lg.standardize(x, eps=0))
    case.true("√d Πx/‖Πx‖ is", root(Fraction(2) * ones(x)) * unit, "=", lg.standardize(x, eps=0))
