"""Gauge: affine maps of the stream that readers undo, what they do to angles, and what they leave alone."""

import lngeom as lg
from lngeom.norms import scale
from lngeom.prover import dot, ones, square_norm, summed
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import deviation, mean, mean_square, variance
from ..works import ASHKBOOS, GUPTA, JIANG, OWN, QUAROT

SPEAKS_OF_ANGLES = GUPTA, "section 3", "compares angles of hidden states with 1, and infers what a model needs"


@theorem(JIANG, "section 3", "the mean of the stream of a Pre-LN network is never read")
def test_writers(w: Vector, x: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """What writers add along 1 changes no output of a network whose readers are LayerNorms.

    LN_ε(x + (w + c1); g, b) = LN_ε(x + w; g, b)

    Last step: Of a network of any number of branches, each any function of what a LayerNorm with an ε of its own
    returns at all positions, followed by a matrix W_k, and of a final LayerNorm and a head: with W_k + 1v_kᵀ in the
    place of every W_k and x + c1 in the place of the embedding, v_k any vectors and c any number for each position, the
    output is the same, whatever the head.
    """
    written = lg.layer_norm(x + w, g, b, eps=eps)
    assert lg.layer_norm(x + (w + c * ones(w)), g, b, eps=eps) == written
    moved = lg.rms_norm(x + (w + c * ones(w)), g, b, eps=eps)
    wrong("the same for RMSNorm", lambda: moved == lg.rms_norm(x + w, g, b, eps=eps))
    wrong(
        "a head that reads the stream without a norm", lambda: x + (w + c * ones(w)) == x + w, at={"x": (1, -1), "c": 2}
    )


@theorem(ASHKBOOS, "section 3.2", "says which maps of the stream commute with a norm, and not that no others will do")
def test_complete(q: Vector, x: Vector, c: Scalar, e: Scalar, eps: Epsilon):
    """With nonzero gains affine readers of LayerNorms undo turning and scaling of centred states and affine changes
    along 1, and no other affine map.

    LN_{c²ε}(cq + e1) = q/√(σ² + ε) for 1·q = 0, ‖q‖ = ‖Πx‖ and c > 0

    Last step: Let ε, ε' > 0 and let g, g' have no zero. For a matrix A and a vector a there are a matrix L and a vector
    l with L LN_{ε'}(Ax + a; g', b') + l = LN_ε(x; g, b) for all x if and only if ε' = c²ε, A = cQ + 1wᵀ and a = s1 with
    a c > 0, an orthogonal Q with Q1 = 1, a vector w and a number s. For ε = ε' = 0 the same holds of all x that are not
    constant, if Ax + a is not constant for any of them.
    """
    assume(summed(q) == 0, "1·q = 0")
    assume(square_norm(q) == square_norm(lg.project(x)), "‖q‖ = ‖Πx‖")
    assume(c > 0)
    assume(eps >= 0, redundant="the library takes no ε < 0")
    moved, turned = c * q + e * ones(q), q / scale(variance(x), eps=eps)
    assert lg.layer_norm(moved, eps=c * c * eps) == turned
    wrong("the same ε", lambda: lg.layer_norm(moved, eps=eps) == turned)
    wrong("ε scaled by c", lambda: lg.layer_norm(moved, eps=c * eps) == turned)
    wrong("what is added along another direction, here q", lambda: lg.layer_norm(moved + q, eps=c * c * eps) == turned)
    wrong("for RMSNorm", lambda: lg.rms_norm(moved, eps=c * c * eps) == turned)
    wrong("any length", instead={"‖q‖ = ‖Πx‖": lambda: square_norm(q) > 0})
    wrong("c < 0", instead={"c > 0": lambda: c < 0})


@theorem(ASHKBOOS, "section 3.2", "says which maps of the stream commute with a norm, and not that no others will do")
def test_complete_rms(p: Vector, x: Vector, c: Scalar, eps: Epsilon):
    """With nonzero gains affine readers of RMSNorms undo orthogonal maps and scalings, and no other affine map.

    RMS_{c²ε}(cp) = p/√(‖x‖²/d + ε) for ‖p‖ = ‖x‖ and c > 0

    Last step: Let ε, ε' > 0 and let g, g' have no zero. For a matrix A and a vector a there are a matrix L and a vector
    l with L RMS_{ε'}(Ax + a; g', b') + l = RMS_ε(x; g, b) for all x if and only if ε' = c²ε, A = cQ and a = 0 with a
    c > 0 and an orthogonal Q. For ε = ε' = 0 the same holds of all x ≠ 0, if Ax + a ≠ 0 for all of them.
    """
    assume(square_norm(p) == square_norm(x), "‖p‖ = ‖x‖")
    assume(c > 0)
    assume(eps >= 0, redundant="the library takes no ε < 0")
    turned = p / scale(mean_square(x), eps=eps)
    assert lg.rms_norm(c * p, eps=c * c * eps) == turned
    wrong("the same ε", lambda: lg.rms_norm(c * p, eps=eps) == turned)
    wrong("a shift along 1 as well", lambda: lg.rms_norm(c * p + ones(p), eps=c * c * eps) == turned)
    wrong("a gain in place, here p", lambda: lg.rms_norm(c * p, p, eps=c * c * eps) == turned)
    wrong("for LayerNorm", lambda: lg.layer_norm(c * p, eps=c * c * eps) == turned)


@theorem(OWN, "gauge", "what statements about hidden states may be built of")
def test_gram(h: Vector, w: Vector):
    """For ε > 0 what no affine gauge changes is a function of the inner products of centred states divided by ε.

    H(h + w) = h − w for h·w = 0 and w ≠ 0, H the reflection along w

    Last step: Let F be a function of p states and of ε ≥ 0. No map x ↦ cQx + 1(w·x) + s1 with c > 0 and an orthogonal Q
    with Q1 = 1, applied to all states, with c²ε in the place of ε, changes F if and only if F(y, kε) = F(x, ε) wherever
    k > 0 and Πy_s·Πy_t = kΠx_s·Πx_t for all s and t. No x ↦ cQx with any orthogonal Q changes F if and only if
    F(y, kε) = F(x, ε) wherever k > 0 and y_s·y_t = kx_s·x_t for all s and t.

    Remark: With h = (u + v)/2 and w = (u − v)/2, H takes u to v, of one length, and keeps z if z·u = z·v.
    """
    assume(dot(h, w) == 0, "h·w = 0")
    assume(square_norm(w) > 0, "w ≠ 0", redundant="for w = 0 the prover, which reads 1/0 as 0, has Hx = x")
    assert mirrored(w, h + w) == h - w
    wrong("a projection in place of the reflection", lambda: lg.project(h + w, w) == h - w)
    wrong("all is turned round", lambda: mirrored(w, h + w) == -h - w)


@theorem(*SPEAKS_OF_ANGLES)
def test_any_angle(x: Vector, c: Scalar, t: Scalar):
    """Shifts along 1 give a nonconstant state every angle with 1 strictly between 0° and 180°.

    μ(x + c1) = tσ(x + c1) for c = tσ − μ, that is cot θ = t if σ > 0

    Remark: cot θ = μ/σ takes every real value, so that θ of a state with σ > 0 takes every value between 0° and 180°.
    """
    assume(c == t * deviation(x) - mean(x), "c = tσ − μ")
    moved = x + c * ones(x)
    assert mean(moved) == t * deviation(moved)
    wrong("c = tσ", lambda: mean(x + t * deviation(x) * ones(x)) == t * deviation(x))
    wrong("the same angle with the centred state", lambda: mean(lg.project(moved)) == t * deviation(moved))


@theorem(QUAROT, "section 3", "RMSNorm commutes with an orthogonal matrix once its gain is folded")
def test_rotation(w: Vector, x: Vector, eps: Epsilon):
    """Reflecting the input of an RMSNorm without gain and bias reflects its output.

    H RMS_ε(Hx) = RMS_ε(x), H the reflection along w
    """
    assume(square_norm(w) > 0, "w ≠ 0", redundant="for w = 0 the prover, which reads 1/0 as 0, has Hx = x")
    hx = mirrored(w, x)
    assert mirrored(w, lg.rms_norm(hx, eps=eps)) == lg.rms_norm(x, eps=eps)
    wrong("for LayerNorm", lambda: mirrored(w, lg.layer_norm(hx, eps=eps)) == lg.layer_norm(x, eps=eps))
    back = mirrored(w, lg.rms_norm(hx, w, eps=eps))
    wrong("with a gain in place, here w", lambda: back == lg.rms_norm(x, w, eps=eps))


def mirrored(w: Vector, x: Vector) -> Vector:
    """The reflection Hx = x − 2w(w·x)/‖w‖²."""
    return x - 2 * w * dot(w, x) / square_norm(w)
