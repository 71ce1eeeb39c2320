"""Rotations: which changes of basis a norm layer allows, and in what sense the uniform vector is arbitrary."""

from fractions import Fraction

from hypothesis import strategies as st

import lngeom as lg
from lngeom import kernel as sy
from lngeom.kernel import dim, dot, ones, square_norm, summed
from lngeom.norms import scale
from lngeom.strategies import centred, isometries, rational_root, scalars, sphere, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import mean_square, variance
from .._steps import as_sum, same_divisor, same_radicand
from ..works import ASHKBOOS, GUPTA, OWN, QUAROT

HALF = Fraction(1, 2)


def mirror_laws(given: list[sy.Proved], u: Vector) -> list[tuple[sy.Proved, object]]:
    """‖u‖² = d, 1/(u·u) = 1/d, and (1·u)k = dk − 1 for k = 1/(d − 1·u)."""
    long, other = given
    gap = dim(u) - summed(u)
    half = sy.prove(sy.equal(gap, square_norm(u - ones(u)) / 2), (long, square_norm(u)))
    inverted = sy.inverse(sy.transport(gap, half, sy.multiply(sy.constant(Fraction(1, 2), ">"), other)))
    lengths = sy.congruence("inv", square_norm(u), dim(u), long)
    return [(lengths, 1 / square_norm(u)), (long, square_norm(u)), (inverted, summed(u) / gap)]


def reflected(u: Vector, x: Vector) -> Vector:
    """The vector Hx = x − 2w(w·x)/‖w‖² with w = u − 1, the Householder reflection that exchanges 1 and u."""
    w = u - ones(x)
    return x - 2 * w * dot(w, x) / square_norm(w)


@theorem(OWN, "rotations", "Hx = x − 2w(w·x)/‖w‖² with w = u − 1", models=lambda d: {"u": sphere(d)}, kind="lemma")
def test_exchange(u: Vector, x: Vector):
    """The reflection along u − 1 takes 1 to u.

    H1 = u for ‖u‖² = d, u ≠ 1
    """
    assume(square_norm(u) == dim(u), "‖u‖² = d")
    assume(
        square_norm(u - ones(u)) > 0, "u ≠ 1", redundant="for u = 1 the kernel, which reads 1/0 as 0, has H1 = 1 = u"
    )
    assert reflected(u, ones(u)) == u
    wrong("a projection in place of the reflection", lambda: lg.project(ones(u), u) == u)


@test_exchange.proof
def _(goal, given, u):
    return sy.prove(goal, *mirror_laws(given, u))


@theorem(OWN, "rotations", "H is orthogonal", kind="lemma")
def test_reflection(u: Vector, x: Vector, y: Vector):
    """The reflection keeps all inner products.

    Hx·Hy = x·y
    """
    assume(square_norm(u - ones(u)) > 0, "u ≠ 1", redundant="for u = 1 the kernel, which reads 1/0 as 0, has Hx = x")
    assert dot(reflected(u, x), reflected(u, y)) == dot(x, y)
    wrong("x − w(w·x)/‖w‖², without the 2", lambda: dot(lg.project(x, u - 1), lg.project(y, u - 1)) == dot(x, y))


@theorem(GUPTA, "section 3", "1 is an arbitrarily chosen direction", models=lambda d: {"u": sphere(d)})
def test_u_norm(u: Vector, x: Vector, eps: Epsilon):
    """A norm that projects off another direction is LayerNorm in a reflected basis.

    RMS_ε(x − u(u·x)/d) = H LN_ε(Hx) for ‖u‖² = d, H the reflection that exchanges 1 and u
    """
    assume(square_norm(u) == dim(u), "‖u‖² = d")
    assume(
        square_norm(u - ones(u)) > 0,
        "u ≠ 1",
        redundant="for u = 1 the kernel, which reads 1/0 as 0, has Hx = x, and both sides are LN_ε(x)",
    )
    y, hx = lg.rms_norm(lg.project(x, u), eps=eps), reflected(u, x)
    z, stretched = lg.layer_norm(hx, eps=eps), lg.layer_norm(hx, u, eps=eps)
    assert y == reflected(u, z)
    wrong("no reflection of the output", lambda: y == z)
    wrong(
        "the same with a gain, here u itself, on either side",
        lambda: u * y == reflected(u, stretched),
        at={"u": (Fraction(-1, 5), Fraction(-7, 5)), "x": (0, 1)},
    )
    wrong("RMSNorm in place of LayerNorm", lambda: y == reflected(u, lg.rms_norm(hx, eps=eps)))


