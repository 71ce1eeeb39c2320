"""Gauge: changes of the weights that change no output, what they do to angles, and what they leave alone."""

import lngeom as lg
from lngeom import kernel as sy
from lngeom.kernel import dim, dot, norm, ones, root, square_norm, summed
from lngeom.norms import scale
from lngeom.strategies import sphere
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import deviation, mean, mean_square, variance
from .._steps import as_sum, product
from ..works import ASHKBOOS, GUPTA, JIANG, OWN, QUAROT
from . import angles
from .rotations import mirror_laws, reflected

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


@theorem(OWN, "gauge", "what statements about hidden states may be built of", kind="lemma")
def test_invariants(x: Vector, z: Vector, c: Scalar, e: Scalar):
    """Inner products of centred states do not see shifts along 1, nor do the variances.

    Π(x + c1)·Π(z + e1) = Πx·Πz and σ²(x + c1) = σ²(x)

    Remark: Shifts leave also ‖Πx‖, σ and what is behind a LayerNorm; turning and scaling change them, by gauge.gram.
    """
    moved, other = x + c * ones(x), z + e * ones(z)
    assert dot(lg.project(moved), lg.project(other)) == dot(lg.project(x), lg.project(z))
    assert variance(moved) == variance(x)
    wrong("inner products of the states themselves", lambda: dot(moved, other) == dot(x, z))
    wrong("lengths", lambda: norm(moved) == norm(x))


@theorem(ASHKBOOS, "section 3.2", "says which maps of the stream commute with a norm, and not that no others will do")
def test_complete(q: Vector, x: Vector, c: Scalar, e: Scalar, eps: Epsilon):
    """What readers of LayerNorms undo: turning and scaling of centred states, anything along 1, and nothing else.

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
    """What readers of RMSNorms undo: turning and scaling of states, and nothing else.

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
    """What no gauge changes is a function of the inner products of centred states divided by ε.

    H(h + w) = h − w for h·w = 0 and w ≠ 0, H the reflection along w

    Last step: Let F be a function of p states and of ε ≥ 0. No map x ↦ cQx + 1(w·x) + s1 with c > 0 and an orthogonal Q
    with Q1 = 1, applied to all states, with c²ε in the place of ε, changes F if and only if F(y, kε) = F(x, ε) wherever
    k > 0 and Πy_s·Πy_t = kΠx_s·Πx_t for all s and t. No x ↦ cQx with any orthogonal Q changes F if and only if
    F(y, kε) = F(x, ε) wherever k > 0 and y_s·y_t = kx_s·x_t for all s and t.

    Remark: With h = (u + v)/2 and w = (u − v)/2, H takes u to v, of one length, and keeps z if z·u = z·v.
    """
    assume(dot(h, w) == 0, "h·w = 0")
    assume(square_norm(w) > 0, "w ≠ 0", redundant="for w = 0 the kernel, which reads 1/0 as 0, has Hx = x")
    assert mirrored(w, h + w) == h - w
    wrong("a projection in place of the reflection", lambda: lg.project(h + w, w) == h - w)
    wrong("all is turned round", lambda: mirrored(w, h + w) == -h - w)


@theorem(*SPEAKS_OF_ANGLES)
def test_any_angle(x: Vector, c: Scalar, t: Scalar):
    """A shift along 1 gives a state any angle with 1 but 0 and 180 degrees.

    μ(x + c1) = tσ(x + c1) for c = tσ − μ, that is cot θ = t

    Remark: cot θ = μ/σ takes every real value, so that θ of a state with σ > 0 takes every value between 0° and 180°.
    """
    assume(c == t * deviation(x) - mean(x), "c = tσ − μ")
    moved = x + c * ones(x)
    assert mean(moved) == t * deviation(moved)
    wrong("c = tσ", lambda: mean(x + t * deviation(x) * ones(x)) == t * deviation(x))
    wrong("the same angle with the centred state", lambda: mean(lg.project(moved)) == t * deviation(moved))


@theorem(*SPEAKS_OF_ANGLES, kind="lemma")
def test_angle_decreases(x: Vector, c: Scalar, e: Scalar):
    """A larger shift along 1 makes the angle with 1 of every state that is not constant smaller.

    μ(x + c1)/σ(x + c1) < μ(x + e1)/σ(x + e1) for c < e and σ > 0

    Remark: So does the mean of the angles of any number of such states.
    """
    assume(e - c > 0, "c < e")
    assume(variance(x) > 0, "σ > 0")
    before, after = x + c * ones(x), x + e * ones(x)
    assert mean(after) / deviation(after) - mean(before) / deviation(before) > 0
    wrong("the length grows as well", lambda: norm(after) - norm(before) > 0)


@theorem(*SPEAKS_OF_ANGLES)
def test_mean_angle(x: Vector, c: Scalar):
    """Over the gauge the mean angle with 1 takes every value between 0 and 180 degrees and no other.

    cos∠(x + c1, 1) = (μ + c)/√((μ + c)² + σ²) for σ > 0

    Last step: For any number of states with σ > 0 and any continuous function f on [−1, 1], such as the arc cosine, the
    mean of f(cos∠(x + c1, 1)) over the states takes every value strictly between f(−1) and f(1); if f decreases
    strictly it takes no other, and each at one c alone.

    Cites: intermediate value theorem
    """
    assume(variance(x) > 0, "σ > 0", redundant="at σ = 0 both sides are the sign of μ + c, or 0 for the zero vector")
    moved, along = x + c * ones(x), mean(x) + c
    cosine = dot(moved, ones(x)) / (norm(moved) * norm(ones(x)))
    assert cosine == along / root(along**2 + variance(x))
    wrong("the cosine of x, moved by c", lambda: cosine == mean(x) / root(mean(x) ** 2 + variance(x)) + c)
    wrong("(μ + c)/σ", lambda: cosine == along / deviation(x))


