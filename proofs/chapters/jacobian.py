"""Jacobian: the derivative of LayerNorm, its spectrum, its norm, and the bounds that do not hold."""

import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import lngeom as lg
from lngeom import kernel as sy
from lngeom.derivatives import jacobian_product, jacobian_transpose_product, potential, secant_product
from lngeom.kernel import derivative, dim, dot, norm, ones, root, square_norm, summed, trace
from lngeom.norms import scale
from lngeom.projection import mean_vector
from lngeom.strategies import centred, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, varies, wrong

from .._shared import assuming, mean_square, variance
from .._steps import as_sum, product, sum_of_squares
from ..works import BLOG, DIGEST, OWN, RIECHERS, XIONG


def denominator(x: Vector, eps: Scalar) -> Scalar:
    """What LayerNorm divides by, √(σ² + ε)."""
    return scale(variance(x), eps=eps)


@theorem(XIONG, "proof of Lemma 3", "gives the Jacobian without gain and ε, for a centred row vector")
def test_closed_form(x: Vector, v: Vector, g: Vector, b: Vector, eps: Epsilon):
    """The directional derivative of LayerNorm is the product that the library computes.

    D LN(x)·v = g∘(Πv − y(y·v)/d)/√(σ² + ε), y = Πx/√(σ² + ε)

    Last step: Where σ² + ε > 0 the formal derivative is the derivative of the function.
    """
    moved = derivative(lambda t: lg.layer_norm(t, g, b, eps=eps), x, v)
    assert moved == jacobian_product(x, v, g, eps=eps)
    y, s, centred = lg.standardize(x, eps=eps), denominator(x, eps), lg.project(v)
    wrong("radial term dropped: diag(g/s)Π", lambda: moved == g * centred / s)
    wrong("radial term without 1/d", lambda: moved == g * (centred - y * dot(y, v)) / s)
    wrong("projection of the tangent dropped", lambda: moved == g * (v - y * dot(y, v) / dim(x)) / s)


@theorem(BLOG, "definition of the norm", "divides by σ + ε and does not differentiate")
def test_outside(x: Vector, v: Vector, g: Vector, b: Vector, eps: Epsilon):
    """With ε outside the root the radial term gets the factor (σ + ε)/σ.

    D LN(x)·v = g∘(Πv − y(y·v)(σ + ε)/(σd))/(σ + ε), y = Πx/(σ + ε), for σ > 0

    Last step: Where σ > 0 the formal derivative is the derivative of the function.
    """
    assume(varies(x), "x is not constant", redundant="at σ = 0 the total root and inverse make both sides agree")
    assume(eps >= 0, redundant="only needed for σ + ε ≠ 0, which may hold for negative ε too")
    moved = derivative(lambda t: lg.layer_norm(t, g, b, eps=eps, placement="outside"), x, v)
    assert moved == jacobian_product(x, v, g, eps=eps, placement="outside")
    y, s = lg.standardize(x, eps=eps, placement="outside"), scale(variance(x), eps=eps, placement="outside")
    inside = g * (lg.project(v) - y * dot(y, v) / dim(x)) / s
    wrong("the radial term of ε inside the root", lambda: moved == inside)


@theorem(XIONG, "proof of Lemma 3", "its Jacobian contains the factor I − 11ᵀ/d", kind="lemma")
def test_uniform_input(x: Vector, g: Vector, eps: Epsilon):
    """Shifts along 1 do not change the output.

    J1 = 0
    """
    assert jacobian_product(x, ones(x), g, eps=eps) == 0
    wrong("the same for RMSNorm", lambda: jacobian_product(x, ones(x), g, eps=eps, centered=False) == 0)
    wrong("the same for the input itself, which only ε = 0 makes true", lambda: jacobian_product(x, x, g, eps=eps) == 0)


@theorem(RIECHERS, "Π₂ = I − αα^T/(α^Tα)", "outputs lie in the hyperplane α·(z − b) = 0")
def test_dead_output(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """No gradient reaches the output direction α = G⁻¹1.

    αᵀJ = 0 for g_i ≠ 0
    """
    assume(nonzero(g))
    moved = jacobian_product(x, v, g, eps=eps)
    assert dot(1 / g, moved) == 0
    wrong("1ᵀJ = 0, true for constant gain only", lambda: dot(ones(x), moved) == 0)


@theorem(OWN, "Jacobian", "vector-Jacobian product in O(d)")
def test_transpose(x: Vector, v: Vector, w: Vector, g: Vector, eps: Epsilon):
    """The backward pass of the library is the adjoint of its forward derivative.

    w·(Jv) = (Jᵀw)·v

    Remark: At g = 1 both products are the same function: without gain the Jacobian is symmetric, w·J₀v = v·J₀w.
    """
    forward = dot(w, jacobian_product(x, v, g, eps=eps))
    assert forward == dot(jacobian_transpose_product(x, w, g, eps=eps), v)
    wrong("symmetric with a gain too", lambda: forward == dot(jacobian_product(x, w, g, eps=eps), v))


@theorem(OWN, "Jacobian", "LayerNorm without gain is monotone")
def test_positive(x: Vector, v: Vector, eps: Epsilon):
    """Without gain the Jacobian is positive semidefinite.

    v·(J₀v) ≥ 0 for ε ≥ 0 and σ² + ε > 0
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant="elsewhere the total inverse makes the form 0")
    assume(eps >= 0, redundant="the library takes no ε < 0")
    form = dot(v, jacobian_product(x, v, eps=eps))
    assert form >= 0
    wrong("positive definite: strictly on all v", lambda: form > 0)
    wrong("the same with a gain, here v itself", lambda: dot(v, jacobian_product(x, v, v, eps=eps)) >= 0)


@test_positive.proof
def _(goal, given, x, v, eps):
    """v·Jv = ‖Πv − y(y·v)/d‖²/s + ε(y·v)²/(d s³), because ‖y‖²/d = 1 − ε/s²."""
    defined, not_negative = given
    y, inverse = lg.standardize(x, eps=eps), sy.prove(sy.greater(1 / denominator(x, eps)), defined)
    tangential = sum_of_squares(lg.project(v) - y * dot(y, v) / dim(x))
    along = product(not_negative, sy.square(dot(y, v)), inverse, inverse, inverse)
    parts = [product(tangential, inverse), product(along, sy.prove(sy.greater(1 / dim(x))))]
    return as_sum(goal, parts, defined)


@theorem(OWN, "Jacobian", "the standardized vector is a gradient")
def test_potential(x: Vector, v: Vector, eps: Epsilon):
    """LayerNorm without gain is the gradient of d√(σ² + ε).

    D φ(x)·v = y·v with φ(x) = d√(σ² + ε), where σ² + ε > 0

    Last step: Where σ² + ε > 0 the formal derivative is the derivative of the function.

    Remark: Its Hessian is positive semidefinite, so φ is convex and LayerNorm without gain is monotone. At ε = 0 it has
    a kink on the line of constant vectors.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant="elsewhere the formal derivative and y are both 0")
    along = dot(lg.standardize(x, eps=eps), v)
    assert derivative(lambda t: potential(t, eps=eps), x, v) == along
    wrong(
        "potential √(σ² + ε), without the factor d",
        lambda: derivative(lambda t: potential(t, eps=eps) / dim(t), x, v) == along,
    )
    wrong("potential of RMSNorm", lambda: derivative(lambda t: potential(t, eps=eps, centered=False), x, v) == along)