@test_u_norm.proof
def _(goal, given, u, x, eps):
    laws = mirror_laws(given, u)
    turned = lg.project(reflected(u, x))
    after, before = mean_square(lg.project(x, u)) + eps, mean_square(turned) + eps
    divisors = same_divisor(after, before, sy.prove(sy.equal(after, before), *laws))
    back = reflected(u, turned)
    parts = sy.prove(sy.equal(lg.project(x, u), back), *laws)
    return sy.combine(goal.term, [(1 / scale(after, eps=0), None, parts), (back, None, divisors)])


FOLDED_GAIN = QUAROT, "section 3", "RMSNorm commutes with an orthogonal matrix once its gain is folded"


@st.composite
def images(draw: st.DrawFn, d: int) -> dict[str, object]:
    """Two vectors, their images under an orthogonal map, and an ε for which √(‖x‖²/d + ε) is rational."""
    x, y, move = draw(vectors(d)), draw(vectors(d)), draw(isometries(d))
    return {"x": x, "y": y, "p": move(x), "q": move(y), "eps": draw(rational_root(x))}


@theorem(*FOLDED_GAIN, models=images)
def test_rms_commutes(p: Vector, x: Vector, eps: Epsilon):
    """RMSNorm without gain divides vectors of one length by one number.

    RMS_ε(p) = p/√(‖x‖²/d + ε) for ‖p‖² = ‖x‖²

    Last step: For ε > 0 a linear map A commutes with RMSNorm if and only if A = 0 or AᵀA = I.
    """
    assume(square_norm(p) == square_norm(x), "‖p‖² = ‖x‖²")
    divisor = scale(mean_square(x), eps=eps)
    assert lg.rms_norm(p, eps=eps) == p / divisor
    image, original = lg.rms_norm(p, x, eps=eps), lg.rms_norm(x, x, eps=eps)
    wrong(
        "with a gain, here x itself, left in place both outputs have one length",
        lambda: square_norm(image) == square_norm(original),
    )
    wrong("the same for LayerNorm", lambda: lg.layer_norm(p, eps=eps) == p / divisor)


def same_size(goal: sy.Formula, given: list[sy.Proved], p: Vector, a: Scalar, b: Scalar, eps: Scalar) -> sy.Proved:
    """From p/√(a + ε) = p/√(b + ε), p ≠ 0 and ε ≥ 0: a = b, and the goal d(a − b)."""
    equation, not_zero, positive = given
    difference = 1 / scale(a, eps=eps) - 1 / scale(b, eps=eps)
    vanishes = sy.combine(square_norm(p) * difference, [(1, p, equation)])
    first, second = (sy.prove(sy.at_least(m + eps), positive) for m in (a, b))
    same = same_radicand(first, second, sy.cancel(difference, vanishes, not_zero))
    return sy.combine(goal.term, [(dim(p), None, same)])


NO_NEGATIVE = "the library takes no ε < 0, where the kernel reads a root of a negative number as 0"


@theorem(*FOLDED_GAIN, models=images)
def test_rms_only_isometries(p: Vector, x: Vector, eps: Epsilon):
    """What RMSNorm divides by the number by which it divides x is 0 or as long as x.

    RMS_ε(p) = p/√(‖x‖²/d + ε), p ≠ 0 and ε ≥ 0 imply ‖p‖² = ‖x‖²

    Remark: With p = Ax: a linear map that commutes with RMSNorm keeps the length of all it does not send to 0.
    """
    assume(lg.rms_norm(p, eps=eps) == p / scale(mean_square(x), eps=eps), "RMS_ε(p) = p/√(‖x‖²/d + ε)")
    assume(square_norm(p) > 0, "p ≠ 0")
    assume(eps >= 0, redundant=NO_NEGATIVE)
    assert square_norm(p) == square_norm(x)
    wrong("p = x", lambda: p == x)


@test_rms_only_isometries.proof
def _(goal, given, p, x, eps):
    return same_size(goal, given, p, mean_square(p), mean_square(x), eps)


def along(d: int, c: int) -> st.SearchStrategy[dict[str, object]]:
    """One vector twice, and c times the vector."""
    return vectors(d).map(lambda v: {"p": v, "y": v, "x": [c * value for value in v]})


