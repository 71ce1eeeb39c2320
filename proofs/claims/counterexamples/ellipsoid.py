"""Where recipes for the ellipsoid of outputs fail: wrong projector, wrong root, vanishing gains."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import dot, ones, square_norm

from ..case import WorkedExample, counterexample, show
from ._exact import rank


@counterexample
def inverse_of_a_zero_gain(case: WorkedExample) -> None:
    """A diagonal matrix with a zero has a Drazin inverse too; what fails is the formula for the axes."""
    g = case.vector("g", 1, 0)
    drazin = case.vector("gᴰ, the Drazin inverse of diag(1, 0)", 1, 0)
    case.true("it meets the defining equations: g gᴰ g = g", g * drazin * g, "=", g)
    case.true("gᴰ g gᴰ = gᴰ, and diagonal matrices commute", drazin * g * drazin, "=", drazin)
    z = case.find("LN(x) for x = (1, −1), the end of the axis", lg.layer_norm(Enclosure([1, -1]), g, eps=0))
    case.claimed("the formula with its square has the semi-axis² d g₁² = 2", square_norm(z), "=", 2)


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
    image = lg.project(g * g * lg.project(u))
    value = (dot(image, u) / dot(u, u))[0]
    case.true(f"v = {show(u)} is an eigenvector of ΠG²Π", image, "=", value * u)
    axis = case.find("Gu", g * u)
    case.claimed("u is an axis: GΠGu = ζu", g * lg.project(g * u), "=", value * u)
    case.true("Gu is an axis: GΠG(Gu) = ζGu", g * lg.project(g * axis), "=", value * axis)


@counterexample
def projectors_in_floats(case: WorkedExample) -> None:
    """Of the projectors for equal gains, with their entries rounded to float64, many have an eigenvalue below 0."""
    last = case.scalar("d from 2 to", 1000)
    # The eigenvalue of the eigenvector 1 is the sum of a row, d − 1 of whose entries are equal.
    sums = [Fraction(1 - 1 / d) - (d - 1) * Fraction(1 / d) for d in range(2, int(last) + 1)]
    case.true("of the projector itself it is 0, for d = 10", Fraction(9, 10) - 9 * Fraction(1, 10), "=", 0)
    case.find("the eigenvalue of 1 in float64, for d = 10", sums[8])
    negative = case.find("number of d for which it is negative", sum(value < 0 for value in sums))
    case.claimed("few correct matrices have a negative eigenvalue: at most one in ten", 10 * negative, "≤", last)
