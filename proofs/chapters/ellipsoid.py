"""Ellipsoid: where the outputs of LayerNorm lie, and its principal axes."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.fibers import invert
from lngeom.prover import dim, dot, norm, ones, root, square_norm, summed
from lngeom.strategies import vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, varies, wrong

from .._shared import as_sum, variance
from ..works import ABSTRACT, BLOG, OWN, RIECHERS


@theorem(ABSTRACT, "mechanism 1", "says that all output vectors have mean zero")
def test_hyperplane(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """With nonzero gains all outputs lie in one hyperplane, with normal G⁻¹1.

    α·(z − b) = 0 with α_i = 1/g_i
    """
    assume(nonzero(g))
    y = lg.layer_norm(x, g, b, eps=eps)
    assert dot(1 / g, y - b) == 0
    wrong("outputs have mean zero", lambda: summed(y) == 0, at={"x": (1, -1), "g": (1, 1), "b": (1, 0), "eps": 0})
    wrong(
        "outputs without bias have mean zero",
        lambda: summed(lg.layer_norm(x, g, eps=eps)) == 0,
        at={"x": (1, -1), "g": (1, 2), "eps": 0},
    )
    wrong("normal G1", lambda: dot(g, y - b) == 0)
    wrong("through the origin", lambda: dot(1 / g, y) == 0, at={"x": (1, -1), "g": (1, 2), "b": (3, 0), "eps": 0})


def sphere(g: Vector, z: Vector) -> Scalar:
    """The squared gauge Σ z_i²/g_i²."""
    return square_norm(z / g)


@theorem(RIECHERS, "eq. 6", "outputs lie within a hyperellipsoid")
def test_interior(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """With ε > 0 and nonzero gains all outputs lie strictly inside the ellipsoid.

    Σ (z_i − b_i)²/g_i² < d for ε > 0 and g_i ≠ 0
    """
    assume(nonzero(g), redundant="the total inverse leaves the components of zero gain out, which lowers the sum")
    assume(eps > 0)
    y = lg.layer_norm(x, g, b, eps=eps)
    assert sphere(g, y - b) < dim(x)
    wrong("strictly inside at ε = 0 too", instead={"ε > 0": lambda: eps >= 0}, at={"x": (1, -1), "g": (1, 2)})
    wrong("Σ (z_i − b_i)² < d, without the gains", lambda: square_norm(y - b) < dim(x))
    wrong("Σ (z_i − b_i)²/g_i² < d − 1", lambda: sphere(g, y - b) < dim(x) - 1)


@theorem(RIECHERS, "eq. 6", "typical inputs are mapped near the surface")
def test_surface(x: Vector, g: Vector, b: Vector):
    """At ε = 0 and with nonzero gains the outputs of nonconstant vectors lie on the ellipsoid's surface.

    Σ (z_i − b_i)²/g_i² = d at ε = 0 for x not constant
    """
    assume(nonzero(g))
    assume(varies(x), "x is not constant")
    y = lg.layer_norm(x, g, b, eps=0)
    assert sphere(g, y - b) == dim(x)
    wrong("radius √(d − 1)", lambda: sphere(g, y - b) == dim(x) - 1)
    wrong("norm √d after the gain", lambda: square_norm(y - b) == dim(x))


@theorem(ABSTRACT, "key results", "LN maps to the interior of a hyperellipsoid")
def test_image(g: Vector, b: Vector, z: Vector, eps: Epsilon):
    """With ε > 0 and nonzero gains every point of the open ellipsoid is an output.

    LN(u) = z for u = √ε y/√(1 − ‖y‖²/d), y = (z − b)/g, if α·(z − b) = 0 and ‖y‖² < d

    Last step: With ellipsoid.hyperplane and ellipsoid.interior: the image is the set of all z with α·(z − b) = 0 and Σ
    (z_i − b_i)²/g_i² < d.
    """
    assume(nonzero(g))
    assume(eps > 0)
    assume(summed((z - b) / g) == 0, "α·(z − b) = 0")
    assume(sphere(g, z - b) < dim(z), "‖y‖² < d")
    y = (z - b) / g
    assert lg.layer_norm(invert(y, eps=eps), g, b, eps=eps) == z
    u = y / root(1 - sphere(g, z - b) / dim(z))
    wrong("the inverse without √ε", lambda: lg.layer_norm(u, g, b, eps=eps) == z)
    wrong("points on the surface are reached too", lambda: lg.layer_norm(y, g, b, eps=eps) == z)


@theorem(BLOG, "on h", "the bias moves the ellipsoid and is its center", kind="lemma")
def test_center(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """The set of outputs is symmetric about the bias.

    LN(−x) − b = −(LN(x) − b)
    """
    z, opposite = lg.layer_norm(x, g, b, eps=eps), lg.layer_norm(-x, g, b, eps=eps)
    assert opposite - b == -(z - b)
    wrong("0 is the center", lambda: opposite == -z)


def off_alpha(g: Vector, v: Vector) -> Vector:
    """The projection off α = G⁻¹1, Π₂v = v − α(α·v)/‖α‖²."""
    return v - dot(1 / g, v) / square_norm(1 / g) / g


def inverse_spread(g: Vector, v: Vector) -> Vector:
    """The pseudo-inverse Π₂G⁻²Π₂v of GΠG, with Π₂ the projector off α = G⁻¹1."""
    return off_alpha(g, off_alpha(g, v) / (g * g))


@theorem(ABSTRACT, "failure signatures", "complex eigenvalues would be an error", kind="lemma")
def test_form_symmetric(v: Vector, w: Vector, g: Vector):
    """The matrix of the ellipsoid is symmetric.

    w·(Π₂G⁻²Π₂v) = v·(Π₂G⁻²Π₂w)

    Remark: Its eigenvalues are real.
    """
    assert dot(w, inverse_spread(g, v)) == dot(v, inverse_spread(g, w))
    wrong(
        "with one projector only",
        lambda: dot(w, off_alpha(g, v) / (g * g)) == dot(v, off_alpha(g, w) / (g * g)),
        given=lambda: [nonzero(g)],
    )


def untilted(g: Vector, v: Vector) -> Vector:
    """The same with the projector off 1, ΠG⁻²Πv."""
    return lg.project(lg.project(v) / (g * g))


@theorem(ABSTRACT, "failure signatures", "negative eigenvalues would be an error")
def test_form_positive(v: Vector, g: Vector):
    """The matrix of the ellipsoid has no negative eigenvalue.

    v·(Π₂G⁻²Π₂v) ≥ 0
    """
    form = dot(v, inverse_spread(g, v))
    assert form >= 0
    wrong("positive for every v", lambda: form > 0)
    wrong("at least the form with the projector off 1", lambda: form >= dot(v, untilted(g, v)))


def spread(g: Vector, v: Vector) -> Vector:
    """The vector GΠGv; the eigenvalues of GΠG are the squared semi-axes over d."""
    return g * lg.project(g * v)


@theorem(RIECHERS, "axes of the hyperellipsoid", "takes the axes from Π₂G⁻²Π₂, which is therefore to be (GΠG)⁺")
def test_penrose(v: Vector, w: Vector, g: Vector):
    """For nonzero gains Π₂G⁻²Π₂ is the pseudo-inverse of GΠG: the four Penrose equations.

    AXA = A, XAX = X, (AX)ᵀ = AX and (XA)ᵀ = XA for A = GΠG and X = Π₂G⁻²Π₂

    Last step: A matrix satisfies the four equations for GΠG if and only if it is Π₂G⁻²Π₂.
    """
    assume(nonzero(g))
    assert spread(g, inverse_spread(g, spread(g, v))) == spread(g, v)
    assert inverse_spread(g, spread(g, inverse_spread(g, v))) == inverse_spread(g, v)
    assert dot(w, spread(g, inverse_spread(g, v))) == dot(v, spread(g, inverse_spread(g, w)))
    assert dot(w, inverse_spread(g, spread(g, v))) == dot(v, inverse_spread(g, spread(g, w)))
    wrong(
        "AXA = A with Π² in place of Π₂, as if it were a power of Π",
        lambda: spread(g, untilted(g, spread(g, v))) == spread(g, v),
        at={"v": (0, 1), "g": (1, 2)},
    )
    wrong("XAX = X with Π²", lambda: untilted(g, spread(g, untilted(g, v))) == untilted(g, v))
    wrong("(AX)ᵀ = AX with Π²", lambda: dot(w, spread(g, untilted(g, v))) == dot(v, spread(g, untilted(g, w))))
    wrong("(XA)ᵀ = XA with Π²", lambda: dot(w, untilted(g, spread(g, v))) == dot(v, untilted(g, spread(g, w))))
    wrong("G⁻¹ΠG⁻¹", lambda: dot(w, spread(g, lg.project(v / g) / g)) == dot(v, spread(g, lg.project(w / g) / g)))


@theorem(RIECHERS, "Π₂ = I − αα^T/(α^Tα)", "the hyperplane of the outputs")
def test_inverse_product(v: Vector, g: Vector):
    """For nonzero gains the product of GΠG and its pseudo-inverse is the projector off G⁻¹1.

    GΠG·Π₂G⁻²Π₂ = Π₂ = I − αα^T/‖α‖²
    """
    assume(nonzero(g))
    assert spread(g, inverse_spread(g, v)) == off_alpha(g, v)
    wrong("the projector off 1", lambda: spread(g, inverse_spread(g, v)) == lg.project(v))


def divided(gains: sy.Proved, eigen: sy.Proved, g: Vector, v: Vector, lam: Scalar) -> sy.Proved:
    """λ v/g² = v − (g·v)/d · 1/g."""
    return sy.prove(sy.equal(lam * v / g**2, v - dot(g, v) / dim(g) / g), gains, (eigen, lam * v))


def orthogonal_to_alpha(gains: sy.Proved, eigen: sy.Proved, value: sy.Proved, g: Vector, v: Vector) -> sy.Proved:
    """α·v = 0, because α·GΠGv = 0 and the eigenvalue is not 0."""
    lam = value.conclusion.term
    return sy.cancel(dot(1 / g, v), sy.prove(sy.equal(dot(1 / g, v) * lam, 0), gains, (eigen, lam * v)), value)


@st.composite
def axes(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """An eigenvector v of GΠG, a difference of two coordinates with gains of equal size; and u = Gv, one of ΠG²Π."""
    g, v = list(draw(vectors(d, "!="))), [Fraction(0)] * d
    if d > 1:
        i, k = draw(st.permutations(range(d)))[:2]
        sign = draw(st.sampled_from((1, -1)))
        v[i], v[k], g[k] = Fraction(1), Fraction(-sign), sign * g[i]
        return {"g": g, "v": v, "u": [a * b for a, b in zip(g, v, strict=True)], "lam": g[i] ** 2}
    return {"g": g, "v": v, "u": v, "lam": 1}


@theorem(ABSTRACT, "mechanism 2", "prints the semi-axes as √N/λ for eigenvalues λ of Π₂G⁻²Π₂", models=axes)
def test_semi_axes(g: Vector, v: Vector, lam: Scalar):
    """For nonzero gains an axis with eigenvalue λ ≠ 0 of GΠG has eigenvalue 1/λ of Π₂G⁻²Π₂.

    GΠGv = λv and λ ≠ 0 imply λ·Π₂G⁻²Π₂v = v

    Remark: Semi-axes are √(dλ) = √(d/λ′) with λ′ = 1/λ, the eigenvalue of Π₂G⁻²Π₂.
    """
    assume(nonzero(g))
    assume(spread(g, v) == lam * v, "GΠGv = λv")
    assume(lam != 0)
    assert lam * inverse_spread(g, v) == v
    wrong("semi-axes √d/λ′, as if λ′² were the eigenvalue", lambda: lam * lam * inverse_spread(g, v) == v)


@test_semi_axes.proof
def _(goal, given, g, v, lam):
    gains, eigen, value = given
    flat = orthogonal_to_alpha(gains, eigen, value, g, v)
    quotient = divided(gains, eigen, g, v, lam)
    long = sy.prove(sy.greater(square_norm(1 / g)), gains)  # ‖α‖² > 0
    return sy.prove(goal, gains, long, flat, (quotient, lam * v / g**2))


@theorem(RIECHERS, "semi-axes √(N/λ)", "λ the eigenvalues of Π₂G⁻²Π₂", models=axes)
def test_end_point(g: Vector, v: Vector, lam: Scalar):
    """For nonzero gains the point at distance √(dλ) along an axis with λ > 0 lies on the surface.

    Σ z_i²/g_i² = d for z = √(dλ) v/‖v‖, GΠGv = λv
    """
    assume(nonzero(g))
    assume(spread(g, v) == lam * v, "GΠGv = λv")
    assume(lam > 0)
    assume(square_norm(v) > 0, "v ≠ 0")
    assert sphere(g, root(dim(v) * lam) / norm(v) * v) == dim(v)
    wrong(
        "at distance √d·λ",
        lambda: sphere(g, root(dim(v)) * lam / norm(v) * v) == dim(v),
        at={"g": (1, 2), "v": (1, -2), "lam": Fraction(5, 2)},
    )
    wrong("at distance √(d/λ)", lambda: sphere(g, root(dim(v) / lam) / norm(v) * v) == dim(v))


@test_end_point.proof
def _(goal, given, g, v, lam):
    gains, eigen, positive, length = given
    flat = orthogonal_to_alpha(gains, eigen, sy.weaken(positive, "!="), g, v)
    quotient = divided(gains, eigen, g, v, lam)
    # λ‖v/g‖² = ‖v‖² − (g·v)(α·v)/d
    along = sy.combine(lam * sphere(g, v) - square_norm(v), [(1, v, quotient), (-dot(g, v) / dim(g), None, flat)])
    return sy.prove(goal, along, positive, length)


@theorem(RIECHERS, "lengths √(Nζ)", "says that ΠG²Π does not deliver the directions", models=axes)
def test_directions(g: Vector, u: Vector, lam: Scalar):
    """Eigenvectors of ΠG²Π with λ ≠ 0 give the directions too, after multiplication by the gain.

    ΠG²Πu = λu implies GΠG(GΠu) = λ GΠu

    Remark: The axes are the left singular vectors of GΠ, for every gain.
    """
    assume(lg.project(g * g * lg.project(u)) == lam * u, "ΠG²Πu = λu")
    centre = lg.project(u)
    assert spread(g, g * centre) == lam * g * centre
    wrong("the direction Πu itself", lambda: spread(g, centre) == lam * centre)


@st.composite
def secular(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """A root λ of the secular equation, between squared gains in pairs around it (none for odd d), and its axis v."""
    lam, pair = draw(st.sampled_from(((5, (1, 3)), (13, (1, 5)), (25, (1, 7)))))
    g = [draw(st.sampled_from((pair[i % 2], -pair[i % 2]))) for i in range(d)]
    return {"g": g, "v": [Fraction(value, value**2 - lam) for value in g], "lam": lam}


@theorem(
    OWN,
    "principal axes",
    "a rank-one update of a diagonal matrix",
    models=secular,
    without={"g_i² ≠ λ": lambda d: {"g": [*([1, 7] * d)[: d - 1], 5], "lam": 25}},
)
def test_secular(g: Vector, lam: Scalar):
    """Each root of the secular equation that is no g_i² is an eigenvalue of GΠG, with the axis g/(g² − λ).

    Σ 1/(g_i² − λ) = 0 implies GΠGv = λv for v = g/(g² − λ)
    """
    assume(nonzero(g * g - lam), "g_i² ≠ λ")
    assume(summed(1 / (g * g - lam)) == 0, "Σ 1/(g_i² − λ) = 0")
    gap = g * g - lam
    assert spread(g, g / gap) == lam * g / gap
    wrong(
        "Σ 1/(g_i − λ) = 0",
        lambda: spread(g, g / (g - lam)) == lam * g / (g - lam),
        given=lambda: [("g_i ≠ λ", nonzero(g - lam)), ("Σ 1/(g_i − λ) = 0", summed(1 / (g - lam)) == 0)],
        at={"g": (4, 2), "lam": 3},
    )
    wrong("the axis 1/(g² − λ)", lambda: spread(g, 1 / gap) == lam / gap)


@theorem(OWN, "principal axes", "a rank-one update of a diagonal matrix", models=secular)
def test_secular_converse(g: Vector, v: Vector, lam: Scalar):
    """Each eigenvalue λ ≠ 0 of GΠG that is not a squared gain solves the secular equation.

    GΠGv = λv, λ ≠ 0, v ≠ 0 and g_i² ≠ λ imply Σ 1/(g_i² − λ) = 0

    Last step: An eigenvalue λ ≠ 0 that is a squared gain is the square of two gains at least.
    """
    assume(nonzero(g * g - lam), "g_i² ≠ λ")
    assume(spread(g, v) == lam * v, "GΠGv = λv")
    assume(lam != 0)
    assume(square_norm(v) > 0, "v ≠ 0")
    assert summed(1 / (g * g - lam)) == 0
    wrong("the sum Σ g_i²/(g_i² − λ) vanishes", lambda: summed(g * g / (g * g - lam)) == 0)


@test_secular_converse.proof
def _(goal, given, g, v, lam):
    """The eigenvector is v = c·g∘w with c = g·v/d and w = 1/(g² − λ); then cλS(w) = 0, and ‖v‖² = c(g∘w)·v is not 0."""
    off, eigen, value, length = given
    w, c, law = 1 / (g * g - lam), dot(g, v) / dim(g), sy.inverse(off)
    ray = sy.combine(v - c * g * w, [(w, None, eigen), (-v, None, law)])
    scaled = sy.combine(c * lam * summed(w), [(-1, g, ray), (-c, ones(v), law)])
    parts = [(lam * summed(w), v, ray), (dot(g * w, v), None, scaled)]
    vanishes = sy.combine(summed(w) * (square_norm(v) * lam), parts)
    return sy.prove(goal, sy.cancel(summed(w), vanishes, sy.multiply(sy.weaken(length, "!="), value)))


@st.composite
def zero_gains(draw: st.DrawFn, d: int) -> dict[str, object]:
    """Gains with at least one 0, and their inverses on the support."""
    g, k = draw(vectors(d)), draw(st.integers(0, d - 1))
    g = [value if i != k else Fraction(0) for i, value in enumerate(g)]
    return {"g": g, "h": [1 / value if value else value for value in g]}


def support_spread(h: Vector, k: Scalar, v: Vector) -> Vector:
    """The vector (diag(g⁻²) + αα^T/k)v on the support of g, h the inverse gains there and 0 elsewhere."""
    return h * h * v + dot(h, v) * h / k


@theorem(RIECHERS, "zero gains", "squares the Drazin inverse of G and sets Π₂ = I", models=zero_gains)
def test_zero_gains(v: Vector, g: Vector, h: Vector):
    """With k ≥ 1 zero gains GΠG times diag(h²) + hhᵀ/k is the projector on the support.

    GΠG(diag(h²) + hh^T/k)v = ghv, h = 1/g on the support and 0 elsewhere, k = d − Σ g_ih_i

    Remark: Both factors are symmetric and the product is the projector on the support: the Penrose equations hold, and
    the semi-axes are √(d/λ) of this matrix.
    """
    assume(g * g * h == g, "g²h = g")
    assume(g * h * h == h, "gh² = h")
    assume(dim(g) - dot(g, h) > 0, "some gain is 0")
    seen = g * h * v
    assert spread(g, support_spread(h, dim(g) - dot(g, h), v)) == seen
    wrong("the square of the Drazin inverse alone", lambda: spread(g, h * h * v) == seen)
    tilted = h * h * (v - dot(h, v) * h / square_norm(h))
    wrong("αα^T/‖α‖² subtracted, as without zero gains", lambda: spread(g, tilted) == seen)
    wrong("αα^T/d in place of αα^T/k", lambda: spread(g, support_spread(h, dim(g), v)) == seen)


@theorem(RIECHERS, "left null space", "is spanned by the coordinate vectors of the zero gains", models=zero_gains)
def test_zero_gain_outputs(x: Vector, g: Vector, h: Vector, b: Vector, eps: Epsilon):
    """Where the gain is zero the output is the bias.

    (1 − gh)∘(z − b) = 0, h = 1/g on the support and 0 elsewhere
    """
    assume(g * g * h == g, "g²h = g")
    y = lg.layer_norm(x, g, b, eps=eps)
    assert (1 - g * h) * (y - b) == 0
    wrong("α·(z − b) = 0 with α = 1/g on the support", lambda: dot(h, y - b) == 0)


@theorem(
    ABSTRACT, "experiments", "expects a surface; with k ≥ 2 zero gains it is solid even at ε = 0", models=zero_gains
)
def test_zero_gain_interior(x: Vector, g: Vector, h: Vector, b: Vector, eps: Epsilon):
    """With ε > 0 and k ≥ 1 zero gains the other components lie inside a solid ellipsoid.

    ‖y‖² + (1·y)²/k < d for ε > 0, y = h∘(z − b), h = 1/g on the support and 0 elsewhere
    """
    assume(g * g * h == g, "g²h = g")
    assume(
        dim(g) - dot(g, h) > 0,
        "some gain is 0",
        redundant="at k = 0 the total inverse drops the second term, and the first is below d",
    )
    assume(eps > 0)
    z, k = lg.layer_norm(x, g, b, eps=eps) - b, dim(g) - dot(g, h)
    assert square_norm(h * z) + dot(h, z) ** 2 / k < dim(x)
    wrong(
        "without the term of the hidden components, but with d − k",
        lambda: square_norm(g * h * lg.standardize(x, eps=eps)) < dot(g, h),
    )


@test_zero_gain_interior.proof
def _(goal, given, x, g, h, eps):
    """With s = gh and m the mean of the hidden y_i: d − ‖sy‖² − (1·sy)²/k = dε/(σ² + ε) + ‖(1 − s)(y − m)‖²."""
    first, k_positive, positive = given
    y, hidden, k = lg.standardize(x, eps=eps), 1 - g * h, dim(g) - dot(g, h)
    square = variance(x) + eps
    defined = sy.prove(sy.greater(square), positive)
    idempotent = sy.prove(sy.equal(g * h * (g * h), g * h), first)
    parts = [
        sy.prove(sy.greater(dim(x) * eps / square), positive, defined),
        sy.sum_of_squares(hidden * (y - dot(hidden, y) / k)),
    ]
    return as_sum(goal, parts, positive, defined, k_positive, (first, g * g * h), (idempotent, g**2 * h**2))