@test_mean_angle.proof
def _(goal, given, x, c):
    """By angles.cosine, for x + c1 has the mean μ + c and the variance of x."""
    moved, (law,) = x + c * ones(x), angles.test_cosine.prove()
    parts = (
        product(sy.square(mean(moved)), sy.prove(sy.greater(dim(x)))),
        sy.multiply(given[0], sy.prove(sy.greater(dim(x)))),
    )
    long = as_sum(sy.greater(square_norm(moved)), [*parts])
    return sy.transport(goal.term, sy.combine(0, []), sy.cut(long, sy.instantiate(law, {sy.vector("x"): moved})))


@theorem(GUPTA, "section 3.2", "replaces LayerNorm by RMSNorm where states are orthogonal to 1")
def test_fold_invariant(x: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """RMSNorm behind an explicit projection does not see shifts; RMSNorm in the place of LayerNorm does.

    RMS_ε(Π(x + c1); g, b) = LN_ε(x; g, b)

    Remark: So the price of the naive swap depends on the gauge in which the weights are stored, and that of the fold,
    which centres what writers write, does not: it is 0.
    """
    moved, before = x + c * ones(x), lg.layer_norm(x, g, b, eps=eps)
    assert lg.rms_norm(lg.project(moved), g, b, eps=eps) == before
    wrong("the naive swap, which drops Π", lambda: lg.rms_norm(moved, g, b, eps=eps) == before)
    wrong(
        "the naive swap costs the same in every gauge",
        lambda: lg.rms_norm(moved, g, b, eps=eps) == lg.rms_norm(x, g, b, eps=eps),
    )


@theorem(QUAROT, "section 3", "RMSNorm commutes with an orthogonal matrix once its gain is folded")
def test_rotation(w: Vector, x: Vector, eps: Epsilon):
    """A reflection of the stream is undone by the readers of an RMSNorm network without gains.

    H RMS_ε(Hx) = RMS_ε(x), H the reflection along w

    Last step: Of a network of any number of branches, each any function of what an RMSNorm without gain and with an ε
    of its own returns at all positions, and of a final RMSNorm and a head: with an orthogonal Q, the embedding Qx, all
    writers multiplied by Q and all readers by Qᵀ, the states are multiplied by Q and the output is the same.
    """
    assume(square_norm(w) > 0, "w ≠ 0", redundant="for w = 0 the kernel, which reads 1/0 as 0, has Hx = x")
    hx = mirrored(w, x)
    assert mirrored(w, lg.rms_norm(hx, eps=eps)) == lg.rms_norm(x, eps=eps)
    wrong("for LayerNorm", lambda: mirrored(w, lg.layer_norm(hx, eps=eps)) == lg.layer_norm(x, eps=eps))
    back = mirrored(w, lg.rms_norm(hx, w, eps=eps))
    wrong("with a gain in place, here w", lambda: back == lg.rms_norm(x, w, eps=eps))


def mirrored(w: Vector, x: Vector) -> Vector:
    """The reflection Hx = x − 2w(w·x)/‖w‖²."""
    return x - 2 * w * dot(w, x) / square_norm(w)


@theorem(ASHKBOOS, "section 3.2", "the stream may be rotated", models=lambda d: {"u": sphere(d)})
def test_any_direction(u: Vector, x: Vector):
    """The reflection that exchanges 1 and u gives states the angle with 1 that they had with u.

    Hx·1/(‖Hx‖‖1‖) = x·u/(‖x‖‖u‖) for ‖u‖² = d, u ≠ 1

    Last step: For every u with ‖u‖² = d there is an orthogonal Q with (Qx)·1 = x·u and ‖Qx‖ = ‖x‖ for all x.

    Remark: By gauge.rotation there is a network of the same output whose states have with 1 the angles that those of
    the given one have with u.
    """
    assume(square_norm(u) == dim(u), "‖u‖² = d")
    assume(square_norm(u - ones(u)) > 0, "u ≠ 1", redundant="for u = 1 the kernel, which reads 1/0 as 0, has Hx = x")
    turned = reflected(u, x)
    cosine = summed(turned) / (norm(turned) * norm(ones(x)))
    assert cosine == dot(x, u) / (norm(x) * norm(u))
    wrong("the angle with 1 stays", lambda: cosine == summed(x) / (norm(x) * norm(ones(x))))


@test_any_direction.proof
def _(goal, given, u, x):
    """Hx·1 = x·H1 = x·u, ‖Hx‖² = ‖x‖², ‖u‖² = ‖1‖²."""
    laws = mirror_laws(given, u)
    turned = reflected(u, x)
    along = sy.prove(sy.equal(summed(turned), dot(x, u)), *laws)
    lengths = sy.prove(sy.equal(square_norm(turned), square_norm(x)), *laws)
    own = sy.congruence("sqrt", square_norm(turned), square_norm(x), lengths)
    of_one = sy.congruence("sqrt", square_norm(u), dim(u), given[0])
    inverses = [sy.congruence("inv", norm(turned), norm(x), own), sy.congruence("inv", norm(u), root(dim(u)), of_one)]
    parts = [
        (1 / norm(turned) / root(dim(u)), None, along),
        (dot(x, u) / root(dim(u)), None, inverses[0]),
        (-dot(x, u) / norm(x), None, inverses[1]),
    ]
    return sy.combine(goal.term, parts)
