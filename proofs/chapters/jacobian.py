"""Jacobian: the derivatives of LayerNorm and RMSNorm, their spectra and norms, and the bounds that do not hold."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.derivatives import jacobian_product, jacobian_transpose_product
from lngeom.norms import scale
from lngeom.prover import derivative, dim, dot, norm, ones, root, square_norm, trace
from lngeom.strategies import centred, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, varies, wrong

from .._shared import as_sum, mean_square, product, variance
from ..works import DIGEST, OWN, XIONG


def denominator(x: Vector, eps: Scalar) -> Scalar:
    """What LayerNorm divides by, √(σ² + ε)."""
    return scale(variance(x), eps=eps)


@theorem(XIONG, "proof of Lemma 3", "gives the Jacobian without gain and ε, for a centred row vector")
def test_closed_form(x: Vector, v: Vector, g: Vector, b: Vector, eps: Epsilon):
    """Where σ² + ε > 0 the directional derivative of LayerNorm is the product that the library computes.

    D LN_ε(x)·v = g∘(Πv − y(y·v)/d)/√(σ² + ε), y = Πx/√(σ² + ε)

    Last step: Where σ² + ε > 0 the formal derivative is the derivative of the function.
    """
    moved = derivative(lambda t: lg.layer_norm(t, g, b, eps=eps), x, v)
    assert moved == jacobian_product(x, v, g, eps=eps)
    y, s, centred = lg.standardize(x, eps=eps), denominator(x, eps), lg.project(v)
    wrong("radial term dropped: diag(g/s)Π", lambda: moved == g * centred / s)
    wrong("radial term without 1/d", lambda: moved == g * (centred - y * dot(y, v)) / s)
    wrong("projection of the tangent dropped", lambda: moved == g * (v - y * dot(y, v) / dim(x)) / s)


@theorem(XIONG, "proof of Lemma 3", "its Jacobian contains the factor I − 11ᵀ/d", kind="lemma")
def test_uniform_input(x: Vector, g: Vector, eps: Epsilon):
    """The Jacobian of LayerNorm is 0 along 1.

    J1 = 0
    """
    assert jacobian_product(x, ones(x), g, eps=eps) == 0
    wrong("the same for RMSNorm", lambda: jacobian_product(x, ones(x), g, eps=eps, centered=False) == 0)
    wrong("the same for the input itself, which only ε = 0 makes true", lambda: jacobian_product(x, x, g, eps=eps) == 0)


@theorem(OWN, "Jacobian", "vector-Jacobian product in O(d)")
def test_transpose(x: Vector, v: Vector, w: Vector, g: Vector, eps: Epsilon):
    """The backward pass of the library is the adjoint of its forward derivative.

    w·(Jv) = (Jᵀw)·v

    Remark: At g = 1 both products are the same function: without gain the Jacobian is symmetric, w·J₀v = v·J₀w.
    """
    forward = dot(w, jacobian_product(x, v, g, eps=eps))
    assert forward == dot(jacobian_transpose_product(x, w, g, eps=eps), v)
    wrong("symmetric with a gain too", lambda: forward == dot(jacobian_product(x, w, g, eps=eps), v))


@st.composite
def tangential(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """Two vectors x and v with v orthogonal to 1 and to x."""
    x, v = draw(vectors(d)), draw(centred(d))
    u = [value - sum(x) / d for value in x]
    square, along = sum(a * a for a in u), sum(a * b for a, b in zip(u, v, strict=True))
    return {"x": x, "v": tuple(b - along / (square or 1) * a for a, b in zip(u, v, strict=True))}


@theorem(XIONG, "Lemma 3", "states the spectral norm as O(√d/‖x‖)", models=tangential)
def test_tangential(x: Vector, v: Vector, eps: Epsilon):
    """Without gain directions orthogonal to 1 and to x are divided by the denominator.

    J₀v = v/√(σ² + ε) for v ⟂ 1 and v ⟂ x, where σ² + ε > 0

    Remark: These v fill d − 2 dimensions when x is not constant: that many singular values are equal.
    """
    assume(dot(ones(x), v) == 0, "v ⟂ 1")
    assume(dot(x, v) == 0, "v ⟂ x")
    moved = jacobian_product(x, v, eps=eps)
    assert moved == v / denominator(x, eps)
    wrong("v·√d/‖x‖ at every ε", lambda: moved == v * root(dim(x)) / norm(x))


@theorem(XIONG, "proof of Lemma 3", "takes ε = 0, where the radial direction is in the null space")
def test_radial(x: Vector, g: Vector, eps: Epsilon):
    """Along the radial direction the Jacobian has the factor ε/(σ² + ε)^{3/2}, besides the gain.

    Jx = ε g∘Πx/(σ² + ε)^{3/2} for σ² + ε > 0

    Remark: So the gradient Jᵀe of what a LayerNorm reads has along x itself only x·Jᵀe = e·Jx: nothing at ε = 0,
    whatever the error e behind the norm.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant="elsewhere the total inverse makes both sides 0")
    moved, s = jacobian_product(x, x, g, eps=eps), denominator(x, eps)
    assert moved == eps * g * lg.project(x) / s**3
    wrong("Jx = 0 with ε present", lambda: moved == 0)
    wrong("ε g∘Πx/√(σ² + ε)", lambda: moved == eps * g * lg.project(x) / s)


