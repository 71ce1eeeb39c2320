"""Where ε is too small to matter, or where it is said to be and is not."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import norm

from ..case import WorkedExample, counterexample


@counterexample
def long_vectors(case: WorkedExample) -> None:
    """What must be large against ε is the standard deviation, ‖Πx‖/√n: in high dimension ‖Πx‖ ≫ ε is not
    enough.
    """
    eps, n = case.scalar("ε", Fraction(1, 10)), 10**4
    x = Enclosure([(-1) ** i * eps for i in range(n)])
    size = case.find("‖x‖ of x = (ε, −ε, ε, −ε, ...) in dimension 10⁴", norm(x))
    case.given("‖x‖ = 100 ε", size, "=", 100 * eps)
    ratio = case.find("‖g(x)‖/√n, where 1 is claimed", norm(lg.standardize(x, eps=eps, placement="outside")) / 100)
    case.claimed("g(x) is within 10 % of the sphere", ratio, "≥", Fraction(9, 10))
    case.true("‖g(x)‖/√n = ‖x‖/(‖x‖ + ε√n)", ratio, "=", size / (size + eps * 100))


@counterexample
def steep_line(case: WorkedExample) -> None:
    """The slope at equal components is 1/√ε: a tiny ε turns tiny differences into large ones."""
    eps = case.scalar("ε", Fraction(1, 10**12))
    t = Fraction(1, 10**9)
    x, step = case.vector("x", 1, 1), case.vector("x′ − x", t, -t)
    change = lg.standardize(x + step, eps=eps) - lg.standardize(x, eps=eps)
    slope = case.find("‖LN(x′) − LN(x)‖/‖x′ − x‖", norm(change) / norm(step))
    case.claimed("such an ε is harmless: the slope stays below 1000", slope, "≤", 1000)
    case.true("it stays below 1/√ε = 10⁶", slope, "≤", 10**6)
