"""Where ε is too small to matter, or where it is said to be and is not."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.kernel import norm, square_norm

from .._case import WorkedExample, counterexample


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
def sphere_or_ball(case: WorkedExample) -> None:
    """With ε > 0 the image is the open ball inside the sphere; a multiple of 1 has no image at ε = 0."""
    x = case.vector("x", 1, -1)
    eps = case.scalar("ε", 1)
    y = case.find("y", lg.standardize(x, eps=eps, placement="outside"))
    case.claimed("y lies on the sphere: ‖y‖² = n", square_norm(y), "=", 2)
    case.true("it lies inside", square_norm(y), "<", 2)
    c = case.vector("c", 3, 3)
    case.undefined("y(c) at ε = 0", lambda: lg.standardize(c, eps=0))


@counterexample
def radius_forgotten(case: WorkedExample) -> None:
    """The sphere that LayerNorm maps to has radius √n, not 1."""
    x = case.vector("x", 3, 1)
    y = case.find("g(f(x))", lg.standardize(x, eps=0))
    case.claimed("it lies in S_{n−1} ∩ U, the unit sphere of U: ‖y‖ = 1", square_norm(y), "=", 1)
    case.true("it lies in √n S_{n−1} ∩ U: ‖y‖² = n", square_norm(y), "=", 2)


@counterexample
def gentle_input(case: WorkedExample) -> None:
    """An input whose deviation is small against √ε ends far from the surface, with the default ε = 10⁻⁵."""
    eps = case.scalar("ε", Fraction(1, 100000))
    t = Fraction(1, 1000)
    x = case.vector("x", t, -t)
    r = case.find("relative radius r, 1 on the surface", lg.epsilon.relative_radius(x, eps=eps))
    case.claimed("near the surface: r ≥ 0.9", r, "≥", Fraction(9, 10))
    case.true("r² = σ²/(σ² + ε)", r * r, "=", t**2 / (t**2 + eps))
    big = case.vector("100 x", 100 * t, -100 * t)
    case.true("100 x is near it: r ≥ 0.999", lg.epsilon.relative_radius(big, eps=eps), "≥", Fraction(999, 1000))


@counterexample
def two_placements(case: WorkedExample) -> None:
    """No constant turns one placement of ε into the other: what fits one vector fails for the next."""
    inside, outside = case.scalar("ε inside", 3), case.scalar("ε outside", 1)
    x, y = case.vector("x", 1, -1), case.vector("x′", 2, -2)
    a, b = lg.standardize(x, eps=inside), lg.standardize(x, eps=outside, placement="outside")
    case.true("for x they agree", a, "=", b)
    a, b = lg.standardize(y, eps=inside), lg.standardize(y, eps=outside, placement="outside")
    case.claimed("for x′ as well", case.find("inside", a), "=", case.find("outside", b))


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


@counterexample
def deviation_far_from_eps(case: WorkedExample) -> None:
    """For inputs of large deviation neither a small ε is a risk nor a large one a loss."""
    x = case.vector("x", 1000, -1000)
    small, large = case.scalar("small ε", Fraction(1, 10**12)), case.scalar("large ε", Fraction(1, 10))
    step = case.vector("x′ − x", 1, 0)
    change = lg.standardize(x + step, eps=small) - lg.standardize(x, eps=small)
    slope = case.find("‖LN(x′) − LN(x)‖²/‖x′ − x‖²", square_norm(change) / square_norm(step))
    case.claimed("a small ε is unstable here: the slope exceeds 1", slope, ">", 1)
    case.claimed(
        "a large ε pushes x inside: r < 0.99", lg.epsilon.relative_radius(x, eps=large), "<", Fraction(99, 100)
    )
