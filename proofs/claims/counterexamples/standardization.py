"""Where statements about the standardized vector, its sphere and ε need unequal components, a sign, or a size."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure, Interval
from lngeom.prover import dot, norm, ones, square_norm

from ..case import WorkedExample, counterexample


@counterexample
def approaching_the_line(case: WorkedExample) -> None:
    """However close x is to 1, on either side LayerNorm at ε = 0 gives opposite vectors: no limit exists."""
    u = case.vector("u", 1, -1)
    for exponent in (0, 6, 12):
        t = Fraction(1, 10**exponent)
        above, below = ones(u) + t * u, ones(u) - t * u
        case.find(f"‖x₊ − x₋‖ for x± = 1 ± 10^−{exponent} u", norm(above - below))
        gap = norm(lg.layer_norm(above, eps=0) - lg.layer_norm(below, eps=0))
        case.claimed("the outputs approach each other: ‖LN(x₊) − LN(x₋)‖ ≤ 2", gap, "≤", 2)
    case.true("‖LN(x₊) − LN(x₋)‖ = 2√d, always", gap, "=", 2 * Interval(2).sqrt())
    case.undefined("LN(1) at ε = 0", lambda: lg.layer_norm(ones(u), eps=0))


@counterexample
def normalizing_first(case: WorkedExample) -> None:
    """Normalizing before projecting also ends in the hyperplane, but no longer on the sphere."""
    x = case.vector("x", 7, 1)
    late = case.find("Π RMS(x): normalize, then project", lg.project(lg.rms_norm(x, eps=0)))
    case.true("it is orthogonal to 1", dot(ones(x), late), "=", 0)
    case.claimed("the projection must come first to be orthogonal to 1", dot(ones(x), late), "≠", 0)
    sine_square = square_norm(lg.project(x)) / square_norm(x)
    case.true("its norm is √d sin θ: ‖Π RMS(x)‖² = d‖Πx‖²/‖x‖²", square_norm(late), "=", 2 * sine_square)


@counterexample
def negative_gain(case: WorkedExample) -> None:
    """A semi-axis is a length: |a₁|√n, not a₁√n, where a gain is negative."""
    x = case.vector("x", 1, 0)
    a = case.vector("a", -2, 1)
    z = case.find("RMS(x)", lg.rms_norm(x, a, eps=0))
    case.claimed("its distance from the center is a₁√n", norm(z), "=", -2 * Interval(2).sqrt())
    case.true("it is |a₁|√n", norm(z), "=", 2 * Interval(2).sqrt())
    zero = case.vector("0", 0, 0)
    case.undefined("RMS(0) at ε = 0", lambda: lg.rms_norm(zero, a, eps=0))


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
    """The slope at equal components is 1/ε with ε outside the root, and 1/√ε with ε inside."""
    eps = case.scalar("ε", Fraction(1, 10**12))
    t = Fraction(1, 10**15)
    x, step = case.vector("x", 1, 1), case.vector("x′ − x", t, -t)
    for placement, most, bound in (("outside", 10**12, "1/ε = 10¹²"), ("inside", 10**6, "1/√ε = 10⁶")):
        change = lg.standardize(x + step, eps=eps, placement=placement)  # of LN(x) = 0
        slope = case.find(f"‖LN(x′) − LN(x)‖/‖x′ − x‖, ε {placement}", norm(change) / norm(step))
        case.true(f"it is within 1 % of {bound}", slope, "≥", Fraction(99, 100) * most)
        case.true(f"and below {bound}", slope, "<", most)
