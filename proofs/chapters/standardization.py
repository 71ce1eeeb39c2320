"""Standardization: LayerNorm before gain and bias projects onto a sphere of radius √d in the hyperplane 1^⊥."""

from fractions import Fraction

import lngeom as lg
from lngeom import kernel as sy
from lngeom.kernel import dim, dot, norm, ones, root, square_norm, summed
from lngeom.strategies import masks, one_hot, sphere, standard, vectors
from lngeom.theorems import Epsilon, Vector, assume, nonzero, theorem, varies, wrong

from .._shared import deviation, mean, variance
from ..works import BA, DIGEST, GUPTA, OWN, SAMUELSON

AT_CONSTANT = "for a constant vector both sides are 0 in the kernel, which reads 1/0 as 0; the library returns NaN"


def moved(x: Vector) -> Vector:
    """The vector x − μ1, spelled out."""
    return x - dot(ones(x), x) / dim(x) * ones(x)


def sample_standardized(x: Vector) -> Vector:
    """The quotient (x − μ1)/s with the sample variance, divisor d − 1."""
    return (x - mean(x)) / root(variance(x) * dim(x) / (dim(x) - 1))


@theorem(GUPTA, "eqs. 1 to 4", "y = (x − μ)/σ")
def test_definition(x: Vector):
    """Each component is its distance from the mean in units of the deviation.

    σ y_i = x_i − μ, with μ = (1·x)/d and σ = ‖x − μ1‖/√d
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y = lg.standardize(x, eps=0)
    assert norm(moved(x)) / root(dim(x)) * y == moved(x)
    wrong("x_i μ in place of x_i − μ, as printed", lambda: deviation(x) * y == x * mean(x))
    wrong("the variance in place of the deviation", lambda: variance(x) * y == x - mean(x))
    wrong("the sample variance, divisor d − 1", lambda: y == sample_standardized(x))


@theorem(GUPTA, "eq. 9 and algorithm 1", "y = √d x_⊥/‖x_⊥‖")
def test_geometric(x: Vector):
    """LayerNorm removes the component along 1, normalizes, and scales by √d.

    ‖Πx‖ y = √d Πx
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y = lg.standardize(x, eps=0)
    assert norm(lg.project(x)) * y == root(dim(x)) * lg.project(x)
    wrong("radius √(d − 1)", lambda: norm(lg.project(x)) * y == root(dim(x) - 1) * lg.project(x))
    wrong("without the first step", lambda: norm(x) * y == root(dim(x)) * x)
    wrong("normalized before it is projected", lambda: norm(x) * y == root(dim(x)) * lg.project(x), at={"x": (7, 1)})


@theorem(GUPTA, "after eq. 9", "the norm of y is √d")
def test_norm(x: Vector, g: Vector):
    """The standardized vector has norm √d.

    ‖y‖ = √d at ε = 0
    """
    assume(varies(x), "x is not constant")
    y = lg.standardize(x, eps=0)
    assert norm(y) == root(dim(x))
    wrong("norm √(d − 1)", lambda: norm(y) == root(dim(x) - 1))
    wrong("norm 1, the sphere of unit vectors", lambda: norm(y) == 1, at={"x": (3, 1)})
    wrong(
        "still √d after a gain",
        lambda: norm(lg.layer_norm(x, g, eps=0)) == root(dim(x)),
        at={"x": (1, -1), "g": (1, 2)},
    )


@theorem(GUPTA, "after eq. 9", "y is orthogonal to the uniform vector", kind="lemma")
def test_mean_zero(x: Vector, g: Vector, eps: Epsilon):
    """The standardized vector is orthogonal to the uniform vector, for every ε.

    1·y_ε = 0
    """
    assert dot(ones(x), lg.standardize(x, eps=eps)) == 0
    wrong(
        "also after a gain",
        lambda: dot(ones(x), lg.layer_norm(x, g, eps=eps)) == 0,
        at={"x": (1, -1), "g": (1, 2), "eps": 0},
    )
    wrong("also after a bias", lambda: dot(ones(x), lg.layer_norm(x, None, g, eps=eps)) == 0)


