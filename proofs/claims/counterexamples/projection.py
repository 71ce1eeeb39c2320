"""Where statements about what norm layers remove go wrong: signs, directions, counts, and what is learned back."""

import itertools
from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import dot, norm, ones, root, square_norm

from ..case import WorkedExample, counterexample, decide
from ._exact import cosine


@counterexample
def nothing_to_remove(case: WorkedExample) -> None:
    """The angles are 90° on average and all within 0.6° of it, and yet centring changes every single output."""
    x, y = case.vector("x (probability ½)", 101, -99), case.vector("−x (probability ½)", -101, 99)
    case.given("the mean angle is 90°: cos θ·|cos θ| of x and of −x add up to 0", _signed(x) + _signed(y), "=", 0)
    case.given("the spread is small: cos²θ ≤ 1/100², so that both are within 0.6°", _signed(x), "≤", Fraction(1, 10**4))
    layer, rms = lg.layer_norm(x, eps=0), lg.rms_norm(x, eps=0)
    case.find("LN(x)", layer)
    case.find("RMS(x)", rms)
    case.claimed("there is nothing to remove: LN(x) = RMS(x)", layer, "=", rms)
    case.true("their angle is |90° − θ|: cos = sin θ", cosine(layer, rms), "=", norm(lg.project(x)) / norm(x))


@counterexample
def unequal_lengths(case: WorkedExample) -> None:
    """The mean angle is 90°, and the mean component along 1 is not 0: one vector is longer than the other."""
    x, y = case.vector("x (probability ½)", 101, -99), case.vector("−2x (probability ½)", -202, 198)
    case.given("the mean angle is 90°: cos θ·|cos θ| of x and of −2x add up to 0", _signed(x) + _signed(y), "=", 0)
    mean = case.find("mean of x·1 and −2x·1", (dot(x, ones(x)) + dot(y, ones(y))) / 2)
    case.claimed("on average they have no component along 1", mean, "=", 0)
    removed = (square_norm(x - lg.project(x)) + square_norm(y - lg.project(y))) / 2
    case.true("the mean of ‖μ1‖², which centring removes, is not 0", removed, "=", 5)


@counterexample
def positive_vectors(case: WorkedExample) -> None:
    """A law with a mean: random vectors with components 0 and 1 all lean towards 1."""
    law = [case.vector(f"x{k} (probability ⅓)", *row) for k, row in enumerate(((1, 0), (0, 1), (1, 1)), 1)]
    cosines = [case.find(f"cos θ(x{k})", cosine(x, ones(x))) for k, x in enumerate(law, 1)]
    case.claimed("orthogonal on average: E[cos θ] = 0", (cosines[0] + cosines[1] + cosines[2]) / 3, "=", 0)
    case.true("every angle is below 90°", Enclosure([c[0] for c in cosines]), ">", 0)


@counterexample
def one_direction(case: WorkedExample) -> None:
    """Symmetric but not isotropic: ±1 has mean angle 90° and spread 90°."""
    x = case.vector("x (probability ½), and −x", 1, 1, 1, 1)
    square = case.find("d cos²θ for both", 4 * cosine(x, ones(x)) * cosine(x, ones(x)))
    case.claimed("the spread is small: d·E[cos²θ] = 1", square, "=", 1)
    case.true("d·E[cos²θ] = d", square, "=", 4)


@counterexample
def counting_statistics(case: WorkedExample) -> None:
    """Few statistics and nothing recovered, many statistics and everything recovered: the count decides
    nothing.
    """
    x, y = case.vector("x", 0, 0, 2, 2), case.vector("x′ = x + 5·1", 5, 5, 7, 7)
    case.given("two vectors: no more statistics, 4, than parameters 2d = 8", 4, "≤", 8)
    case.given("LN(x′) = LN(x)", lg.layer_norm(y, eps=0), "=", lg.layer_norm(x, eps=0))
    case.claimed("both can be recovered from equal outputs: x′ = x", y, "=", x)
    orders = [Enclosure(list(row)) for row in sorted(set(itertools.permutations((0, 0, 2, 2))))]
    count = case.find("statistics of the 6 orders of (0, 0, 2, 2)", 2 * len(orders))
    case.given("more statistics than parameters", count, ">", 8)
    mean, variance = lg.moments(x)
    gain, bias = case.find("α = σ1", ones(x) * root(variance)), case.find("β = μ1", ones(x) * mean)
    missed = sum(decide(lg.layer_norm(v, gain, bias, eps=0), "≠", v) is not False for v in orders)
    case.claimed("they cannot all be recovered by one α and β: vectors missed", missed, ">", 0)


@counterexample
def other_readers(case: WorkedExample) -> None:
    """What a batch norm computes for one vector depends on the other vectors of its batch."""
    alone = case.vector("values of one feature in a batch", 1, 3)
    joined = case.vector("the same, another neighbour", 1, 5)
    first, second = (lg.standardize(batch, eps=1) for batch in (alone, joined))
    case.find("BN of the first batch", first)
    case.find("BN of the second batch", second)
    case.claimed("the first value is treated alike", first[0], "=", second[0])


def _signed(x: Enclosure) -> Enclosure:
    """Cos θ |cos θ| for the angle θ with 1: rational, unlike cos θ, and of the same sign."""
    along = dot(x, ones(x))
    return along * abs(along) / (len(x) * square_norm(x))