@test_potential.proof
def _(goal, given):
    return assuming(sy.prove(goal), given)


@theorem(OWN, "Jacobian", "hence ‖J‖₂ ≤ ‖GΠ‖₂‖J₀‖₂", kind="lemma")
def test_gain_factors(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """The gain enters the Jacobian through GΠ alone.

    Jv = GΠ(J₀v)
    """
    moved, plain = jacobian_product(x, v, g, eps=eps), jacobian_product(x, v, eps=eps)
    assert moved == g * lg.project(plain)
    wrong("gain before the projection", lambda: moved == lg.project(g * plain))


@st.composite
def tangential(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """Two vectors x and v with v orthogonal to 1 and to x."""
    x, v = draw(vectors(d)), draw(centred(d))
    u = [value - sum(x) / d for value in x]
    square, along = sum(a * a for a in u), sum(a * b for a, b in zip(u, v, strict=True))
    return {"x": x, "v": tuple(b - along / (square or 1) * a for a, b in zip(u, v, strict=True))}


@theorem(XIONG, "Lemma 3", "states the spectral norm as O(√d/‖x‖)", models=tangential)
def test_tangential(x: Vector, v: Vector, eps: Epsilon):
    """Directions orthogonal to 1 and to x are divided by the denominator.

    J₀v = v/√(σ² + ε) for v ⟂ 1 and v ⟂ x

    Remark: These v fill d − 2 dimensions when x is not constant: that many singular values are equal.
    """
    assume(dot(ones(x), v) == 0, "v ⟂ 1")
    assume(dot(x, v) == 0, "v ⟂ x")
    moved = jacobian_product(x, v, eps=eps)
    assert moved == v / denominator(x, eps)
    wrong("v·√d/‖x‖ at every ε", lambda: moved == v * root(dim(x)) / norm(x))


@theorem(XIONG, "proof of Lemma 3", "takes ε = 0, where the radial direction is in the kernel")
def test_radial(x: Vector, g: Vector, eps: Epsilon):
    """The radial direction is shrunk by ε/(σ² + ε) more.

    Jx = ε g∘Πx/(σ² + ε)^{3/2}

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
    """The trace of the Jacobian without gain is that of d − 2 directions, the radial one, and nothing along 1.

    tr J₀ = (d − 2)/√(σ² + ε) + ε/(σ² + ε)^{3/2}

    Last step: For σ > 0 and ε ≥ 0 the Jacobian is a symmetric matrix J₀, J₀1 = 0, J₀Πx = ε/s³ Πx for s = √(σ² + ε), and
    the eigenspace of 1/s has dimension d − 2.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant="elsewhere the total inverse makes both sides 0")
    total, s = trace(lambda v: jacobian_product(x, v, eps=eps), x), denominator(x, eps)
    assert total == (dim(x) - 2) / s + eps / s**3
    wrong("d − 1 equal singular values", lambda: total == (dim(x) - 1) / s)


def divisor(x: Vector, eps: Scalar, *, centered: bool) -> Scalar:
    """The squared divisor s², σ² + ε of LayerNorm and ‖x‖²/d + ε of RMSNorm."""
    return (variance(x) if centered else mean_square(x)) + eps


def squared(x: Vector, v: Vector, g: Vector, eps: Scalar, *, centered: bool = True) -> Vector:
    """The vector s²JJᵀv; the eigenvalues of s²JJᵀ are the squared singular values of sJ."""
    back = jacobian_transpose_product(x, v, g, eps=eps, centered=centered)
    return divisor(x, eps, centered=centered) * jacobian_product(x, back, g, eps=eps, centered=centered)


def output(x: Vector, eps: Scalar, *, centered: bool) -> Vector:
    """The output y of the norm before its gain."""
    return lg.standardize(x, eps=eps) if centered else lg.rms_norm(x, eps=eps)


def factor(x: Vector, eps: Scalar, *, centered: bool = True) -> Scalar:
    """What the radial direction is shrunk by more, ρ = ε/s²."""
    return eps / divisor(x, eps, centered=centered)


def radial(x: Vector, eps: Scalar, *, centered: bool = True) -> Scalar:
    """The number κ = (1 + ρ)/d, for which κ‖y‖² = 1 − ρ²."""
    return (1 + factor(x, eps, centered=centered)) / dim(x)


def corrected(g: Vector, y: Vector, k: Scalar, v: Vector, *, centered: bool) -> Vector:
    """The vector G(Π − κyyᵀ)Gv, without Π for RMSNorm."""
    w = g * v
    return g * ((lg.project(w) if centered else w) - k * y * dot(y, w))


def larger(given: list[sy.Proved], x: Vector, eps: Scalar) -> tuple[sy.Proved, ...]:
    """‖x‖²/d + ε > 0, from σ² + ε > 0."""
    return (as_sum(sy.greater(mean_square(x) + eps), [given[0], sy.square(lg.moments(x)[0])]),)


@theorem(OWN, "Jacobian", "the squared gains, less a matrix of rank two", lemmas=larger)
def test_gain_interlacing(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """With a gain the singular values lie between the gains, shifted by two places; those of RMSNorm by one.

    s²JJᵀ = G(Π − κyyᵀ)G with s² = σ² + ε > 0, ρ = ε/s² and κ = (1 + ρ)/d; of RMSNorm G(I − κyyᵀ)G, s² = ‖x‖²/d + ε

    Last step: For σ² + ε > 0 and ε ≥ 0 let Q be orthogonal and Λ diagonal with s²JJᵀ = QΛQᵀ, and θ any number. Of the
    Λ_ii as many as of the g_i² are above θ at most, and at most two fewer; and a number that is m of the g_i² is m − 2
    of the Λ_ii at least. Of RMSNorm it is one fewer, and m − 1.

    Remark: In descending order |g|_(i+2) ≤ sσ_i(J) ≤ |g|_(i): the vectors on which Λ is above θ are too many for those
    on which g² is not. Without a gain d − 2 are 1/s, as in jacobian.trace.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0")
    for centered in (True, False):
        y, k = output(x, eps, centered=centered), radial(x, eps, centered=centered)
        assert squared(x, v, g, eps, centered=centered) == corrected(g, y, k, v, centered=centered)
    y, moved = output(x, eps, centered=True), squared(x, v, g, eps)
    wrong("GΠG, without the radial term", lambda: moved == corrected(g, y, 0, v, centered=True))
    wrong("κ = 1/d at every ε", lambda: moved == corrected(g, y, 1 / dim(x), v, centered=True))
    wrong("κ = ρ/d", lambda: moved == corrected(g, y, factor(x, eps) / dim(x), v, centered=True))


@theorem(OWN, "Jacobian", "the mean squared singular value, which mean-field theory asks for", lemmas=larger)
def test_frobenius(x: Vector, g: Vector, eps: Epsilon):
    """The squared singular values of the Jacobian sum to those of the gain, each less its share of 1 and of the output.

    s² tr JJᵀ = Σ g_i²(1 − 1/d − κy_i²) with s² = σ² + ε > 0 and κ = (1 + ε/s²)/d; of RMSNorm without 1/d

    Last step: For σ² + ε > 0 it is s²Σ J_ij², and the sum of all Λ_ii if s²JJᵀ = QΛQᵀ with Q orthogonal and Λ diagonal.

    Remark: At ε = 0 with u = Πx/‖Πx‖: ‖J‖_F² = Σ g_i²(1 − 1/d − u_i²)/σ², which is (d − 2)/σ² without a gain.
    """
    assume(variance(x) + eps > 0, "σ² + ε > 0")
    total, y = trace(lambda v: squared(x, v, g, eps), x), lg.standardize(x, eps=eps)
    of_rms, z = trace(lambda v: squared(x, v, g, eps, centered=False), x), lg.rms_norm(x, eps=eps)
    assert total == dot(g * g, 1 - 1 / dim(x) - radial(x, eps) * y * y)
    assert of_rms == dot(g * g, 1 - radial(x, eps, centered=False) * z * z)
    wrong("only the share of 1", lambda: total == (1 - 1 / dim(x)) * square_norm(g))
    wrong("y_i²/d at every ε", lambda: total == dot(g * g, 1 - 1 / dim(x) - y * y / dim(x)))


def secular_sums(y: Vector, gap: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """S_k = Σ y_i^k/(g_i² − λ) for k = 0, 1, 2."""
    return summed(1 / gap), summed(y / gap), summed(y * y / gap)


def rational_divisor(v: list[Any]) -> tuple[Fraction, Fraction]:
    """An ε > 0 for which ‖v‖²/d + ε is the square of a whole number, and what the radial direction is shrunk by."""
    square = Fraction(sum(value * value for value in v)) / len(v)
    whole = (math.isqrt(int(square)) + 1) ** 2
    return whole - square, 1 - square / whole


@st.composite
def gain_roots(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """Solutions of the two equations: gains of one size; or of two, at the same distance from λ, and x in pairs."""
    signs = [draw(st.sampled_from((1, -1))) for _ in range(d)]
    x, pairs = list(draw(vectors(d))), d % 2 == 0 and draw(st.booleans())
    x = [x[i // 2] for i in range(d)] if pairs else x
    c = [value - sum(x) / d for value in x]
    eps, rho = rational_divisor(c)
    if pairs:
        g = [sign * (1, 3)[i % 2] for i, sign in enumerate(signs)]
        return {"x": x, "g": g, "eps": eps, "lam": 5, "r": 1, "t": 0, "v": [Fraction(a, a * a - 5) for a in g]}
    g, v = [2 * sign for sign in signs], [sign * value for sign, value in zip(signs, c, strict=True)]
    return {"x": x, "g": g, "eps": eps, "lam": 4 * rho**2, "r": 0, "t": 1, "v": v}


def at_pole(d: int) -> dict[str, Any]:
    """Gains 1 and 7 in turn and one of 5, λ = 25, at the vector 0."""
    return {"x": d * [0], "g": [*([1, 7] * d)[: d - 1], 5], "eps": 1, "lam": 25, "r": 1, "t": 0}


def degenerate(d: int) -> dict[str, Any]:
    """A root for GΠG alone, at a constant vector with ε = 0."""
    return {"x": d * [1], "g": ([1, 3] * d)[:d], "eps": 0, "lam": 5, "r": 1, "t": 0}


@theorem(
    OWN,
    "Jacobian",
    "a rank-two update of a diagonal matrix",
    models=gain_roots,
    without={"g_i² ≠ λ": at_pole, "σ² + ε > 0": degenerate},
)
def test_gain_secular(x: Vector, g: Vector, lam: Scalar, r: Scalar, t: Scalar, eps: Epsilon):
    """With a gain two linear equations in two unknowns give a singular value of the Jacobian, and its vector.

    s²JJᵀv = λv for v = g(r + ty)/(g² − λ), rS₀ + tS₁ = 0 and κλ(rS₁ + tS₂) = ρ²t, S_k = Σ y_i^k/(g_i² − λ)
    """
    gap, y, k = g * g - lam, lg.standardize(x, eps=eps), radial(x, eps)
    zero, one, two = secular_sums(y, gap)
    assume(nonzero(gap), "g_i² ≠ λ")
    assume(variance(x) + eps > 0, "σ² + ε > 0")
    assume(r * zero + t * one == 0, "rS₀ + tS₁ = 0")
    assume(k * lam * (r * one + t * two) == factor(x, eps) ** 2 * t, "κλ(rS₁ + tS₂) = ρ²t")
    ray = (r + t * y) / gap
    assert squared(x, g * ray, g, eps) == lam * g * ray
    wrong("the vector without the gain", lambda: squared(x, ray, g, eps) == lam * ray)
    wrong("an eigenvalue of JJᵀ", lambda: squared(x, g * ray, g, eps) == (variance(x) + eps) * lam * g * ray)


def form(x: Vector, g: Vector, eps: Scalar, defined: sy.Proved, v: Vector, *, centered: bool = True) -> sy.Proved:
    """s²JJᵀv = G(Π − κyyᵀ)Gv at any v."""
    w, y, k = sy.vector("w"), output(x, eps, centered=centered), radial(x, eps, centered=centered)
    moved = sy.equal(squared(x, w, g, eps, centered=centered), corrected(g, y, k, w, centered=centered))
    return sy.instantiate(sy.prove(moved, defined), {w: v})


def particular(law: sy.Proved, x: Vector, eps: Scalar, defined: sy.Proved, *, centered: bool = True) -> sy.Proved:
    """A law of any y, κ and p with 1·y = 0 and κ‖y‖² = 1 − p, for those of the norm and p = ρ²."""
    y, k, p = output(x, eps, centered=centered), radial(x, eps, centered=centered), factor(x, eps, centered=centered)
    law = sy.instantiate(law, {sy.vector("y"): y, sy.scalar("k"): k, sy.scalar("p"): p**2})
    law = sy.cut(sy.prove(sy.equal(k * square_norm(y), 1 - p**2), defined), law)
    return sy.cut(sy.prove(sy.equal(summed(y), 0)), law) if centered else law


@test_gain_secular.proof
def _(goal, given, x, g, lam, r, t, eps):
    """With v as said (g² − λ)v = g(r + ty), and g·v = dr + λ(rS₀ + tS₁), κ(g∘y)·v = t(1 − ρ²) + κλ(rS₁ + tS₂)."""
    off, defined, first, second = given
    y, k, p, gap = sy.vector("y"), sy.scalar("k"), sy.scalar("p"), g * g - lam
    zero, one, two = secular_sums(y, gap)
    flat, size = sy.assume(sy.equal(summed(y), 0)), sy.assume(sy.equal(k * square_norm(y), 1 - p))
    sums = [sy.assume(sy.equal(r * zero + t * one, 0)), sy.assume(sy.equal(k * lam * (r * one + t * two), p * t))]
    unit, u = sy.inverse(off), r + t * y
    ray = g * u / gap
    across = sy.combine(dot(g, ray) - dim(g) * r, [(1, u, unit), (t, None, flat), (lam, None, sums[0])])
    along = sy.combine(
        k * dot(g * y, ray) - t, [(k, y * u, unit), (k * r, None, flat), (t, None, size), (1, None, sums[1])]
    )
    parts = [(g * u, None, unit), (-g / dim(g), None, across), (-g * y, None, along)]
    law = sy.combine(corrected(g, y, k, ray, centered=True) - lam * ray, parts)
    law = particular(law, x, eps, defined)
    actual = g * (r + t * lg.standardize(x, eps=eps)) / gap
    proof = sy.combine(goal.term, [(1, None, form(x, g, eps, defined, actual)), (1, None, law)])
    return assuming(proof, [first, second])


def repeated_gain(d: int) -> dict[str, Any]:
    """An eigenvector on two components of one gain and one x, whose squared gain is the eigenvalue."""
    x = [0, 0, *((d - 2) * [3])]
    eps, _ = rational_divisor([value - Fraction(sum(x), d) for value in x])
    return {"x": x, "g": [1, 1, *((d - 2) * [2])], "v": [1, -1, *((d - 2) * [0])], "lam": 1, "eps": eps}


def dead(d: int) -> dict[str, Any]:
    """The eigenvector G⁻¹1, with eigenvalue 0."""
    return {"x": d * [0], "g": d * [2], "v": d * [1], "lam": 0, "eps": 1}


NO_DERIVATIVE = "elsewhere the total inverse makes J = 0, which has no eigenvalue λ ≠ 0"


@theorem(
    OWN,
    "Jacobian",
    "a rank-two update of a diagonal matrix",
    models=gain_roots,
    without={"g_i² ≠ λ": repeated_gain, "λ ≠ 0": dead},
)
def test_gain_secular_converse(x: Vector, v: Vector, g: Vector, lam: Scalar, eps: Epsilon):
    """Each squared singular value that is not a squared gain solves the secular equation of the Jacobian.

    s²JJᵀv = λv, λ ≠ 0, v ≠ 0 and g_i² ≠ λ imply κλ(S₀S₂ − S₁²) = ρ²S₀, S_k = Σ y_i^k/(g_i² − λ)

    Last step: With jacobian.gain_secular, for σ² + ε > 0: a λ ≠ 0 that is not a squared gain is an eigenvalue of s²JJᵀ
    if and only if κλ(S₀S₂ − S₁²) = ρ²S₀.

    Remark: At ε = 0 it reads S₀S₂ = S₁²; the vector is that of jacobian.gain_secular with r = S₁, t = −S₀, or r = 1
    and t = 0 where both are 0.
    """
    gap = g * g - lam
    zero, one, two = secular_sums(lg.standardize(x, eps=eps), gap)
    assume(nonzero(gap), "g_i² ≠ λ")
    assume(variance(x) + eps > 0, "σ² + ε > 0", redundant=NO_DERIVATIVE)
    assume(squared(x, v, g, eps) == lam * v, "s²JJᵀv = λv")
    assume(lam != 0)
    assume(square_norm(v) > 0, "v ≠ 0")
    determinant = radial(x, eps) * lam * (zero * two - one * one)
    assert determinant == factor(x, eps) ** 2 * zero
    wrong("S₀S₂ = S₁² at every ε", lambda: determinant == 0)
    wrong("S₀ = 0, the equation of GΠG", lambda: zero == 0)
    wrong("ρ in the place of ρ²", lambda: determinant == factor(x, eps) * zero)


@test_gain_secular_converse.proof
def _(goal, given, x, v, g, lam, eps):
    """With a = g·v/d, b = κ(g∘y)·v and w = 1/(g² − λ) it is v = g(a + by)w, and e and f are 0.

    e = λ(aS₀ + bS₁) and f = κλ(aS₁ + bS₂) − ρ²b. For Δ = κλ(S₀S₂ − S₁²) − ρ²S₀: bΔ = S₀f − κS₁e, and
    λaΔ = (κλS₂ − ρ²)e − λS₁f, so that λΔv = 0.
    """
    off, defined, eigen, value, length = given
    y, k, p, gap = sy.vector("y"), sy.scalar("k"), sy.scalar("p"), g * g - lam
    zero, one, two = secular_sums(y, gap)
    flat, size = sy.assume(sy.equal(summed(y), 0)), sy.assume(sy.equal(k * square_norm(y), 1 - p))
    moved = sy.assume(sy.equal(corrected(g, y, k, v, centered=True), lam * v))
    a, b, w, unit = dot(g, v) / dim(g), k * dot(g * y, v), 1 / gap, sy.inverse(off)
    u = a + b * y
    ray = sy.combine(v - g * u * w, [(w, None, moved), (-v, None, unit)])
    e = sy.combine(lam * (a * zero + b * one), [(-1, g, ray), (-1, u, unit), (-b, None, flat)])
    f = sy.combine(
        k * lam * (a * one + b * two) - p * b,
        [(-k, g * y, ray), (-k, y * u, unit), (-k * a, None, flat), (-b, None, size)],
    )
    delta = k * lam * (zero * two - one * one) - p * zero
    first = sy.combine(b * delta, [(zero, None, f), (-k * one, None, e)])
    second = sy.combine(lam * a * delta, [(k * lam * two - p, None, e), (-lam * one, None, f)])
    parts = [(lam * delta, v, ray), (dot(g * w, v), None, second), (lam * dot(g * w * y, v), None, first)]
    vanishes = sy.combine(delta * (square_norm(v) * lam), parts)
    law = sy.cancel(delta, vanishes, sy.multiply(sy.weaken(length, "!="), value))
    law = particular(law, x, eps, defined)
    own = form(x, g, eps, defined, v)
    here = sy.combine(own.conclusion.term - eigen.conclusion.term, [(1, None, own), (-1, None, eigen)])
    here = sy.combine(-here.conclusion.term, [(-1, None, here)])
    return sy.transport(goal.term, sy.combine(0, []), sy.cut(here, law))


@st.composite
def ray_roots(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """Solutions for RMSNorm: gains of one size; or of two, at the same distance from λ, with pairs of one size in x."""
    signs = [draw(st.sampled_from((1, -1))) for _ in range(d)]
    x = list(draw(vectors(d, "!=")))
    if d % 2 or draw(st.booleans()):
        g, (eps, rho) = [2 * sign for sign in signs], rational_divisor(x)
        return {"x": x, "g": g, "eps": eps, "lam": 4 * rho**2, "v": [a * b for a, b in zip(g, x, strict=True)]}
    g, x = [sign * (1, 3)[i % 2] for i, sign in enumerate(signs)], [x[i // 2] for i in range(d)]
    v = [Fraction(a * b, a * a - 5) for a, b in zip(g, x, strict=True)]
    return {"x": x, "g": g, "eps": 0, "lam": 5, "v": v}


def pole_of_ray(d: int) -> dict[str, Any]:
    """Gains 1 and 7 in turn and one of 5, λ = 25, at the vector 1."""
    return {"x": d * [1], "g": [*([1, 7] * d)[: d - 1], 5], "eps": 0, "lam": 25}


@theorem(OWN, "Jacobian", "a rank-one update of a diagonal matrix", models=ray_roots, without={"g_i² ≠ λ": pole_of_ray})
def test_rms_gain_secular(x: Vector, g: Vector, lam: Scalar, eps: Epsilon):
    """With a gain each root of one equation is a singular value of the Jacobian of RMSNorm.

    s²JJᵀv = λv for v = g∘y/(g² − λ) and κλΣ y_i²/(g_i² − λ) = ρ², with s² = ‖x‖²/d + ε > 0, ρ = ε/s², κ = (1 + ρ)/d
    """
    gap, y, rho = g * g - lam, lg.rms_norm(x, eps=eps), factor(x, eps, centered=False)
    assume(nonzero(gap), "g_i² ≠ λ")
    assume(mean_square(x) + eps > 0, "s² > 0", redundant="elsewhere y = 0, and so is v")
    assume(radial(x, eps, centered=False) * lam * secular_sums(y, gap)[2] == rho**2, "κλS₂ = ρ²")
    ray = g * y / gap
    assert squared(x, ray, g, eps, centered=False) == lam * ray
    wrong("the vector without the gain", lambda: squared(x, y / gap, g, eps, centered=False) == lam * y / gap)
    wrong("of LayerNorm", lambda: squared(x, ray, g, eps) == lam * ray)


@theorem(
    OWN, "Jacobian", "a rank-one update of a diagonal matrix", models=ray_roots, without={"g_i² ≠ λ": repeated_gain}
)
def test_rms_gain_secular_converse(x: Vector, v: Vector, g: Vector, lam: Scalar, eps: Epsilon):
    """Each squared singular value of the Jacobian of RMSNorm that is not a squared gain solves that equation.

    s²JJᵀv = λv, v ≠ 0 and g_i² ≠ λ imply κλΣ y_i²/(g_i² − λ) = ρ²

    Last step: With jacobian.rms_gain_secular, for s² > 0: a λ that is not a squared gain is an eigenvalue of s²JJᵀ if
    and only if κλΣ y_i²/(g_i² − λ) = ρ².

    Remark: At ε = 0 with u = x/‖x‖ it reads λ = 0 or Σ u_i²/(g_i² − λ) = 0: between two neighbouring squared gains the
    sum grows from −∞ to ∞ if no u_i is 0, and vanishes once.
    """
    gap, y, rho = g * g - lam, lg.rms_norm(x, eps=eps), factor(x, eps, centered=False)
    assume(nonzero(gap), "g_i² ≠ λ")
    assume(mean_square(x) + eps > 0, "s² > 0", redundant="elsewhere the total inverse makes J = 0, and λ = 0 solves it")
    assume(squared(x, v, g, eps, centered=False) == lam * v, "s²JJᵀv = λv")
    assume(square_norm(v) > 0, "v ≠ 0")
    left = radial(x, eps, centered=False) * lam * secular_sums(y, gap)[2]
    assert left == rho**2
    wrong("0 on the right at every ε", lambda: left == 0)
    wrong("ρ in the place of ρ²", lambda: left == rho)


def ray_law(g: Vector, y: Vector, k: Scalar, p: Scalar, lam: Scalar, unit: sy.Proved, size: sy.Proved) -> sy.Proved:
    """κ(g∘y)·v = 1 + κλS₂ − p for v = g∘y/(g² − λ)."""
    gap = g * g - lam
    along = k * dot(g * y, g * y / gap) - (1 + k * lam * secular_sums(y, gap)[2] - p)
    return sy.combine(along, [(k, y * y, unit), (1, None, size)])


@test_rms_gain_secular.proof
def _(goal, given, x, g, lam, eps):
    """(g² − λ)v = g∘y, and κ(g∘y)·v = 1."""
    off, defined, root_ = given
    y, k, p, unit = sy.vector("y"), sy.scalar("k"), sy.scalar("p"), sy.inverse(off)
    ray, size = g * y / (g * g - lam), sy.assume(sy.equal(k * square_norm(y), 1 - p))
    solved = sy.assume(sy.equal(k * lam * secular_sums(y, g * g - lam)[2], p))
    parts = [(g * y, None, unit), (-g * y, None, ray_law(g, y, k, p, lam, unit, size)), (-g * y, None, solved)]
    law = sy.combine(corrected(g, y, k, ray, centered=False) - lam * ray, parts)
    law = particular(law, x, eps, defined, centered=False)
    actual = g * lg.rms_norm(x, eps=eps) / (g * g - lam)
    proof = sy.combine(goal.term, [(1, None, form(x, g, eps, defined, actual, centered=False)), (1, None, law)])
    return assuming(proof, [root_])


@test_rms_gain_secular_converse.proof
def _(goal, given, x, v, g, lam, eps):
    """With b = κ(g∘y)·v: v = bg∘y/(g² − λ), and so b = b(1 + κλS₂ − ρ²)."""
    off, defined, eigen, length = given
    y, k, p, unit = sy.vector("y"), sy.scalar("k"), sy.scalar("p"), sy.inverse(off)
    size, w = sy.assume(sy.equal(k * square_norm(y), 1 - p)), 1 / (g * g - lam)
    moved = sy.assume(sy.equal(corrected(g, y, k, v, centered=False), lam * v))
    b, delta = k * dot(g * y, v), k * lam * secular_sums(y, g * g - lam)[2] - p
    ray = sy.combine(v - b * g * y * w, [(w, None, moved), (-v, None, unit)])
    none = sy.combine(b * delta, [(-b, None, ray_law(g, y, k, p, lam, unit, size)), (-k, g * y, ray)])
    vanishes = sy.combine(delta * square_norm(v), [(delta, v, ray), (dot(g * y * w, v), None, none)])
    law = particular(sy.cancel(delta, vanishes, length), x, eps, defined, centered=False)
    own = form(x, g, eps, defined, v, centered=False)
    here = sy.combine(eigen.conclusion.term - own.conclusion.term, [(1, None, eigen), (-1, None, own)])
    return sy.transport(goal.term, sy.combine(0, []), sy.cut(here, law))


@theorem(OWN, "Jacobian", "exact Lipschitz constant", models=lambda d: {"x": vectors(d, kind="constant")})
def test_lipschitz_attained(x: Vector, v: Vector, g: Vector, eps: Epsilon):
    """On the line of constant vectors the Jacobian is GΠ/√ε.

    Jv = GΠv/√ε for Πx = 0

    Remark: The Lipschitz constant of LayerNorm is ‖GΠ‖₂/√ε.
    """
    assume(lg.project(x) == 0, "Πx = 0")
    moved = jacobian_product(x, v, g, eps=eps)
    assert moved == g * lg.project(v) / root(eps)
    wrong("max|g|/√ε in place of GΠ/√ε: the projection dropped", lambda: moved == g * v / root(eps))


@test_lipschitz_attained.proof
def _(goal, given, x, v, g, eps):
    """With Πx = 0 the variance vanishes, and √(σ² + ε) = √ε as functions of equal arguments."""
    (constant,) = given
    y, s = lg.standardize(x, eps=eps), denominator(x, eps)
    vanishes = sy.combine(variance(x), [(1 / dim(x), x, constant)])
    inverses = sy.congruence("inv", s, root(eps), sy.congruence("sqrt", variance(x) + eps, eps, vanishes))
    # y = Πx/s, and Πx = 0.
    no_output = sy.combine(y, [(1 / s, None, constant)])
    return sy.combine(goal.term, [(g * lg.project(v), None, inverses), (-g * dot(y, v) / dim(x) / s, None, no_output)])


@theorem(DIGEST, "Jacobian", "claims ‖J‖₂ = O(d/‖x‖) and cites Xiong et al., who have O(√d/‖x‖)")
def test_norm(x: Vector, v: Vector):
    """At ε = 0 the norm of the Jacobian is at most √d/‖Πx‖.

    ‖Πx‖²‖J₀v‖² ≤ d‖v‖² for ε = 0

    Remark: Equality for v ⟂ 1 and v ⟂ x, which exist for d ≥ 3; for d = 2 the Jacobian is 0.
    """
    assume(varies(x), "x is not constant", redundant="at σ = 0 the total inverse makes the right side 0")
    before, after = square_norm(v), square_norm(jacobian_product(x, v, eps=0))
    assert square_norm(lg.project(x)) * after <= dim(x) * before
    wrong("‖x‖ in place of ‖Πx‖", lambda: square_norm(x) * after <= dim(x) * before)
    wrong(
        "‖x‖‖J‖ ≤ d",
        lambda: square_norm(x) * after <= dim(x) ** 2 * before,
        models=lambda d: {"x": vectors(d, kind="nearly constant")},
    )


@test_norm.proof
def _(goal, given, x, v):
    """d‖v‖² − ‖Πx‖²‖Jv‖² = (1·v)² + (y·v)² at ε = 0."""
    return as_sum(goal, [sy.square(dot(ones(v), v)), sy.square(dot(lg.standardize(x, eps=0), v))], *given)


@theorem(XIONG, "Lemma 3", "states ‖J‖₂ = O(√d/‖x‖); the proof replaces ‖Πx‖ by ‖x‖")
def test_no_uniform_bound(x: Vector, v: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """No bound of the form O(√d/‖x‖) or O(d/‖x‖) holds: shifts change ‖x‖ and leave the Jacobian.

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
    """At ε = 0 the Jacobian is homogeneous of degree −1: small σ amplifies gradients.

    a J(ax) = J(x) for a > 0 and ε = 0
    """
    assume(a > 0)
    assume(varies(x), "x is not constant", redundant="at σ = 0 the total inverse makes both sides 0")
    assert a * jacobian_product(a * x, v, g, eps=0) == jacobian_product(x, v, g, eps=0)
    wrong("the same at ε = 1", lambda: a * jacobian_product(a * x, v, g, eps=1) == jacobian_product(x, v, g, eps=1))


@theorem(OWN, "Jacobian", "sharper than √ε, which the Lipschitz constant of a gradient gives")
def test_cocoercive(x: Vector, z: Vector, eps: Epsilon):
    """Two outputs never move against their inputs: LayerNorm is cocoercive, with the mean scale.

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
    parts = [
        sy.prove(sy.greater(dim(x) / 2)),
        positive,
        sy.square(s - t),
        sy.prove(sy.greater(s + t), *facts),
        sy.prove(sy.greater(1 / s**2), facts[0]),
        sy.prove(sy.greater(1 / t**2), facts[1]),
    ]
    return as_sum(goal, [product(*parts)], *facts)


def secant_law(wanted: Any, eps: Any, x: Vector, z: Vector, v: Vector) -> sy.Proved:
    """What `wanted` proves of any a = Πx, b = Πz, s² = ‖a‖²/d + ε, t² = ‖b‖²/d + ε and v, for these."""
    a, b, w, s, t, e = *map(sy.vector, "abw"), *map(sy.scalar, "ste")
    own = [sy.prove(sy.greater(variance(u) + eps.conclusion.term), eps) for u in (x, z)]
    sizes = [sy.equal(r * r, square_norm(u) / dim(u) + e) for r, u in ((s, a), (t, b))]
    formulas = [sy.greater(s), sy.greater(t), *sizes, sy.greater(e)]
    values = {a: lg.project(x), b: lg.project(z), w: lg.project(v), e: eps.conclusion.term}
    values |= {s: denominator(x, values[e]), t: denominator(z, values[e])}
    law = sy.instantiate(wanted([sy.assume(formula) for formula in formulas], a, b, w, s, t), values)
    for fact in (*map(sy.root_positive, own), *map(sy.square_of_root, own), eps):
        law = sy.cut(fact, law)
    return law


def inverses(first: sy.Proved, second: sy.Proved, s: Scalar, t: Scalar) -> list[tuple[sy.Proved, Any]]:
    """The products of s, t, 1/s, 1/t and k = 1/(s + t) that are sums: s/s = 1, sk = 1 − tk, tk/s = 1/s − k, ..."""
    i, j, k = 1 / s, 1 / t, 1 / (s + t)
    own, other, both = sy.inverse(first), sy.inverse(second), sy.inverse(sy.add(first, second))
    mixed = sy.combine(t * k * i - i + k, [(i, None, both), (-k, None, own)])
    pair = sy.combine(i * j - k * i - k * j, [(-i * j, None, both), (k * j, None, own), (k * i, None, other)])
    return [(own, s * i), (other, t * j), (both, s * k), (mixed, t * k * i), (pair, i * j)]


def between(a: Vector, b: Vector, s: Scalar, t: Scalar) -> Vector:
    """The mean m = (s·a/s + t·b/t)/(s + t) of two outputs, as the library computes it."""
    share = s / (s + t)
    return share * (a / s) + (1 - share) * (b / t)


@theorem(OWN, "Jacobian", "attribution through a norm divides by the scale and drops what is radial")
def test_secant(x: Vector, z: Vector, eps: Epsilon):
    """The difference of two outputs is one matrix times the difference of the inputs.

    LN_ε(x) − LN_ε(z) = M(x − z), M = ½(1/s + 1/t)(Π − mmᵀ/d), m = (s LN_ε(x) + t LN_ε(z))/(s + t), for ε > 0
    """
    assume(eps > 0, "ε > 0")
    moved = lg.standardize(x, eps=eps) - lg.standardize(z, eps=eps)
    assert moved == secant_product(x, z, x - z, eps=eps)
    mean_slope = (1 / denominator(x, eps) + 1 / denominator(z, eps)) / 2
    wrong("the Jacobian at one of the two", lambda: moved == jacobian_product(z, x - z, eps=eps))
    wrong("the scales alone, without mmᵀ", lambda: moved == mean_slope * lg.project(x - z))
    wrong("for RMSNorm, with Π", lambda: lg.rms_norm(x, eps=eps) - lg.rms_norm(z, eps=eps) == moved)


@test_secant.proof
def _(goal, given, x, z, eps):
    """½(1/s + 1/t)(1 − m(m·)/d)(a − b) = a/s − b/t, because (a + b)·(a − b)/d = s² − t² and m = (a + b)/(s + t)."""

    def law(facts: list[sy.Proved], a: Vector, b: Vector, _: Vector, s: Scalar, t: Scalar) -> sy.Proved:
        m, v = between(a, b, s, t), a - b
        product_ = (v - m * dot(m, v) / dim(a)) * ((1 / s + 1 / t) / 2)
        sizes = sy.combine(s * s - t * t - dot(a + b, v) / dim(a), [(1, None, facts[2]), (-1, None, facts[3])])
        known = [(sizes, square_norm(a)), *inverses(facts[0], facts[1], s, t)]
        proved = sy.prove(sy.equal(a / s - b / t, product_), *known)
        return assuming(proved, facts)

    return sy.transport(goal.term, sy.combine(0, []), secant_law(law, given[0], x, z, x))


@theorem(OWN, "Jacobian", "a secant of a monotone map that is a gradient")
def test_secant_monotone(x: Vector, z: Vector, v: Vector, eps: Epsilon):
    """The secant matrix of LayerNorm is positive semidefinite.

    v·Mv ≥ 0 for ε > 0
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where both vectors vary; the library takes no ε < 0")
    along = dot(v, secant_product(x, z, v, eps=eps))
    assert along >= 0
    wrong("positive for every v", lambda: along > 0)
    wrong("with a gain, here x", lambda: dot(v, secant_product(x, z, v, x, eps=eps)) >= 0)


@test_secant_monotone.proof
def _(goal, given, x, z, v, eps):
    """‖w‖² − (n·w)²/d = ‖w − n(n·w)/d‖² + (n·w)²(1 − ‖n‖²/d)/d for n = k(a + b) = m, and ‖n‖² ≤ d."""

    def law(facts: list[sy.Proved], a: Vector, b: Vector, w: Vector, s: Scalar, t: Scalar) -> sy.Proved:
        m, n, per = between(a, b, s, t), (a + b) / (s + t), sy.prove(sy.greater(1 / dim(a)))
        same = sy.prove(sy.equal(m, n), *inverses(facts[0], facts[1], s, t))
        rest = [sum_of_squares(w - n * dot(n, w) / dim(a)), product(sy.square(dot(n, w)), per, inside(facts, a, b))]
        whole = as_sum(sy.at_least(square_norm(w) - dot(n, w) ** 2 / dim(a)), rest)
        slope = sy.prove(sy.greater((1 / s + 1 / t) / 2), facts[0], facts[1])
        bound = sy.multiply(slope, whole)
        goal = slope.conclusion.term * (square_norm(w) - dot(m, w) ** 2 / dim(a))
        factor = -slope.conclusion.term * dot(m + n, w) / dim(a)
        moved = sy.combine(goal - bound.conclusion.term, [(factor, w, same)])
        return assuming(sy.transport(goal, moved, bound), facts)

    return sy.transport(goal.term, sy.combine(0, []), secant_law(law, given[0], x, z, v))


def inside(facts: list[sy.Proved], a: Vector, b: Vector) -> sy.Proved:
    """1 − ‖n‖²/d ≥ 0: it is k²P, and stP = ‖ta − sb‖²/d + ε(s + t)², P = (s + t)² − ‖a + b‖²/d."""
    first, second, eps = facts[0], facts[1], facts[4]
    s, t, d = first.conclusion.term, second.conclusion.term, dim(a)
    gap = (s + t) ** 2 - square_norm(a + b) / d
    parts = [product(sum_of_squares(t * a - s * b), sy.prove(sy.greater(1 / d))), product(eps, sy.square(s + t))]
    times = as_sum(sy.at_least(s * t * gap), parts, (facts[2], square_norm(a)), (facts[3], square_norm(b)))
    turned = product(sy.inverse_sign(first), sy.inverse_sign(second), times)
    units = [(-gap * t / t, None, sy.inverse(first)), (-gap, None, sy.inverse(second))]
    positive = sy.transport(gap, sy.combine(gap - turned.conclusion.term, units), turned)
    k = 1 / (s + t)
    radius = 1 - k**2 * square_norm(a + b) / d
    both = sy.inverse(sy.add(first, second))
    same = sy.combine(radius - k**2 * gap, [(-(k * (s + t) + 1), None, both)])
    return sy.transport(radius, same, product(sy.square(k), positive))


@theorem(OWN, "Jacobian", "the secant treats two vectors alike")
def test_secant_symmetric(x: Vector, z: Vector, v: Vector, w: Vector, eps: Epsilon):
    """The secant matrix of LayerNorm is symmetric, and sends the uniform vector to 0.

    w·Mv = v·Mw, and M1 = 0
    """
    assert dot(w, secant_product(x, z, v, eps=eps)) == dot(v, secant_product(x, z, w, eps=eps))
    assert secant_product(x, z, ones(x), eps=eps) == 0
    other = dot(v, secant_product(x, z, w, x, eps=eps))
    wrong("with a gain, here x", lambda: dot(w, secant_product(x, z, v, x, eps=eps)) == other)
    wrong("it sends x to 0, as the Jacobian at ε = 0", lambda: secant_product(x, z, x, eps=eps) == 0)


@theorem(OWN, "Jacobian", "the Lipschitz constant, attained by jacobian.lipschitz_attained")
def test_lipschitz(x: Vector, z: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """The distance of two outputs is at most c/√ε times that of the inputs, c the norm of the gain on what differs.

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
    spreads = [product(sum_of_squares(lg.project(u)), sy.prove(sy.greater(1 / dim(x)))) for u in (x, z)]
    roots = [sy.square_of_root(own), sy.square_of_root(other)]
    grown = [product(*spreads), product(positive, sy.add(*spreads))]
    squares = as_sum(sy.at_least((s * t - eps) * (s * t + eps)), grown, *roots)
    part = sy.multiply(sy.inverse_sign(both), squares)
    unit = sy.combine(s * t - eps - part.conclusion.term, [(-(s * t - eps), None, sy.inverse(both))])
    mixed = sy.transport(s * t - eps, unit, part)
    half, quarter = (sy.constant(Fraction(1, n), ">") for n in (2, 4))
    slack = as_sum(sy.at_least(k**2 - eps), [sy.multiply(quarter, sy.add(*spreads)), sy.multiply(half, mixed)], *roots)
    parts = [
        sum_of_squares(x - z - k * v),
        product(sy.constant(2, ">"), above, along),
        product(slack, sum_of_squares(v)),
    ]
    bare = as_sum(sy.at_least(square_norm(x - z) - eps * square_norm(v)), parts)
    return as_sum(goal, [sy.multiply(sy.square(c), bare), product(positive, bounded)])


@theorem(OWN, "Jacobian", "exact Lipschitz constant with ε outside the root")
def test_lipschitz_outside(x: Vector, z: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """With ε outside the root the distance of two outputs is at most c/ε times that of the inputs.

    ε²‖LN_ε(x; g) − LN_ε(z; g)‖² ≤ c²‖x − z‖² for ε > 0 and ‖g∘v‖ ≤ c‖v‖ at v = LN_ε(x) − LN_ε(z), LN = Πx/(σ + ε)

    Last step: For ε > 0 and L ≥ 0: ‖LN_ε(x; g) − LN_ε(x′; g)‖ ≤ L‖x − x′‖ for all x and x′ if and only if
    ‖g∘Πv‖ ≤ Lε‖v‖ for all v; so the Lipschitz constant is ‖GΠ‖₂/ε.
    """
    assume(eps > 0, redundant="at ε = 0 the left side is 0, and the library takes no ε < 0")
    moved = lg.standardize(x, eps=eps, placement="outside") - lg.standardize(z, eps=eps, placement="outside")
    assume(c**2 * square_norm(moved) >= square_norm(g * moved), "‖g∘v‖ ≤ c‖v‖")
    written = g * moved
    assert eps**2 * square_norm(written) <= c**2 * square_norm(x - z)
    wrong(
        "ε as if it were inside the root",
        lambda: eps * square_norm(written) <= c**2 * square_norm(x - z),
        models=lambda d: {
            "x": ([Fraction(1, 8), Fraction(-1, 8)] + d * [Fraction(0)])[:d],
            "z": d * [Fraction(0)],
            "g": d * [Fraction(1)],
            "c": Fraction(1),
            "eps": Fraction(1, 4),
        },
    )


@test_lipschitz_outside.proof
def _(goal, given, x, z, g, c, eps):
    """‖x − x′‖² = ‖Πx − Πx′‖² + d(μ − μ′)²."""
    positive, bounded = given
    a, b, s, t, e = *map(sy.vector, "ab"), *map(sy.scalar, "ste")
    law = sy.instantiate(outside_law(), {a: lg.project(x), b: lg.project(z)})
    for scalar, u in ((s, x), (t, z)):
        law = sy.instantiate(law, {scalar: root(variance(u)) + e})
    law = sy.instantiate(law, {e: eps})
    for u in (x, z):
        share = product(sum_of_squares(lg.project(u)), sy.prove(sy.greater(1 / dim(u))))
        size = sy.square_of_root(as_sum(sy.at_least(variance(u)), [share]))
        law = sy.cut(sy.root_nonnegative(variance(u)), sy.cut(size, law))
    bare = sy.add(sy.cut(positive, law), sum_of_squares(mean_vector(x - z)))
    return as_sum(goal, [sy.multiply(sy.square(c), bare), product(sy.square(eps), bounded)])


def outside_law() -> sy.Proved:
    """‖a − b‖² ≥ e²‖v‖² for v = a/s − b/t, (s − e)² = ‖a‖²/d, (t − e)² = ‖b‖²/d, s ≥ e and t ≥ e > 0.

    The difference is (st − e²)(‖v‖² + d(s − t)²/(st)).
    """
    a, b, s, t, e = *map(sy.vector, "ab"), *map(sy.scalar, "ste")
    sizes = [sy.assume(sy.equal((r - e) ** 2, square_norm(u) / dim(u))) for r, u in ((s, a), (t, b))]
    first, second, positive = *(sy.assume(sy.at_least(r - e)) for r in (s, t)), sy.assume(sy.greater(e))
    own, other = (sy.transport(r, sy.combine(0, []), sy.add(one, positive)) for r, one in ((s, first), (t, second)))
    slack = as_sum(sy.at_least(s * t - e * e), [product(first, second), product(positive, sy.add(first, second))])
    apart = product(slack, sy.prove(sy.greater(dim(a))), sy.square(s - t), sy.inverse_sign(own), sy.inverse_sign(other))
    v = a / s - b / t
    known = [(one, square_norm(u)) for one, u in zip(sizes, (a, b), strict=True)]
    units = [(sy.inverse(own), s / s), (sy.inverse(other), t / t)]
    return as_sum(
        sy.at_least(square_norm(a - b) - e * e * square_norm(v)),
        [product(slack, sum_of_squares(v)), apart],
        *known,
        *units,
    )