def on_image(d: int) -> dict[str, object]:
    """Vectors of mean 0 and variance 1."""
    return {"x": standard(d)}


def on_sphere(d: int) -> dict[str, object]:
    """Vectors of norm √d and any mean."""
    return {"x": sphere(d)}


@theorem(GUPTA, "section 2", "mean and variance tell little about norm and orientation", models=on_image)
def test_same_information(x: Vector):
    """A vector orthogonal to 1 and of norm √d has variance 1.

    1·x = 0 and ‖x‖² = d imply σ²(x) = 1
    """
    assume(dot(ones(x), x) == 0, "x is orthogonal to 1")
    assume(square_norm(x) == dim(x), "‖x‖² = d")
    assert variance(x) == 1
    half = Fraction(1, 2)
    wrong("norm 1 suffices", instead={"‖x‖² = d": lambda: square_norm(x) == 1}, at={"x": (half, -half, half, -half)})


@theorem(DIGEST, "geometric effect", "the image is a (d − 1)-dimensional hypersphere", models=on_image)
def test_sphere_fixed(x: Vector):
    """Every vector of the sphere is its own standardization, so the image is the whole sphere.

    1·x = 0 and ‖x‖² = d imply y = x

    Last step: With standardization.norm and standardization.mean_zero: the image of LN at ε = 0, of vectors that are
    not constant, is the set of all z with 1·z = 0 and ‖z‖² = d.

    Remark: It is the sphere of radius √d in the hyperplane 1^⊥ of dimension d − 1, a sphere of dimension d − 2, not
    d − 1.
    """
    assume(dot(ones(x), x) == 0, "x is orthogonal to 1")
    assume(square_norm(x) == dim(x), "‖x‖² = d")
    assert lg.standardize(x, eps=0) == x
    wrong("the sphere need not lie in the hyperplane", given=lambda: [("‖x‖² = d", square_norm(x) == dim(x))])
    wrong("any radius", given=lambda: [("x is orthogonal to 1", dot(ones(x), x) == 0)])


