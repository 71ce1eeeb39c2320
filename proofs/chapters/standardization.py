"""Standardization: LayerNorm before gain and bias projects onto a sphere of radius √d in the hyperplane 1^⊥."""

import lngeom as lg
from lngeom.prover import dim, dot, norm, ones, root, square_norm
from lngeom.theorems import Epsilon, Vector, assume, nonzero, theorem, varies, wrong

from .._shared import deviation, mean, variance
from ..works import BA, GUPTA, OWN

AT_CONSTANT = "for a constant vector both sides are 0 in the prover, which reads 1/0 as 0; the library returns NaN"


def moved(x: Vector) -> Vector:
    """The vector x − μ1, spelled out."""
    return x - dot(ones(x), x) / dim(x) * ones(x)


@theorem(GUPTA, "eqs. 1 to 4", "y = (x − μ)/σ")
def test_definition(x: Vector):
    """At ε = 0 each standardized component is its distance from the mean in units of the deviation.

    σ y_i = x_i − μ, with μ = (1·x)/d and σ = ‖x − μ1‖/√d
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y = lg.standardize(x, eps=0)
    assert norm(moved(x)) / root(dim(x)) * y == moved(x)
    wrong("x_i μ in place of x_i − μ, as printed", lambda: deviation(x) * y == x * mean(x))
    wrong("the variance in place of the deviation", lambda: variance(x) * y == x - mean(x))
    wrong("the sample variance, divisor d − 1", lambda: y == (x - mean(x)) / root(variance(x) * dim(x) / (dim(x) - 1)))


@theorem(GUPTA, "eq. 9 and algorithm 1", "y = √d x_⊥/‖x_⊥‖")
def test_geometric(x: Vector):
    """At ε = 0, without gain and bias, LayerNorm removes the component along 1, normalizes, and scales by √d.

    ‖Πx‖ y = √d Πx at ε = 0 for x not constant
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y = lg.standardize(x, eps=0)
    assert norm(lg.project(x)) * y == root(dim(x)) * lg.project(x)
    wrong("radius √(d − 1)", lambda: norm(lg.project(x)) * y == root(dim(x) - 1) * lg.project(x))
    wrong("without the first step", lambda: norm(x) * y == root(dim(x)) * x)
    wrong("normalized before it is projected", lambda: norm(x) * y == root(dim(x)) * lg.project(x), at={"x": (7, 1)})


@theorem(GUPTA, "after eq. 9", "the norm of y is √d")
def test_norm(x: Vector, g: Vector):
    """At ε = 0 the standardized vector of a nonconstant x has norm √d.

    ‖y‖ = √d at ε = 0 for x not constant
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


@theorem(OWN, "standardization", "the image is a set of fixed points")
def test_idempotent(x: Vector, eps: Epsilon):
    """At ε = 0 standardizing twice is standardizing once.

    LN(LN(x)) = LN(x) at ε = 0 for x not constant
    """
    assume(varies(x), "x is not constant", redundant=AT_CONSTANT)
    y, inside = lg.standardize(x, eps=0), lg.standardize(x, eps=eps)
    assert lg.standardize(y, eps=0) == y
    wrong(
        "also for ε > 0",
        lambda: lg.standardize(inside, eps=eps) == inside,
        given=lambda: [("x is not constant", varies(x)), eps > 0],
    )


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
    """The whole layer: subtract the mean, divide by √(σ² + ε), multiply by the gain, add the bias.

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