@theorem(
    OWN,
    "rotations",
    "A(y ± x) = Ay where Ax = 0",
    models=lambda d: images(d).map(lambda values: {"p": values["p"], "y": values["x"], "x": [0] * d}),
    kind="lemma",
)
def test_no_kernel(p: Vector, x: Vector, y: Vector):
    """What can be added to a vector and taken away from it without a change of length is 0.

    ‖p‖² = ‖y‖², ‖p‖² = ‖y + x‖² and ‖p‖² = ‖y − x‖² imply x = 0

    Remark: With p = Ay and Ax = 0: a linear map that keeps the length of all it does not send to 0 is 0 or sends
    nothing else to 0.
    """
    assume(square_norm(p) == square_norm(y), "‖p‖² = ‖y‖²")
    assume(square_norm(p) == square_norm(y + x), "‖p‖² = ‖y + x‖²")
    assume(square_norm(p) == square_norm(y - x), "‖p‖² = ‖y − x‖²")
    assert x == 0
    wrong("y = 0", lambda: y == 0)


@test_no_kernel.proof
def _(given, x):
    same, plus, minus = given
    return sy.definite(x, sy.combine(square_norm(x), [(1, None, same), (-HALF, None, plus), (-HALF, None, minus)]))


@theorem(OWN, "rotations", "AᵀA = I, from lengths alone", models=images, kind="lemma")
def test_orthogonal(p: Vector, q: Vector, x: Vector, y: Vector):
    """Where two vectors and their sum have the lengths of two others and theirs, the inner products are equal.

    ‖p‖² = ‖x‖², ‖q‖² = ‖y‖² and ‖p + q‖² = ‖x + y‖² imply p·q = x·y

    Remark: With p = Ax and q = Ay: a linear map that keeps all lengths keeps all inner products.
    """
    assume(square_norm(p) == square_norm(x), "‖p‖² = ‖x‖²")
    assume(square_norm(q) == square_norm(y), "‖q‖² = ‖y‖²")
    assume(square_norm(p + q) == square_norm(x + y), "‖p + q‖² = ‖x + y‖²")
    assert dot(p, q) == dot(x, y)
    wrong("componentwise products", lambda: p * q == x * y)


@test_orthogonal.proof
def _(goal, given):
    first, second, both = given
    return sy.combine(goal.term, [(-HALF, None, first), (-HALF, None, second), (HALF, None, both)])


BEFORE_ROTATION = ASHKBOOS, "section 3.2", "LayerNorm is turned into RMSNorm before the stream is rotated"


@st.composite
def centred_images(draw: st.DrawFn, d: int) -> dict[str, object]:
    """A vector, the image of its centred part under a map that fixes 1, and an ε for which √(σ² + ε) is rational."""
    x, shift, move = draw(centred(d)), draw(scalars()), draw(isometries(d, fix_mean=True))
    return {"x": [value + shift for value in x], "q": move(x), "eps": draw(rational_root(x))}


@theorem(*BEFORE_ROTATION, models=centred_images)
def test_layer_commutes(q: Vector, x: Vector, c: Scalar, eps: Epsilon):
    """LayerNorm without gain centres vectors, and divides those whose centred parts have one length by one number.

    LN_ε(q + c1) = q/√(σ² + ε) for 1·q = 0 and ‖q‖² = ‖Πx‖²

    Last step: For ε > 0 a linear map A commutes with LayerNorm if and only if AΠ = ΠA and AΠ = 0 or (AΠ)ᵀAΠ = Π; an
    orthogonal one if and only if it sends 1 to a multiple of 1.
    """
    assume(summed(q) == 0, "1·q = 0")
    assume(square_norm(q) == square_norm(lg.project(x)), "‖q‖² = ‖Πx‖²")
    divisor = scale(variance(x), eps=eps)
    assert lg.layer_norm(q + c * ones(q), eps=eps) == q / divisor
    wrong(
        "every orthogonal map: p = Ax with ‖p‖² = ‖x‖² alone, here Πp for q",
        lambda: lg.layer_norm(q + x, eps=eps) == lg.project(q + x) / divisor,
    )