@theorem(OWN, "standardization", "the image is a set of fixed points")
def test_idempotent(x: Vector, eps: Epsilon):
    """Standardizing twice is standardizing once.

    LN(LN(x)) = LN(x) at ε = 0
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y, inside = lg.standardize(x, eps=0), lg.standardize(x, eps=eps)
    assert lg.standardize(y, eps=0) == y
    wrong(
        "also for ε > 0",
        lambda: lg.standardize(inside, eps=eps) == inside,
        given=lambda: [("x is not constant", varies(x)), eps > 0],
    )


@theorem(
    SAMUELSON,
    "p. 1522",
    "no observation is more than √(n − 1) deviations from the mean",
    models=lambda d: {"e": one_hot(d)},
    without={"exactly one component of e is 1": lambda d: {"x": vectors(d, kind="alternating"), "e": masks(d)}},
)
def test_component_bound(x: Vector, e: Vector):
    """No component exceeds √(d − 1).

    y_i² ≤ d − 1

    Last step: For e the i-th coordinate vector e·y is y_i: the bound holds of every component of every vector that is
    not constant.
    """
    assume(
        varies(x),
        "x is not constant",
        redundant="for a constant vector y is 0 where 1/0 is read as 0; the library returns NaN",
    )
    assume(e * e == e, "e is 0 or 1 in each component")
    assume(summed(e) == 1, "exactly one component of e is 1")
    assume(dim(e) > 1, "d ≥ 2", redundant="implied by the first hypothesis, as every vector of dimension 1 is constant")
    y = lg.standardize(x, eps=0)
    assert dot(e, y) ** 2 <= dim(x) - 1
    wrong("y_i² < d − 1", lambda: dot(e, y) ** 2 < dim(x) - 1)


@test_component_bound.proof
def _(goal, given, x, e):
    not_constant, zero_or_one, one, dimension = given
    y, d = lg.standardize(x, eps=0), dim(x)
    t, factor = dot(e, y), d * (d - 1)
    # ‖(d − 1)y − t(de − 1)‖² = d(d − 1)(d − 1 − t²), because ‖y‖² = d, 1·y = 0, ‖e‖² = 1·e = 1.
    squares = sy.total(sy.square((d - 1) * y - t * (d * e - ones(x))))
    spread = sy.prove(sy.equal((d - 1 - t * t) * factor, squares.conclusion.term), not_constant, zero_or_one, one)
    scaled = sy.transport((d - 1 - t * t) * factor, spread, squares)
    whole = sy.multiply(scaled, sy.prove(sy.greater(1 / factor), dimension))
    above = sy.prove(sy.greater(factor), dimension)
    same = sy.prove(sy.equal(goal.term, whole.conclusion.term), above, dimension, not_constant)
    return sy.transport(goal.term, same, whole)


@theorem(
    OWN,
    "standardization",
    "a massive activation leaves LayerNorm as √(d − 1) at most",
    models=lambda d: {"e": one_hot(d)},
)
def test_component_attained(e: Vector):
    """One-hot vectors attain the bound of a component.

    y_i = √(d − 1) for x = e_i
    """
    assume(e * e == e, "e is 0 or 1 in each component")
    assume(summed(e) == 1, "exactly one component of e is 1")
    assume(dim(e) > 1, "d ≥ 2", redundant="for d = 1 both sides are 0 where 1/0 is read as 0; the library returns NaN")
    y = lg.standardize(e, eps=0)
    assert dot(e, y) == root(dim(e) - 1)
    wrong("y_i = √d", lambda: dot(e, y) == root(dim(e)))


@theorem(GUPTA, "eq. 11", "z_i = α_i x_i + β_i, with x where y is meant", kind="definition")
def test_affine(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """Gain and bias act on the standardized vector.

    LN_ε(x; g, b) = g ∘ y_ε + b
    """
    y, z = lg.standardize(x, eps=eps), lg.layer_norm(x, g, b, eps=eps)
    assert z == g * y + b
    wrong("gain and bias applied to x, as printed", lambda: z == g * x + b, at={"x": (1, 3), "g": (1, 1)})
    wrong("gain after bias", lambda: z == g * (y + b))


@theorem(BA, "eqs. 3 and 4", "defines LayerNorm, without ε", kind="definition")
def test_layer(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """The whole layer: subtract the mean, divide by the root of variance and ε, stretch and move.

    LN_ε(x; g, b) = g∘(x − μ1)/√(‖x − μ1‖²/d + ε) + b, with μ = (1·x)/d
    """
    z, u, d = lg.layer_norm(x, g, b, eps=eps), moved(x), dim(x)
    assert z == g * u / root(square_norm(u) / d + eps) + b
    wrong("the mean is not subtracted", lambda: z == g * x / root(square_norm(x) / d + eps) + b)
    wrong("ε outside the root", lambda: z == g * u / (root(square_norm(u) / d) + eps) + b, given=lambda: [eps > 0])
    wrong("the sample variance, divisor d − 1", lambda: z == g * u / root(square_norm(u) / (d - 1) + eps) + b)


@theorem(OWN, "measurement", "what a layer puts out is its normalized vector, stretched and moved")
def test_recovered(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """Where no gain is zero, gain and bias can be undone, those of LayerNorm and those of RMSNorm.

    (N_ε(x; g, b) − b)/g = N_ε(x) for N = LN and for N = RMS
    """
    assume(nonzero(g))
    for layer in (lg.layer_norm, lg.rms_norm):
        assert (layer(x, g, b, eps=eps) - b) / g == layer(x, eps=eps)
    z = lg.layer_norm(x, g, b, eps=eps)
    wrong("the gain undone before the bias", lambda: z / g - b == lg.layer_norm(x, eps=eps))
    wrong("the centred input is recovered", lambda: (z - b) / g == lg.project(x))
    wrong("RMSNorm gives back its input", lambda: (lg.rms_norm(x, g, b, eps=eps) - b) / g == x)