@theorem(OWN, "Jacobian", "singular values 1/s (d − 2 times), ε/s³, 0")
def test_trace(x: Vector, eps: Epsilon):
    """Where σ² + ε > 0 the trace of the Jacobian without gain is (d − 2)/√(σ² + ε) + ε/(σ² + ε)^{3/2}.

    tr J₀ = (d − 2)/√(σ² + ε) + ε/(σ² + ε)^{3/2}

    Last step: For σ > 0 and ε ≥ 0 the Jacobian is a symmetric matrix J₀, J₀1 = 0, J₀Πx = ε/s³ Πx for s = √(σ² + ε), and
    the eigenspace of 1/s has dimension d − 2.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant="elsewhere the total inverse makes both sides 0")
    total, s = trace(lambda v: jacobian_product(x, v, eps=eps), x), denominator(x, eps)
    assert total == (dim(x) - 2) / s + eps / s**3
    wrong("d − 1 equal singular values", lambda: total == (dim(x) - 1) / s, at={"x": (1, -1, 1, -1)})


@theorem(OWN, "Jacobian", "exact Lipschitz constant")
def test_lipschitz_attained(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """With ε > 0, on the line of constant vectors, the Jacobian is GΠ/√ε.

    Jv = GΠv/√ε for Πx = 0 and ε > 0

    Remark: The Lipschitz constant of LayerNorm is ‖GΠ‖₂/√ε.
    """
    assume(lg.project(x) == 0, "Πx = 0")
    moved = jacobian_product(x, v, g, eps=eps)
    assert moved == g * lg.project(v) / root(eps)
    wrong("max|g|/√ε in place of GΠ/√ε: the projection dropped", lambda: moved == g * v / root(eps))


@theorem(DIGEST, "Jacobian", "claims ‖J‖₂ = O(d/‖x‖) and cites Xiong et al., who have O(√d/‖x‖)")
def test_norm(x: Vector, v: Vector):
    """At ε = 0, without gain, the norm of the Jacobian at a nonconstant x is at most √d/‖Πx‖.

    ‖Πx‖²‖J₀v‖² ≤ d‖v‖² for ε = 0 and x not constant

    Remark: Equality for v ⟂ 1 and v ⟂ x, which exist for d ≥ 3; for d = 2 the Jacobian is 0.
    """
    assume(varies(x), "x is not constant", redundant="at σ = 0 the total inverse makes the right side 0")
    before, after = square_norm(v), square_norm(jacobian_product(x, v, eps=0))
    assert square_norm(lg.project(x)) * after <= dim(x) * before
    wrong(
        "‖x‖ in place of ‖Πx‖",
        lambda: square_norm(x) * after <= dim(x) * before,
        at={"x": (10**6, 10**6, 10**6 + 1), "v": (1, -1, 0)},
    )
    wrong(
        "‖x‖‖J‖ ≤ d",
        lambda: square_norm(x) * after <= dim(x) ** 2 * before,
        at={"x": [Fraction(n, 10001) for n in (10199, 10199, 9799, 9799)], "v": (1, -1, 0, 0)},  # of norm √d
    )


@theorem(XIONG, "Lemma 3", "states ‖J‖₂ = O(√d/‖x‖); the proof replaces ‖Πx‖ by ‖x‖")
def test_no_uniform_bound(x: Vector, v: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """A shift along 1 does not change the Jacobian: unless it is 0, no bound that falls to 0 with growing ‖x‖ holds.

    J(x + c1) = J(x)

    Last step: Unless J(x)v = 0, for every bound there is a c with ‖x + c1‖²‖J(x + c1)v‖² above it.
    """

    def at(point: Vector, *, centered: bool = True) -> Vector:
        return jacobian_product(point, v, g, eps=eps, centered=centered)

    shifted = x + c * ones(x)
    assert at(shifted) == at(x)
    wrong("the same for RMSNorm", lambda: at(shifted, centered=False) == at(x, centered=False))
    wrong("invariance under scaling", lambda: at(c * x) == at(x))


@theorem(DIGEST, "Jacobian", "LN amplifies gradients for small inputs and attenuates for large")
def test_small_inputs(x: Vector, v: Vector, g: Vector, a: Scalar):
    """At ε = 0 multiplying a nonconstant x by a > 0 divides the Jacobian by a.

    a J(ax) = J(x) for a > 0 and ε = 0
    """
    assume(a > 0)
    assume(varies(x), "x is not constant", redundant="at σ = 0 the total inverse makes both sides 0")
    assert a * jacobian_product(a * x, v, g, eps=0) == jacobian_product(x, v, g, eps=0)
    wrong("the same at ε = 1", lambda: a * jacobian_product(a * x, v, g, eps=1) == jacobian_product(x, v, g, eps=1))


@theorem(OWN, "Jacobian", "sharper than √ε, which the Lipschitz constant of a gradient gives")
def test_cocoercive(x: Vector, z: Vector, eps: Epsilon):
    """With ε > 0, without gain, LayerNorm is cocoercive, with the mean of the two denominators.

    (y − y′)·(x − x′) ≥ ½(s + s′)‖y − y′‖², s = √(σ² + ε), for ε > 0
    """
    assume(eps > 0, redundant="at ε = 0 both sides are equal where σ > 0 and σ′ > 0; the library takes no ε < 0")
    moved = lg.standardize(x, eps=eps) - lg.standardize(z, eps=eps)
    along, mean_scale = dot(moved, x - z), (denominator(x, eps) + denominator(z, eps)) / 2
    assert along >= mean_scale * square_norm(moved)
    wrong("the sum of the scales, without the half", lambda: along >= 2 * mean_scale * square_norm(moved))


@test_cocoercive.proof
def _(goal, given, x, z, eps):
    """(y − y′)·(x − x′) − ½(s + s′)‖y − y′‖² = ½dε(s − s′)²(s + s′)/(s s′)², because ‖y‖² = d(1 − ε/s²)."""
    (positive,) = given
    facts = [sy.prove(sy.greater(variance(u) + eps), positive) for u in (x, z)]
    s, t = denominator(x, eps), denominator(z, eps)
    squares = [sy.prove(sy.greater(1 / u**2), fact) for u, fact in zip((s, t), facts, strict=True)]
    parts = [sy.prove(sy.greater(dim(x) / 2)), positive, sy.square(s - t), sy.prove(sy.greater(s + t), *facts)]
    return as_sum(goal, [product(*parts, *squares)], *facts)


def inside(facts: list[sy.Proved], a: Vector, b: Vector) -> sy.Proved:
    """1 − ‖n‖²/d ≥ 0: it is k²P, and stP = ‖ta − sb‖²/d + ε(s + t)², P = (s + t)² − ‖a + b‖²/d."""
    first, second, eps = facts[0], facts[1], facts[4]
    s, t, d = first.conclusion.term, second.conclusion.term, dim(a)
    gap = (s + t) ** 2 - square_norm(a + b) / d
    parts = [product(sy.sum_of_squares(t * a - s * b), sy.prove(sy.greater(1 / d))), product(eps, sy.square(s + t))]
    times = as_sum(sy.at_least(s * t * gap), parts, (facts[2], square_norm(a)), (facts[3], square_norm(b)))
    turned = product(sy.inverse_sign(first), sy.inverse_sign(second), times)
    units = [(-gap * t / t, None, sy.inverse(first)), (-gap, None, sy.inverse(second))]
    positive = sy.transport(gap, sy.combine(gap - turned.conclusion.term, units), turned)
    k = 1 / (s + t)
    radius = 1 - k**2 * square_norm(a + b) / d
    both = sy.inverse(sy.add(first, second))
    same = sy.combine(radius - k**2 * gap, [(-(k * (s + t) + 1), None, both)])
    return sy.transport(radius, same, product(sy.square(k), positive))


@theorem(OWN, "Jacobian", "the Lipschitz constant, attained by jacobian.lipschitz_attained")
def test_lipschitz(x: Vector, z: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """With ε > 0 outputs differ by at most c/√ε times the inputs, c the norm of the gain on what differs.

    ε‖LN_ε(x; g) − LN_ε(z; g)‖² ≤ c²‖x − z‖² for ε > 0 and ‖g∘v‖ ≤ c‖v‖ at v = LN_ε(x) − LN_ε(z)

    Last step: For ε > 0 and L ≥ 0: ‖LN_ε(x; g) − LN_ε(x′; g)‖ ≤ L‖x − x′‖ for all x and x′ if and only if
    ‖g∘Πv‖ ≤ L√ε‖v‖ for all v; so the Lipschitz constant is ‖GΠ‖₂/√ε.
    """
    assume(eps > 0, redundant="at ε = 0 the left side is 0, and the library takes no ε < 0")
    moved = lg.standardize(x, eps=eps) - lg.standardize(z, eps=eps)
    assume(c**2 * square_norm(moved) >= square_norm(g * moved), "‖g∘v‖ ≤ c‖v‖")
    written = lg.layer_norm(x, g, eps=eps) - lg.layer_norm(z, g, eps=eps)
    assert eps * square_norm(written) <= c**2 * square_norm(x - z)
    wrong("ε in the place of √ε: ε²", lambda: square_norm(written) <= eps**2 * c**2 * square_norm(x - z))


@test_lipschitz.proof
def _(goal, given, x, z, g, c, eps):
    """With k = ½(s + s′): ‖x − x′‖² ≥ 2k(x − x′)·v − k²‖v‖² ≥ k²‖v‖² ≥ ε‖v‖², by jacobian.cocoercive."""
    positive, bounded = given
    own, other = (sy.prove(sy.greater(variance(u) + eps), positive) for u in (x, z))
    s, t = denominator(x, eps), denominator(z, eps)
    v, k = lg.standardize(x, eps=eps) - lg.standardize(z, eps=eps), (s + t) / 2
    (along,) = test_cocoercive.prove()
    above = sy.prove(sy.greater(k), own, other)
    both = sy.prove(sy.greater(s * t + eps), own, other, positive)
    spreads = [product(sy.sum_of_squares(lg.project(u)), sy.prove(sy.greater(1 / dim(x)))) for u in (x, z)]
    roots = [sy.square_of_root(own), sy.square_of_root(other)]
    grown = [product(*spreads), product(positive, sy.add(*spreads))]
    squares = as_sum(sy.at_least((s * t - eps) * (s * t + eps)), grown, *roots)
    part = sy.multiply(sy.inverse_sign(both), squares)
    unit = sy.combine(s * t - eps - part.conclusion.term, [(-(s * t - eps), None, sy.inverse(both))])
    mixed = sy.transport(s * t - eps, unit, part)
    half, quarter = (sy.constant(Fraction(1, n), ">") for n in (2, 4))
    slack = as_sum(sy.at_least(k**2 - eps), [sy.multiply(quarter, sy.add(*spreads)), sy.multiply(half, mixed)], *roots)
    parts = [
        sy.sum_of_squares(x - z - k * v),
        product(sy.constant(2, ">"), above, along),
        product(slack, sy.sum_of_squares(v)),
    ]
    bare = as_sum(sy.at_least(square_norm(x - z) - eps * square_norm(v)), parts)
    return as_sum(goal, [sy.multiply(sy.square(c), bare), product(positive, bounded)])


def rms_denominator(x: Vector, eps: Scalar) -> Scalar:
    """What RMSNorm divides by, s = √(‖x‖²/d + ε)."""
    return scale(mean_square(x), eps=eps)


@theorem(OWN, "Jacobian", "of RMSNorm, as jacobian.closed_form of LayerNorm")
def test_rms_closed_form(x: Vector, v: Vector, g: Vector, b: Vector, eps: Epsilon):
    """Where ‖x‖²/d + ε > 0 the directional derivative of RMSNorm is the product that the library computes.

    D RMS_ε(x)·v = g∘(v − y(y·v)/d)/s, y = x/s, s = √(‖x‖²/d + ε)

    Last step: Where ‖x‖²/d + ε > 0 the formal derivative is the derivative of the function.
    """
    moved, s = derivative(lambda t: lg.rms_norm(t, g, b, eps=eps), x, v), rms_denominator(x, eps)
    assert moved == jacobian_product(x, v, g, eps=eps, centered=False)
    wrong("radial term dropped: diag(g/s)", lambda: moved == g * v / s)
    wrong("radial term without ε: x(x·v)/‖x‖²", lambda: moved == g * (v - x * dot(x, v) / square_norm(x)) / s)
    wrong("centred, as LayerNorm's", lambda: moved == jacobian_product(x, v, g, eps=eps))


@st.composite
def orthogonal(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """Two vectors x and v with v orthogonal to x."""
    x, v = draw(vectors(d)), draw(vectors(d))
    square, along = sum(a * a for a in x), sum(a * b for a, b in zip(x, v, strict=True))
    return {"x": x, "v": tuple(b - along / (square or 1) * a for a, b in zip(x, v, strict=True))}


@theorem(OWN, "Jacobian", "of RMSNorm, as jacobian.tangential of LayerNorm", models=orthogonal)
def test_rms_tangential(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """RMSNorm's Jacobian divides directions orthogonal to x by the denominator and multiplies by the gain.

    Jv = g∘v/√(‖x‖²/d + ε) for v ⟂ x

    Remark: These v fill d − 1 dimensions when x is not 0: without gain that many singular values are equal.
    """
    assume(dot(x, v) == 0, "v ⟂ x")
    moved, s = jacobian_product(x, v, g, eps=eps, centered=False), rms_denominator(x, eps)
    assert moved == g * v / s
    wrong("over LayerNorm's denominator", lambda: moved == g * v / denominator(x, eps))


@theorem(OWN, "Jacobian", "of RMSNorm, as jacobian.radial of LayerNorm")
def test_rms_radial(x: Vector, g: Vector, eps: Epsilon):
    """Along x RMSNorm's Jacobian has the factor ε/(‖x‖²/d + ε)^{3/2}, besides the gain.

    Jx = ε g∘x/(‖x‖²/d + ε)^{3/2} for ‖x‖²/d + ε > 0
    """
    assume(mean_square(x) + eps > 0, "s > 0", redundant="elsewhere the total inverse makes both sides 0")
    moved, s = jacobian_product(x, x, g, eps=eps, centered=False), rms_denominator(x, eps)
    assert moved == eps * g * x / s**3
    wrong("Jx = 0 with ε present", lambda: moved == 0)
    wrong("of the centred part, as LayerNorm's", lambda: moved == eps * g * lg.project(x) / s**3)


@theorem(OWN, "Jacobian", "of RMSNorm: singular values 1/s (d − 1 times), ε/s³")
def test_rms_trace(x: Vector, eps: Epsilon):
    """Where s > 0 the trace of RMSNorm's Jacobian without gain is (d − 1)/s + ε/s³, s the denominator.

    tr J₀ = (d − 1)/s + ε/s³, s = √(‖x‖²/d + ε)

    Remark: J₀ is diagonal on x^⊥ and on the line of x by jacobian.rms_tangential and jacobian.rms_radial: its
    eigenvalues are 1/s, d − 1 times, and ε/s³.
    """
    assume(mean_square(x) + eps > 0, "s > 0", redundant="elsewhere the total inverse makes both sides 0")
    total, s = trace(lambda v: jacobian_product(x, v, eps=eps, centered=False), x), rms_denominator(x, eps)
    assert total == (dim(x) - 1) / s + eps / s**3
    wrong("d − 2 equal singular values, as LayerNorm's", lambda: total == (dim(x) - 2) / s + eps / s**3)


@theorem(
    XIONG, "Lemma 3", "states O(√d/‖x‖), of LayerNorm; of RMSNorm it is so, and the digest's O(d/‖x‖) is not sharp"
)
def test_rms_norm(x: Vector, v: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """Where ‖x‖²/d + ε > 0 the norm of RMSNorm's Jacobian is at most its largest |g_i| over √(‖x‖²/d + ε).

    (‖x‖²/d + ε)‖Jv‖² ≤ c²‖v‖² for |g_i| ≤ c and ‖x‖²/d + ε > 0

    Remark: At ε = 0 it is ‖J‖ ≤ c√d/‖x‖. Without gain (c = 1) and for d ≥ 2 it is attained by v ⟂ x.
    """
    assume(c * c - g * g >= 0, "|g_i| ≤ c")
    assume(mean_square(x) + eps > 0, "s > 0", redundant="elsewhere the left side is 0 by the total inverse")
    assume(eps >= 0, redundant="the library takes no ε < 0")
    before, after = square_norm(v), square_norm(jacobian_product(x, v, g, eps=eps, centered=False))
    assert (mean_square(x) + eps) * after <= c * c * before
    wrong("‖x‖² in place of ‖x‖²/d", lambda: (square_norm(x) + eps) * after <= c * c * before)


@test_rms_norm.proof
def _(goal, given, x, v, g, c, eps):
    """c²‖v‖² − s²‖Jv‖² = Σ(c² − g²)w² + c²(y·v)²(1 + ε/s²)/d with w = sJ₀v and y = x/s."""
    within, positive, sign = given
    s, y = rms_denominator(x, eps), lg.rms_norm(x, eps=eps)
    along = product(sy.square(c * dot(y, v)), sy.prove(sy.greater(1 / dim(x))))
    parts = [
        sy.total(product(within, sy.square(jacobian_product(x, v, eps=eps, centered=False) * s))),
        along,
        product(along, sign, sy.prove(sy.greater(1 / (mean_square(x) + eps)), positive)),
    ]
    return as_sum(goal, parts, positive)
