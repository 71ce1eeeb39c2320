"""Irreversibility: which inputs a norm layer cannot tell apart, and what can be recovered from its output."""

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.fibers import invert
from lngeom.norms import batch_norm
from lngeom.prover import dim, dot, ones, root, square_norm
from lngeom.strategies import rational_root, scalars, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, varies, wrong

from .._shared import deviation, mean, mean_square, variance
from ..works import GUPTA, IOFFE, OWN


@theorem(GUPTA, "section 2.3", "LayerNorm is irreversible")
def test_invariance(x: Vector, a: Scalar, c: Scalar, eps: Epsilon):
    """At ε = 0 LayerNorm forgets the mean and a positive factor.

    LN(ax + c1) = LN(x) for a > 0 at ε = 0
    """
    assume(a > 0)
    moved = a * x + c * ones(x)
    assert lg.standardize(moved, eps=0) == lg.standardize(x, eps=0)
    wrong("a < 0", instead={"a > 0": lambda: a < 0})
    wrong(
        "at ε > 0", lambda: lg.standardize(moved, eps=eps) == lg.standardize(x, eps=eps), given=lambda: [a > 0, eps > 0]
    )


@theorem(OWN, "irreversibility", "the sign of the factor survives")
def test_reflection(x: Vector, a: Scalar, c: Scalar):
    """At ε = 0 and without bias a negative factor on the input changes the sign of the output.

    LN(ax + c1) = −LN(x) for a < 0 at ε = 0
    """
    assume(a < 0)
    assert lg.standardize(a * x + c * ones(x), eps=0) == -lg.standardize(x, eps=0)
    wrong("also for a > 0", instead={"a < 0": lambda: a > 0})


@theorem(GUPTA, "section 2.3", "information along the uniform vector is lost", kind="lemma")
def test_shift(x: Vector, c: Scalar, eps: Epsilon):
    """LayerNorm forgets the mean for every ε.

    LN_ε(x + c1) = LN_ε(x)
    """
    moved = x + c * ones(x)
    assert lg.standardize(moved, eps=eps) == lg.standardize(x, eps=eps)
    wrong(
        "RMSNorm forgets the mean",
        lambda: lg.rms_norm(moved, eps=eps) == lg.rms_norm(x, eps=eps),
        given=lambda: [eps > 0],
    )


@theorem(GUPTA, "section 2.3", "the original vector cannot be recovered from its normalized form")
def test_no_left_inverse(x: Vector, r: Vector, c: Scalar):
    """For d ≥ 2 no function of the output recovers every input.

    ‖r − x‖² + ‖r − x′‖² ≥ dc²/2 for x′ = x + c1, whatever r the common output is sent to

    Last step: For d ≥ 2 and every ε no function f has f(LN_ε(x)) = x for all x that are not constant: by
    irreversibility.shift the outputs of x and x + c1 are equal.
    """
    errors = square_norm(r - x) + square_norm(r - (x + c * ones(x)))
    assert errors >= dim(x) * c * c / 2
    wrong("the errors add up to dc²", lambda: errors >= dim(x) * c * c)


