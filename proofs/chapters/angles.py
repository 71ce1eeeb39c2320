"""Angles: of vectors with the uniform direction, and what such angles can and cannot show."""

from typing import Any

from hypothesis import strategies as st

import lngeom as lg
from lngeom.prover import dim, dot, norm, ones, root, square_norm, trace
from lngeom.strategies import scalars, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import mean, variance
from ..works import GUPTA, OWN, SUMMARY


def cosine(x: Vector, b: Vector) -> Scalar:
    """The cosine of the angle between two vectors."""
    return dot(x, b) / (norm(x) * norm(b))


@theorem(OWN, "angles", "the sine that goes with a cosine, both of which the arc tangent takes", kind="lemma")
def test_between(x: Vector, z: Vector):
    """For nonzero x and z the part of z orthogonal to x has length ‖z‖√(1 − c²), c the cosine of their angle.

    ‖z − x(x·z)/(x·x)‖² = ‖z‖²(1 − c²), c = x·z/(‖x‖‖z‖)

    Remark: sin θ = √(1 − c²) ≥ 0 and cos θ = c, so that θ = atan2(√(1 − c²), c) in [0, π].
    """
    assume(square_norm(x) > 0, "x ≠ 0", redundant="for the zero vector both sides are ‖z‖² by the total inverse")
    assume(square_norm(z) > 0, "z ≠ 0", redundant="for the zero vector both sides are 0")
    c, rest = cosine(x, z), z - dot(x, z) / dot(x, x) * x
    assert square_norm(rest) == square_norm(z) * (1 - c**2)
    wrong("with c in the place of c²", lambda: square_norm(rest) == square_norm(z) * (1 - c))


@theorem(OWN, "angles", "the sine and the cosine of which the arc tangent is taken", kind="lemma")
def test_sine(x: Vector):
    """The angle between a nonzero x and 1 has sine σ/√(μ² + σ²).

    ‖Πx‖/‖x‖ = σ/√(μ² + σ²)

    Remark: sin θ = ‖Πx‖/‖x‖ ≥ 0 and cos θ have the quotient σ : μ, so that θ = atan2(σ, μ) in [0, π].
    """
    assume(square_norm(x) > 0, "x ≠ 0", redundant="for the zero vector both sides are 0 by the total inverse")
    sine, sigma = norm(lg.project(x)) / norm(x), root(variance(x))
    assert sine == sigma / root(mean(x) ** 2 + variance(x))
    wrong("σ/|μ|, the tangent", lambda: sine == sigma / abs(mean(x)))


@theorem(GUPTA, "section 3.3", "uses a second random vector with a different norm as control", kind="lemma")
def test_scale_free(x: Vector, b: Vector, c: Scalar):
    """A positive factor on a control vector does not change its angle with x.

    cos∠(x, cb) = cos∠(x, b) for c > 0
    """
    assume(c > 0)
    assert cosine(x, c * b) == cosine(x, b)
    wrong("for c ≠ 0", instead={"c > 0": lambda: c != 0})
    wrong("the inner product itself", lambda: dot(x, c * b) == dot(x, b))


@theorem(GUPTA, "section 3", "two random vectors are orthogonal on average", kind="lemma")
def test_opposite(x: Vector, b: Vector):
    """A vector and its opposite make supplementary angles with every direction.

    cos∠(−x, b) = −cos∠(x, b)

    Remark: The two angles add up to 180°, so that their mean is 90°, whatever x and b are.
    """
    assert cosine(-x, b) == -cosine(x, b)
    wrong("the same angle", lambda: cosine(-x, b) == cosine(x, b))


@theorem(GUPTA, "section 3", "says that random vectors are orthogonal on average, with small spread")
def test_null_mean_square(x: Vector):
    """A random isotropic direction has mean squared cosine 1/d with every vector but 0.

    tr(xxᵀ)/d = ‖x‖²/d

    Last step: For a direction b with ‖b‖ = 1 whose second moments do not change where two components are exchanged or
    one changes its sign, E(x·b)² = ‖x‖²/d.

    Remark: Every isotropic law is such a one.
    """
    d, energy = dim(x), trace(lambda v: x * dot(x, v), x) / dim(x)
    assert energy == square_norm(x) / d
    wrong("‖x‖²/d²", lambda: energy == square_norm(x) / d**2)
    wrong("the squared component along 1, one direction for all", lambda: energy == mean(x) ** 2)