@theorem(*BEFORE_ROTATION, models=centred_images)
def test_layer_mean_kept(q: Vector, x: Vector, c: Scalar, eps: Epsilon):
    """What LayerNorm returns divided by a number, up to a shift, is orthogonal to 1.

    LN_ε(q + c1) = q/√(σ² + ε) and ε > 0 imply 1·q = 0

    Remark: With q = AΠx and Ax = q + c1: a linear map that commutes with LayerNorm keeps the hyperplane of 1.
    """
    assume(lg.layer_norm(q + c * ones(q), eps=eps) == q / scale(variance(x), eps=eps), "LN_ε(q + c1) = q/√(σ² + ε)")
    assume(eps > 0)
    assert summed(q) == 0
    wrong("q = 0", lambda: q == 0)


@test_layer_mean_kept.proof
def _(goal, given, x, q, c, eps):
    """The sum of LN_ε(q + c1) is 0, that of q/√(σ² + ε) is (1·q)/√(σ² + ε)."""
    equation, positive = given
    divisor = scale(variance(x), eps=eps)
    vanishes = sy.combine(summed(q) / divisor, [(-1, ones(q), equation)])
    return sy.prove(goal, sy.cancel(summed(q), vanishes, sy.prove(sy.greater(1 / divisor), positive)))


@theorem(*BEFORE_ROTATION, models=centred_images)
def test_layer_only_isometries(q: Vector, x: Vector, c: Scalar, eps: Epsilon):
    """A centred vector that LayerNorm divides by the number by which it divides Πx is 0 or as long as Πx.

    LN_ε(q + c1) = q/√(σ² + ε), 1·q = 0, q ≠ 0 and ε ≥ 0 imply ‖q‖² = ‖Πx‖²

    Remark: On that hyperplane such a map keeps the length of all it does not send to 0.
    """
    assume(lg.layer_norm(q + c * ones(q), eps=eps) == q / scale(variance(x), eps=eps), "LN_ε(q + c1) = q/√(σ² + ε)")
    assume(summed(q) == 0, "1·q = 0")
    assume(square_norm(q) > 0, "q ≠ 0")
    assume(eps >= 0, redundant=NO_NEGATIVE)
    assert square_norm(q) == square_norm(lg.project(x))
    wrong("‖q‖² = ‖x‖²", lambda: square_norm(q) == square_norm(x))


@test_layer_only_isometries.proof
def _(goal, given, x, q, c, eps):
    """Of a centred q the variance of q + c1 is ‖q‖²/d and its projection q."""
    equation, flat, not_zero, positive = given
    size, moved, divisor = mean_square(q), scale(variance(q), eps=eps), scale(variance(x), eps=eps)
    plain = sy.combine(q / moved - q / divisor, [(1, None, equation), (1 / dim(q) / moved, None, flat)])
    sizes = sy.combine(size - variance(q), [(-1, None, sy.prove(sy.equal(variance(q), size), flat))])
    swapped = same_divisor(size + eps, variance(q) + eps, sizes)
    own = sy.combine(q / scale(size, eps=eps) - q / divisor, [(1, None, plain), (q, None, swapped)])
    return same_size(goal, [own, not_zero, positive], q, size, variance(x), eps)


@st.composite
def rounded(draw: st.DrawFn, d: int) -> dict[str, object]:
    """A size m, a number c of levels, and errors of at most m/c."""
    m, c = draw(scalars(">")), draw(scalars(">"))
    return {"m": m, "c": c, "e": [m / c * draw(st.sampled_from((1, -1, HALF))) for _ in range(d)]}


@theorem(QUAROT, "section 1", "outliers make quantization hard, and rotations remove them", models=rounded)
def test_quantization(e: Vector, m: Scalar, c: Scalar):
    """Rounding to a number of levels costs least where all components have one size.

    c²‖e‖² ≤ dm² for c|e_i| ≤ m

    Last step: Whatever the vector y and the orthogonal Q, (Qy)_i² ≤ m² for all i implies ‖y‖² ≤ dm²; and for every y
    there is an orthogonal Q with (Qy)_i² = ‖y‖²/d for all i.

    Remark: So with m the largest |y_i| the bound √d m/c on the error lies between ‖y‖/c and √d‖y‖/c; a rotation can
    make it the first, and the second is that of a vector with one component that is not 0.
    """
    assume(m * m - c * c * e * e >= 0, "c|e_i| ≤ m")
    assert c * c * square_norm(e) <= dim(e) * m * m
    wrong("m², without the dimension", lambda: c * c * square_norm(e) <= m * m)


@test_quantization.proof
def _(goal, given):
    return as_sum(goal, [sy.total(given[0])])