@theorem(GUPTA, "section 2.3", "more than 2d statistics cannot be recovered by 2d parameters")
def test_no_affine_recovery(x: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """For d ≥ 2 no gain and bias recover every input.

    LN_ε(x + c1; g, b) − (x + c1) = (LN_ε(x; g, b) − x) − c1

    Last step: For d ≥ 2 and every ε no g and b have LN_ε(x; g, b) = x for all x that are not constant: the two errors
    differ by c1, so that for c = 1 they cannot both be zero.
    """
    shift = c * ones(x)
    moved = x + shift
    assert lg.layer_norm(moved, g, b, eps=eps) - moved == lg.layer_norm(x, g, b, eps=eps) - x - shift
    wrong(
        "the same for RMSNorm",
        lambda: lg.rms_norm(moved, g, b, eps=eps) - moved == lg.rms_norm(x, g, b, eps=eps) - x - shift,
        given=lambda: [eps > 0],
    )


@theorem(OWN, "irreversibility", "the converse of the invariance")
def test_half_planes(x: Vector, x2: Vector):
    """At ε = 0, without gain and bias, nonconstant vectors of one output lie in one half-plane.

    LN(x′) = LN(x) implies x′ = ax + c1 with a = σ′/σ

    Last step: With irreversibility.invariance: the fiber of an x that is not constant is exactly the open half-plane
    {sΠx + t1 : s > 0}.
    """
    assume(
        varies(x2),
        "x′ is not constant",
        redundant="a constant x′ has output 0 in the prover, so that x is constant too, and a = 0",
    )
    assume(lg.standardize(x2, eps=0) == lg.standardize(x, eps=0), "LN(x′) = LN(x)")
    a = deviation(x2) / deviation(x)
    assert x2 == a * x + (mean(x2) - a * mean(x)) * ones(x)
    wrong("x′ = x + c1", lambda: x2 == x + (mean(x2) - mean(x)) * ones(x))
    wrong("x′ = ax", lambda: x2 == a * x)


@test_half_planes.proof
def _(goal, given, x, x2):
    not_constant, outputs = given
    s2 = deviation(x2)
    own = sy.prove(sy.equal(s2 * lg.standardize(x2, eps=0), lg.project(x2)), not_constant)
    # Πx′ = σ′ LN(x′) = σ′ LN(x) = (σ′/σ)Πx.
    ratio = deviation(x2) / deviation(x)
    same = sy.combine(lg.project(x2) - ratio * lg.project(x), [(s2, None, outputs), (-1, None, own)])
    return sy.prove(goal, same)


def equal_scales(same: sy.Proved, positive: sy.Proved, y: Vector, y2: Vector, m: Scalar, m2: Scalar) -> sy.Proved:
    """√(m′ + ε) = √(m + ε) from y′ = y and ε > 0: the lengths ‖y‖²/d = m/(m + ε) determine m."""
    e, d = positive.conclusion.term, dim(y)
    i, i2 = sy.inv(m + e), sy.inv(m2 + e)
    lengths = sy.combine(dot(y2 - y, y2 + y), [(1, y2 + y, same)])
    # ‖y′‖² − ‖y‖² = d(m′i′ − mi) = −dε(i′ − i), since (m + ε)i = 1.
    spelled = sy.prove(sy.equal((i2 - i) * (d * e) + lengths.conclusion.term, 0), positive)
    difference = sy.combine((i2 - i) * (d * e), [(1, None, spelled), (-1, None, lengths)])
    inverses = sy.cancel(i2 - i, difference, sy.prove(sy.greater(d * e), positive))
    one, one2 = (sy.inverse(sy.prove(sy.greater(level + e), positive)) for level in (m, m2))
    # t′ − t = t′t(i − i′) for t = m + ε, t′ = m′ + ε.
    t, t2 = m + e, m2 + e
    level = sy.combine(t2 - t, [(-t2 * t, None, inverses), (-t2, None, one), (t, None, one2)])
    return sy.congruence("sqrt", t2, t, level)


def equal_vectors(given: list[sy.Proved], u: Vector, u2: Vector, m: Scalar, m2: Scalar) -> sy.Proved:
    """u′ = u from ε > 0 and u′/s′ = u/s with s = √(m + ε), because s′ = s."""
    positive, same = given
    s, s2 = (root(size + positive.conclusion.term) for size in (m, m2))
    scales = equal_scales(same, positive, u / s, u2 / s2, m, m2)
    own, own2 = (sy.prove(sy.equal(r * (v / r), v), positive) for r, v in ((s, u), (s2, u2)))
    # u′ = s′u′/s′ = s′u/s = u.
    return sy.combine(u2 - u, [(s2, None, same), (u / s, None, scales), (-1, None, own2), (1, None, own)])


@st.composite
def line(draw: st.DrawFn, d: int) -> dict[str, object]:
    """Two vectors of one line, x′ = x + c1, and an ε > 0 for which √(σ² + ε) is rational."""
    x, c = draw(vectors(d)), draw(scalars())
    return {"x": x, "x2": [value + c for value in x], "eps": draw(rational_root(x, ">", centered=True))}


@theorem(OWN, "irreversibility", "with ε only the mean is lost", models=line)
def test_lines(x: Vector, x2: Vector, eps: Epsilon):
    """At ε > 0, without gain and bias, vectors of one output differ by a multiple of the uniform vector.

    LN_ε(x′) = LN_ε(x) implies x′ = x + (μ′ − μ)1

    Last step: With irreversibility.shift: the fiber of x is exactly the line x + R1.
    """
    assume(eps > 0)
    assume(lg.standardize(x2, eps=eps) == lg.standardize(x, eps=eps), "LN_ε(x′) = LN_ε(x)")
    assert x2 == x + (mean(x2) - mean(x)) * ones(x)
    wrong("x′ = x", lambda: x2 == x)
    wrong("at ε = 0", instead={"ε > 0": lambda: eps == 0})


@test_lines.proof
def _(goal, given, x, x2):
    """Πx′ = Πx."""
    same = equal_vectors(given, lg.project(x), lg.project(x2), variance(x), variance(x2))
    return sy.prove(goal, same)


@theorem(OWN, "irreversibility", "with ε the length of the output keeps the deviation")
def test_inverse(x: Vector, eps: Epsilon):
    """For vectors of mean 0 LayerNorm with ε > 0, without gain and bias, is undone by an explicit map.

    x = √ε y/√(1 − ‖y‖²/d) for x ⟂ 1, y = LN_ε(x)
    """
    assume(eps > 0)
    assume(dot(ones(x), x) == 0, "x is orthogonal to 1")
    y = lg.standardize(x, eps=eps)
    assert invert(y, eps=eps) == x
    wrong("without the square root of ε", lambda: eps * y / root(1 - square_norm(y) / dim(x)) == x)


@st.composite
def twice(draw: st.DrawFn, d: int) -> dict[str, object]:
    """One vector twice, and an ε > 0 for which √(‖x‖²/d + ε) is rational."""
    x = draw(vectors(d))
    return {"x": x, "x2": x, "eps": draw(rational_root(x, ">"))}


@theorem(OWN, "irreversibility", "with ε > 0 not even the length is lost", models=twice)
def test_rms_norm_injective(x: Vector, x2: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, RMSNorm sends different vectors to different outputs.

    RMS_ε(x′) = RMS_ε(x) implies x′ = x
    """
    assume(eps > 0)
    assume(lg.rms_norm(x2, eps=eps) == lg.rms_norm(x, eps=eps), "RMS_ε(x′) = RMS_ε(x)")
    assert x2 == x
    wrong(
        "the same for LayerNorm",
        instead={"RMS_ε(x′) = RMS_ε(x)": lambda: lg.standardize(x2, eps=eps) == lg.standardize(x, eps=eps)},
    )


@test_rms_norm_injective.proof
def _(goal, given, x, x2):
    return sy.prove(goal, equal_vectors(given, x, x2, mean_square(x), mean_square(x2)))


@theorem(GUPTA, "section 2.3", "α_i = √Var and β_i = E recover the input, which makes it reversible")
def test_batch_norm_recovery(x: Vector, m: Vector, v: Vector, eps: Epsilon):
    """Batch normalization with fixed statistics and v + ε > 0 is the identity for one gain and bias.

    BN(x) with gain √(v + ε) and bias m is x
    """
    assume(v + eps > 0, "v + ε > 0")
    assert batch_norm(x, root(v + eps), m, eps=eps, mean=m, variance=v) == x
    wrong(
        "gain √v, which forgets ε",
        lambda: batch_norm(x, root(v), m, eps=eps, mean=m, variance=v) == x,
        at={"x": (5, 3), "m": (1, 1), "v": (1, 1), "eps": 3},
    )
    wrong("no bias", lambda: batch_norm(x, root(v + eps), None, eps=eps, mean=m, variance=v) == x)


def column_norm(x: Vector, *, eps: Scalar) -> Vector:
    """BatchNorm of a batch whose d vectors have one component each, (x − m1)/√(v + ε) by the statistics of x."""
    return lg.layer_norm(x, eps=eps)


@theorem(IOFFE, "algorithm 1", "mean and variance are taken over the batch", kind="definition")
def test_batch_norm_column(x: Vector, eps: Epsilon):
    """Without gain and bias batch normalization of a batch applies LayerNorm to each column.

    BN_ε(column) = LN_ε(column), without gain and bias

    Remark: x holds one component of all vectors of the batch; everything said of LayerNorm holds of it.
    """
    y = lg.standardize(x, eps=eps)
    assert column_norm(x, eps=eps) == y
    wrong(
        "fixed statistics do the same",
        lambda: batch_norm(x, eps=eps, mean=0 * ones(x), variance=ones(x)) == y,
        given=lambda: [eps > 0],
    )
