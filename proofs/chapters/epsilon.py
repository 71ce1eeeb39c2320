"""Epsilon: with ε > 0 outputs lie inside the sphere, and how deep is a matter of σ²/ε."""

from fractions import Fraction

import lngeom as lg
from lngeom import prover as sy
from lngeom.epsilon import relative_radius
from lngeom.norms import scale
from lngeom.prover import dim, norm, ones, root, square_norm
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, varies, wrong

from .._shared import deviation, variance
from ..works import BLOG, GUPTA, OWN, RIECHERS


def length(x: Vector, eps: Scalar) -> Scalar:
    """The squared length ‖LN_ε(x)‖²."""
    return square_norm(lg.standardize(x, eps=eps))


@theorem(RIECHERS, "eq. 6", "the norm of a standardized vector falls short of √N by a factor")
def test_norm(x: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, the squared length of an output is d times σ²/(σ² + ε).

    ‖y_ε‖² = d‖Πx‖²/(‖Πx‖² + dε) for ε > 0
    """
    assume(eps > 0, redundant="at ε = 0 both sides are d, or 0 for a constant vector, where the prover reads 0/0 as 0")
    d, square = dim(x), square_norm(lg.project(x))
    assert length(x, eps) == d * square / (square + d * eps)
    wrong("ε in place of dε", lambda: length(x, eps) == d * square / (square + eps))
    wrong("norm √d for every ε", lambda: length(x, eps) == d, at={"x": (1, -1), "eps": 3})
    wrong("ε outside the root", lambda: square_norm(lg.standardize(x, eps=eps, placement="outside")) == length(x, eps))


@theorem(RIECHERS, "section 2", "outputs lie inside the ball of radius √N")
def test_interior(x: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, outputs lie strictly inside the sphere of radius √d.

    ‖y_ε‖² < d for ε > 0
    """
    assume(eps > 0)
    assert length(x, eps) < dim(x)
    wrong("also at ε = 0", instead={"ε > 0": lambda: eps == 0})
    wrong("‖y_ε‖² < d − 1", lambda: length(x, eps) < dim(x) - 1)


@theorem(RIECHERS, "eq. 6", "how near the surface an output lies")
def test_gauge(x: Vector, eps: Epsilon):
    """Without gain and bias the relative radius is the norm of the output divided by √d.

    ‖y_ε‖ = √d r for ε > 0, with r = σ/√(σ² + ε)
    """
    assume(eps > 0, redundant="at ε = 0 both sides are √d, or 0 for a constant vector, where the prover reads 0/0 as 0")
    y = lg.standardize(x, eps=eps)
    assert norm(y) == root(dim(x)) * relative_radius(x, eps=eps)
    wrong("the relative radius squared", lambda: norm(y) == root(dim(x)) * relative_radius(x, eps=eps) ** 2)


@theorem(OWN, "epsilon", "LayerNorm with ε is not free of scale")
def test_scaling(x: Vector, g: Vector, b: Vector, a: Scalar, eps: Epsilon):
    """Multiplying the input by a > 0 is dividing ε by a².

    LN_ε(ax; g, b) = LN_{ε/a²}(x; g, b) for a > 0
    """
    assume(a > 0)
    assume(eps >= 0, redundant="for ε < 0 both roots are of a²σ² + ε up to the factor a², and 0 together")
    assert lg.layer_norm(a * x, g, b, eps=eps) == lg.layer_norm(x, g, b, eps=eps / (a * a))
    wrong("LN_ε does not depend on the scale", lambda: lg.standardize(a * x, eps=eps) == lg.standardize(x, eps=eps))
    wrong("ε/a", lambda: lg.standardize(a * x, eps=eps) == lg.standardize(x, eps=eps / a))


@theorem(GUPTA, "after eq. 4", "for σ = 0 LayerNorm outputs zeros", kind="lemma")
def test_constant(x: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """With ε > 0 a constant vector becomes the bias.

    LN_ε(c1; g, b) = b for ε > 0
    """
    assume(eps > 0, redundant="at ε = 0 the prover reads 0/0 as 0; the library returns NaN")
    y = lg.layer_norm(c * ones(x), g, b, eps=eps)
    assert y == b
    wrong(
        "it becomes 0", lambda: y == 0, at={"x": (0, 0), "c": 5, "g": (1, 1), "b": (1, 2), "eps": Fraction(1, 100000)}
    )
    wrong("the same for RMSNorm", lambda: lg.rms_norm(c * ones(x), g, b, eps=eps) == b)


@theorem(BLOG, "definition", "divides by the standard deviation plus ε")
def test_placements(x: Vector, eps: Epsilon):
    """For one vector ε outside the root equals another ε inside it.

    σ + ε = √(σ² + ε′) for ε′ = 2σε + ε²
    """
    assume(eps >= 0, redundant="for ε < 0, which the library does not take, σ + ε may be negative")
    outside = scale(variance(x), eps=eps, placement="outside")
    assert outside == scale(variance(x), eps=2 * scale(variance(x), eps=0) * eps + eps * eps)
    wrong("the same ε", lambda: outside == scale(variance(x), eps=eps), at={"x": (1, -1), "eps": 1})
    wrong("ε² inside", lambda: outside == scale(variance(x), eps=eps * eps))


def mismatch(x: Vector, outside: Scalar, inside: Scalar) -> Scalar:
    """How far the squares of the two denominators are from each other, (σ + ε_out)² − (σ² + ε_in)."""
    v = variance(x)
    return scale(v, eps=outside, placement="outside") ** 2 - scale(v, eps=inside) ** 2


@theorem(BLOG, "definition", "the two forms are used interchangeably")
def test_no_conversion(x: Vector, x2: Vector, eps: Epsilon, c: Scalar):
    """For ε ≠ 0 no constant converts ε outside the root into ε inside it for two vectors of different deviation.

    the mismatches (σ + ε)² − (σ² + ε′) of two vectors of unequal σ are unequal

    Last step: No ε′ ≥ 0 has σ + ε = √(σ² + ε′) for two vectors of unequal σ, if ε ≠ 0.
    """
    assume(eps != 0)
    assume(
        c >= 0,
        "ε′ ≥ 0",
        redundant="for ε′ < 0 the root inside is not real and PyTorch returns NaN; the prover reads it as 0",
    )
    assume(deviation(x) != deviation(x2), "σ(x) ≠ σ(x′)")
    assert mismatch(x, eps, c) != mismatch(x2, eps, c)
    wrong("they are unequal whatever ε is", instead={"ε ≠ 0": lambda: eps >= 0})


@test_no_conversion.proof
def _(goal, given, x, x2, eps, c):
    outside, inside, different = given
    apart = sy.multiply(sy.multiply(sy.constant(2, "!="), outside), different)
    return sy.transport(goal.term, sy.prove(sy.equal(goal.term, apart.conclusion.term), inside), apart)


@theorem(BLOG, "definition", "lnorm = h∘g∘f with f = Π and g(x) = √n x/(‖x‖ + ε√n)")
def test_outside_steps(x: Vector, eps: Epsilon):
    """With ε > 0 outside the root LayerNorm without gain and bias divides √d Πx by ‖Πx‖ + ε√d.

    (‖Πx‖ + ε√d) y = √d Πx for y = Πx/(σ + ε)
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    radius, centred, y = root(dim(x)), lg.project(x), lg.standardize(x, eps=eps, placement="outside")
    assert (norm(centred) + eps * radius) * y == radius * centred
    wrong("ε without √d", lambda: (norm(centred) + eps) * y == radius * centred)
    inside = lg.standardize(x, eps=eps)
    wrong("ε inside the root", lambda: (norm(centred) + eps * radius) * inside == radius * centred)


@theorem(BLOG, "on g", "only vectors very close to the origin miss the sphere")
def test_outside_length(x: Vector, eps: Epsilon):
    """With ε > 0 outside the root LayerNorm without gain and bias has outputs of length √d σ/(σ + ε).

    ‖y‖²(σ + ε)² = dσ² for y = Πx/(σ + ε)
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    d, square = dim(x), square_norm(lg.standardize(x, eps=eps, placement="outside"))
    assert square * (deviation(x) + eps) ** 2 == d * deviation(x) ** 2
    wrong("norm √d", lambda: square == d)
    wrong("‖x‖ in place of √d σ", lambda: square * (norm(x) + eps * root(d)) ** 2 == d * square_norm(x))


@theorem(BLOG, "on g", "‖x‖ ≫ ε brings a vector to the sphere")
def test_outside_rms_length(x: Vector, eps: Epsilon):
    """With ε > 0 outside the root RMSNorm without gain and bias has outputs of length √d ‖x‖/(‖x‖ + ε√d).

    ‖g(x)‖²(‖x‖ + ε√d)² = d‖x‖² for g(x) = x/(‖x‖/√d + ε)
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where x ≠ 0, and the library takes no ε < 0")
    d, square = dim(x), square_norm(lg.rms_norm(x, eps=eps, placement="outside"))
    assert square * (norm(x) + eps * root(d)) ** 2 == d * square_norm(x)
    wrong("ε without √d", lambda: square * (norm(x) + eps) ** 2 == d * square_norm(x))


@theorem(OWN, "epsilon", "dynamics of repeated normalization")
def test_fixed_point(x: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, LayerNorm multiplies v − (1 − ε) by ε/(v + ε), v the variance.

    v′ − (1 − ε) = ε(v − (1 − ε))/(v + ε) for ε > 0, with v′ the variance of LN_ε(x)
    """
    assume(eps > 0)
    before, after = variance(x), variance(lg.standardize(x, eps=eps))
    assert after - (1 - eps) == eps * (before - (1 - eps)) / (before + eps)
    wrong("the fixed point is 1", lambda: after - 1 == eps * (before - 1) / (before + eps))
    wrong("the factor is 1/(v + ε)", lambda: after - (1 - eps) == (before - (1 - eps)) / (before + eps))


@theorem(RIECHERS, "key results", "typical inputs are mapped near the surface")
def test_concentration(x: Vector, eps: Epsilon):
    """The relative radius of a nonconstant vector falls short of 1 by at most ε/2σ².

    1 − r ≤ ε/2σ² for σ > 0
    """
    assume(varies(x), "x is not constant")
    assume(eps > 0, redundant="at ε = 0 both sides are 0, and the library takes no ε < 0")
    depth = 1 - relative_radius(x, eps=eps)
    assert depth <= eps / (2 * variance(x))
    wrong("1 − r ≤ ε/4σ²", lambda: depth <= eps / (4 * variance(x)))
    wrong(
        "1 − r ≤ ε/2",
        lambda: depth <= eps / 2,
        at={"x": (Fraction(1, 1000), Fraction(-1, 1000)), "eps": Fraction(1, 100000)},
    )


@theorem(OWN, "epsilon", "the other bound: 1 − r is about ε/2σ²")
def test_concentration_below(x: Vector, eps: Epsilon):
    """With ε > 0 the relative radius falls short of 1 by at least ε/2(σ² + ε).

    1 − r ≥ ε/2(σ² + ε) for ε > 0
    """
    assume(eps > 0, redundant="at ε = 0 both sides are 0 where σ > 0, and the library takes no ε < 0")
    depth = 1 - relative_radius(x, eps=eps)
    assert depth >= eps / (2 * (variance(x) + eps))
    wrong(
        "1 − r ≥ ε/2σ²",
        lambda: depth >= eps / (2 * variance(x)),
        given=lambda: [("x is not constant", varies(x)), eps > 0],
    )
