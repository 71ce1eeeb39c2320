"""What many theorems share: statistics, so that one thing has one name, and steps of proofs."""

import functools

import lngeom as lg
from lngeom import prover as sy
from lngeom.prover import dim, root, square_norm
from lngeom.theorems import Scalar, Vector


def mean(x: Vector) -> Scalar:
    """μ as the library computes it."""
    return lg.moments(x)[0]


def variance(x: Vector) -> Scalar:
    """σ² as the library computes it."""
    return lg.moments(x)[1]


def deviation(x: Vector) -> Scalar:
    """σ, the root of the variance."""
    return root(variance(x))


def mean_square(x: Vector) -> Scalar:
    """‖x‖²/d."""
    return square_norm(x) / dim(x)


def product(*signs: sy.Proved) -> sy.Proved:
    """The product of terms of known sign has the sign."""
    return functools.reduce(sy.multiply, signs)


def as_sum(goal: sy.Formula, parts: list[sy.Proved], *facts: sy.Proved | tuple[sy.Proved, object]) -> sy.Proved:
    """An inequality whose left side equals a sum of terms of known sign, by the facts."""
    whole = functools.reduce(sy.add, parts)
    return sy.transport(goal.term, sy.prove(sy.equal(goal.term, whole.conclusion.term), *facts), whole)


def same_divisor(a: Scalar, b: Scalar, same: sy.Proved) -> sy.Proved:
    """From a − b = 0: 1/√a − 1/√b = 0."""
    return sy.congruence("inv", sy.root(a), sy.root(b), sy.congruence("sqrt", a, b, same))


def same_radicand(a: sy.Proved, b: sy.Proved, divisors: sy.Proved) -> sy.Proved:
    """From a ≥ 0, b ≥ 0 and 1/√a − 1/√b = 0: a − b = 0."""
    p, q = a.conclusion.term, b.conclusion.term
    roots = sy.congruence("inv", 1 / sy.root(p), 1 / sy.root(q), divisors)
    parts = [(sy.root(p) + sy.root(q), None, roots), (-1, None, sy.square_of_root(a)), (1, None, sy.square_of_root(b))]
    return sy.combine(p - q, parts)
