"""Where recipes for the ellipsoid of outputs fail: wrong projector, wrong root, vanishing gains."""

from collections.abc import Callable
from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure, Interval
from lngeom.prover import dot, ones, square_norm

from ..case import WorkedExample, counterexample, show
from ._exact import rank


def _eigenvalue(case: WorkedExample, name: str, operator: Callable[[Enclosure], Enclosure], v: Enclosure) -> Interval:
    """The eigenvalue of v, after checking that v is an eigenvector."""
    value = (dot(operator(v), v) / dot(v, v))[0]
    case.true(f"v = {show(v)} is an eigenvector of {name}", operator(v), "=", value * v)
    return value


@counterexample
def inverse_of_a_zero_gain(case: WorkedExample) -> None:
    """A diagonal matrix with a zero has a Drazin inverse all the same; what fails is the formula for the
    axes.
    """
    g = case.vector("g", 1, 0)
    drazin = case.vector("gᴰ, the Drazin inverse of diag(1, 0)", 1, 0)
    case.true("it meets the defining equations: g gᴰ g = g", g * drazin * g, "=", g)
    case.true("gᴰ g gᴰ = gᴰ, and diagonal matrices commute", drazin * g * drazin, "=", drazin)
    case.claimed("it exists, so that no gain is zero: g² > 0", g * g, ">", 0)


@counterexample
def solid_image(case: WorkedExample) -> None:
    """With two zero gains the image is solid even at ε = 0: the hidden coordinates take up the norm."""
    g = case.vector("g", 1, 0, 0)
    inner = case.vector("x", 0, 1, -1)
    z = case.find("LN(x) at ε = 0, the center", lg.layer_norm(inner, g, eps=0))
    outer = case.vector("x′", 2, -1, -1)
    far = case.find("LN(x′) at ε = 0", lg.layer_norm(outer, g, eps=0))
    case.true("semi-axis² = d/(g₁⁻² + α₁²/k) = 3/(1 + ½) = 2", square_norm(far), "=", 2)
    case.claimed("at ε = 0 all outputs lie on the surface: ‖z‖² = 2", square_norm(z), "=", 2)


@counterexample
def one_zero_gain(case: WorkedExample) -> None:
    """One zero gain costs no dimension: rank GΠ = d − max(1, k) is d − 1 for k = 0 and for k = 1."""
    g, h = case.vector("g without zeros", 1, 2, 3), case.vector("g with one zero", 1, 2, 0)
    full = case.find("rank GΠ without zeros", rank(lambda v: g * lg.project(v), 3))
    one = case.find("rank GΠ with one zero", rank(lambda v: h * lg.project(v), 3))
    case.claimed("a zero gain makes the image degenerate: its dimension is lower", one, "<", full)
    two = case.vector("g with two zeros", 1, 0, 0)
    case.true("two zeros do", rank(lambda v: two * lg.project(v), 3), "<", full)


@counterexample
def tilted_hyperplane(case: WorkedExample) -> None:
    """A constant gain leaves the hyperplane where it is, a zero gain leaves no normal 1/g."""
    x = case.vector("x", 1, -1)
    g = case.vector("g", 2, 2)
    z = case.find("LN(x)", lg.layer_norm(x, g, eps=0))
    case.claimed("the gain tilts the hyperplane: 1·z ≠ 0", dot(ones(z), z), "≠", 0)
    zero = case.vector("g with a zero", 1, 0)
    case.undefined("the normal α = 1/g", lambda: ones(zero) / zero)


@counterexample
def direction_from_preimage(case: WorkedExample) -> None:
    """An eigenvector u of ΠG²Π is not an axis; Gu is one, also with a zero gain."""
    g = case.vector("g", 1, 1, 0)
    u = case.vector("u", 1, 1, -2)
    value = _eigenvalue(case, "ΠG²Π", lambda v: lg.project(g * g * lg.project(v)), u)
    axis = case.find("Gu", g * u)
    case.claimed("u is an axis: GΠGu = ζu", g * lg.project(g * u), "=", value * u)
    case.true("Gu is an axis: GΠG(Gu) = ζGu", g * lg.project(g * axis), "=", value * axis)


@counterexample
def projector_in_floats(case: WorkedExample) -> None:
    """Of the projector for ten equal gains, with its entries rounded to float64, one eigenvalue is below 0."""
    d = 10
    inside, beside = Fraction(1 - 1 / d), Fraction(1 / d)
    row = case.vector("a row: 9/10 once and −1/10 nine times, in float64", inside, *[-beside] * (d - 1))
    case.claimed("no eigenvalue is negative: 1ᵀM1 = d·(sum of a row) ≥ 0", dot(ones(row), row), "≥", 0)
    exact = case.vector("the row itself", 1 - Fraction(1, d), *[-Fraction(1, d)] * (d - 1))
    case.true("of the projector it is 0", dot(ones(exact), exact), "=", 0)
