"""Where statements about the standardized vector need ε = 0, unequal components, unit gain, or
another letter.
"""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure, Interval
from lngeom.kernel import dot, norm, ones, root, square_norm

from .._case import WorkedExample, counterexample
from ._exact import cosine


@counterexample
def with_eps_or_equal_components(case: WorkedExample) -> None:
    """With ε > 0 the norm is below √d, and a vector of equal components has no standardized vector at ε = 0."""
    x = case.vector("x", 1, -1)
    eps = case.scalar("ε", 3)
    y = case.find("y = Πx/√(σ² + ε)", lg.standardize(x, eps=eps))
    case.claimed("‖y‖² = d", square_norm(y), "=", 2)
    case.claimed("y = √d Πx/‖Πx‖", y, "=", lg.project(x) / root(lg.moments(x)[1]))
    case.true("‖y‖² = d σ²/(σ² + ε)", square_norm(y), "=", Fraction(2) / (1 + eps))
    c = case.vector("c", 2, 2)
    case.undefined("y(c) at ε = 0", lambda: lg.standardize(c, eps=0))


@counterexample
def gain_moves_the_mean(case: WorkedExample) -> None:
    """Behind the gain outputs have neither mean 0 nor variance 1; what vanishes is α·(z − b)."""
    x = case.vector("x", 1, -1)
    g = case.vector("g", 1, 2)
    z = case.find("z = LN(x)", lg.layer_norm(x, g, eps=0))
    mean, variance = lg.moments(z)
    case.claimed("the output has mean 0: 1·z = 0", mean, "=", 0)
    case.claimed("its variance is 1", variance, "=", 1)
    case.claimed("its norm is √d: ‖z‖² = d", square_norm(z), "=", 2)
    alpha = case.find("α = (1/g₁, 1/g₂)", ones(g) / g)
    case.true("α·(z − b) = 0", dot(alpha, z), "=", 0)


@counterexample
def moments_moved(case: WorkedExample) -> None:
    """A gain moves the mean, ε > 0 shrinks the variance, and equal components have neither at ε = 0."""
    x = case.vector("x", 1, -1)
    g = case.vector("g", 1, 2)
    mean, variance = lg.moments(lg.layer_norm(x, g, eps=0))
    case.claimed("behind the gain the mean is 0", mean, "=", 0)
    case.claimed("behind the gain the variance is 1", variance, "=", 1)
    eps = case.scalar("ε", 3)
    y = case.find("y with unit gain", lg.standardize(x, eps=eps))
    case.claimed("its variance is 1", lg.moments(y)[1], "=", 1)
    case.true("its variance is σ²/(σ² + ε)", lg.moments(y)[1], "=", 1 / (1 + eps))
    c = case.vector("c", 2, 2)
    case.undefined("y(c) at ε = 0", lambda: lg.standardize(c, eps=0))


@counterexample
def bias_moves_the_mean(case: WorkedExample) -> None:
    """With gain 1 a bias alone moves the mean; the test is α·(z − b) = 0, whatever gain and bias."""
    x = case.vector("x", 1, -1)
    g = case.vector("g", 1, 1)
    b = case.vector("b", 1, 0)
    z = case.find("z = LN(x)", lg.layer_norm(x, g, b, eps=0))
    case.given("the projection step is right: 1·Πx = 0", dot(ones(x), lg.project(x)), "=", 0)
    case.claimed("the output has mean 0: 1·z = 0", dot(ones(z), z), "=", 0)
    case.true("α·(z − b) = 0", dot(ones(g) / g, z - b), "=", 0)


@counterexample
def scaling_the_input(case: WorkedExample) -> None:
    """Scale and shift act on the standardized vector; acting on x they would undo the normalization."""
    x = case.vector("x", 1, 3)
    gain, bias = case.vector("α", 1, 1), case.vector("β", 0, 0)
    z = case.find("z = LN(x)", lg.layer_norm(x, gain, bias, eps=0))
    case.claimed("z = αx + β", z, "=", gain * x + bias)
    case.true("z = αy + β", z, "=", gain * lg.standardize(x, eps=0) + bias)


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
def equal_components(case: WorkedExample) -> None:
    """A vector of equal components: with ε = 0 there is no output, with ε > 0 it is the bias, not 0."""
    x = case.vector("x", 5, 5)
    b = case.vector("b", 1, 2)
    eps = case.scalar("ε", Fraction(1, 100000))
    case.given("σ = 0", lg.moments(x)[1], "=", 0)
    case.undefined("LN(x) at ε = 0", lambda: lg.layer_norm(x, None, b, eps=0))
    z = case.find("LN(x) at ε > 0", lg.layer_norm(x, None, b, eps=eps))
    case.claimed("LN(x) = 0", z, "=", 0)
    case.true("LN(x) = b", z, "=", b)


@counterexample
def normalizing_first(case: WorkedExample) -> None:
    """Normalizing before projecting also ends in the hyperplane, but no longer on the sphere."""
    x = case.vector("x", 7, 1)
    late = case.find("Π RMS(x): normalize, then project", lg.project(lg.rms_norm(x, eps=0)))
    case.true("it is orthogonal to 1", dot(ones(x), late), "=", 0)
    case.claimed("the projection must come first to be orthogonal to 1", dot(ones(x), late), "≠", 0)
    case.true("its norm is √d sin θ: ‖Π RMS(x)‖² = d‖Πx‖²/‖x‖²", square_norm(late), "=", _sine_square(x))


@counterexample
def steps_exchanged(case: WorkedExample) -> None:
    """With step (ii) before step (i) the result is too short, and with ε > 0 or equal components step (ii)
    fails.
    """
    x = case.vector("x", 7, 1)
    case.find("y, steps in order", lg.standardize(x, eps=0))
    late = case.find("Π RMS(x): normalize, then project", lg.project(lg.rms_norm(x, eps=0)))
    case.claimed("the order of the steps does not matter", late, "=", lg.standardize(x, eps=0))
    eps = case.scalar("ε", 16)
    case.claimed("‖y_ε‖² = d with this ε", square_norm(lg.standardize(x, eps=eps)), "=", 2)
    c = case.vector("c", 2, 2)
    case.undefined("y(c) at ε = 0", lambda: lg.standardize(c, eps=0))


def _sine_square(x: Enclosure) -> Enclosure:
    """D sin²θ in the plane."""
    return 2 * square_norm(lg.project(x)) / square_norm(x)


@counterexample
def rms_keeps_the_direction(case: WorkedExample) -> None:
    """The zero vector has no direction and no RMSNorm at ε = 0; for ε > 0 the norm is below √d."""
    zero = case.vector("0", 0, 0)
    case.undefined("RMS(0) at ε = 0", lambda: lg.rms_norm(zero, eps=0))
    x = case.vector("x", 7, 1)
    eps = case.scalar("ε", 600)
    case.claimed("‖RMS(x)‖² = d", square_norm(lg.rms_norm(x, eps=eps)), "=", 2)
    case.true("the direction is kept", cosine(x, lg.rms_norm(x, eps=eps)), "=", 1)


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