@theorem(GUPTA, "section 3", "compares with the angles of random vectors")
def test_null_law(x: Vector):
    """For d ≥ 2 the squared cosine of a random isotropic direction with x ≠ 0 has a beta law of mean 1/d.

    a/(a + b) = 1/d for the law Beta(a, b) with a = 1/2 and b = (d − 1)/2

    Last step: For d ≥ 2 the squared component of a uniform point of the unit sphere has the law Beta(1/2, (d − 1)/2).

    Cites: law of one coordinate on the sphere
    """
    half, d = ones(x) / 2, dim(x)
    assert half / (half + (d - 1) / 2) == 1 / d
    wrong("Beta(1/2, d/2), of independent components", lambda: half / (half + d / 2) == 1 / d)


@st.composite
def one_coordinate(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """A vector x with one coordinate, a vector u, and u in that coordinate."""
    place, u = draw(st.integers(0, d - 1)), draw(vectors(d))
    return {"x": tuple(draw(scalars()) * (n == place) for n in range(d)), "u": u, "c": u[place]}


@theorem(OWN, "angles", "what directions see of a state that one coordinate carries", models=one_coordinate)
def test_one_coordinate(x: Vector, u: Vector, c: Scalar):
    """The cosine of a direction with a state of one nonzero coordinate depends on that coordinate alone.

    ‖x‖²c² = (x·u)² for x∘x = (x·1)x and x∘u = cx

    Last step: For d ≥ 2 let x have one coordinate. Then d cos² of its angle is 1 with 1 and with every vector of
    components ±1, and with an isotropic direction it has the law of dB for B of Beta(1/2, (d − 1)/2).

    Cites: law of one coordinate on the sphere
    """
    assume(x * x == dot(ones(x), x) * x, "x∘x = (x·1)x")
    assume(x * u == c * x, "x∘u = cx")
    assert square_norm(x) * c**2 == dot(x, u) ** 2
    wrong("‖u‖²/d in the place of c²", lambda: square_norm(x) * square_norm(u) / dim(x) == dot(x, u) ** 2)


@theorem(SUMMARY, "abstract", "concludes from a mean angle of 90° that there is no component along 1", kind="lemma")
def test_mean_angle(x: Vector, x_: Vector):
    """Two opposite vectors along 1 have all their energy along 1.

    Πx = 0 and x′ = −x imply (x·1̂)² + (x′·1̂)² = ‖x‖² + ‖x′‖²

    Remark: By angles.opposite their angles with any direction have mean 90°, so that a mean angle of 90° says nothing
    of the energy along 1.
    """
    assume(lg.project(x) == 0, "Πx = 0")
    assume(x_ == -x, "x′ = −x")
    along = dot(ones(x), x) ** 2 + dot(ones(x), x_) ** 2
    assert along / dim(x) == square_norm(x) + square_norm(x_)
    wrong("a mean angle of 90° means no component along 1", lambda: along == 0, at={"x": (1, 1), "x_": (-1, -1)})


@theorem(GUPTA, "section 3", "measures rotations by the whole layer, gain and bias included")
def test_rotation_by_layer_norm(x: Vector, eps: Epsilon):
    """Without gain and bias the cosine of a nonconstant x with LayerNorm's output is ‖Πx‖/‖x‖.

    x·LN_ε(x) = ‖Πx‖‖LN_ε(x)‖

    Remark: Unless x is constant; this is sin θ, so that the rotation is by |90° − θ|, whatever ε is.
    """
    y, z, centre = lg.standardize(x, eps=eps), lg.layer_norm(x, x, eps=eps), norm(lg.project(x))
    assert dot(x, y) == centre * norm(y)
    wrong("no rotation", lambda: dot(x, y) == norm(x) * norm(y))
    wrong("with a gain, here x itself, the same", lambda: dot(x, z) == centre * norm(z))


@theorem(GUPTA, "section 3", "measures rotations by the whole layer, gain and bias included")
def test_rotation_by_rms_norm(x: Vector, eps: Epsilon):
    """Without gain and bias RMSNorm does not rotate its input.

    x·RMS_ε(x) = ‖x‖‖RMS_ε(x)‖

    Remark: Unless x is 0, the cosine of the rotation is therefore 1, whatever ε is.
    """
    y, z = lg.rms_norm(x, eps=eps), lg.rms_norm(x, x, eps=eps)
    assert dot(x, y) == norm(x) * norm(y)
    wrong("with a gain, here x itself, either", lambda: dot(x, z) == norm(x) * norm(z))
