"""Rotations: which changes of basis a norm layer allows, and in what sense the uniform vector is arbitrary."""

from fractions import Fraction

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.norms import scale
from lngeom.prover import dim, dot, ones, square_norm, summed
from lngeom.strategies import centred, isometries, rational_root, scalars, vectors
from lngeom.theorems import Basis, Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import as_sum, mean_square, product, same_divisor, same_radicand, variance
from ..works import ASHKBOOS, GUPTA, OWN, QUAROT


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


@theorem(GUPTA, "section 3", "1 is an arbitrarily chosen direction")
def test_u_norm(u: Vector, x: Vector, eps: Epsilon):
    """Without gain and bias, RMSNorm of what is projected off another direction is LayerNorm in a reflected basis.

    RMS_ε(x − u(u·x)/d) = H LN_ε(Hx) for ‖u‖² = d, H the reflection that exchanges 1 and u
    """
    assume(square_norm(u) == dim(u), "‖u‖² = d")
    assume(
        square_norm(u - ones(u)) > 0,
        "u ≠ 1",
        redundant="for u = 1 the prover, which reads 1/0 as 0, has Hx = x, and both sides are LN_ε(x)",
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
    """RMSNorm without gain and bias divides vectors of one length by one number.

    RMS_ε(p) = p/√(‖x‖²/d + ε) for ‖p‖² = ‖x‖²
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


NO_NEGATIVE = "the library takes no ε < 0, where the prover reads a root of a negative number as 0"


@theorem(*FOLDED_GAIN, models=images)
def test_rms_only_isometries(p: Vector, x: Vector, eps: Epsilon):
    """If RMSNorm without gain and bias divides p and x by one number, p is 0 or as long as x.

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


BEFORE_ROTATION = ASHKBOOS, "section 3.2", "LayerNorm is turned into RMSNorm before the stream is rotated"


@st.composite
def centred_images(draw: st.DrawFn, d: int) -> dict[str, object]:
    """A vector, the image of its centred part under a map that fixes 1, and an ε for which √(σ² + ε) is rational."""
    x, shift, move = draw(centred(d)), draw(scalars()), draw(isometries(d, fix_mean=True))
    return {"x": [value + shift for value in x], "q": move(x), "eps": draw(rational_root(x))}


@theorem(*BEFORE_ROTATION, models=centred_images)
def test_layer_mean_kept(q: Vector, x: Vector, c: Scalar, eps: Epsilon):
    """With ε > 0, without gain and bias, if LayerNorm returns q/√(σ² + ε) at q + c1, then 1·q = 0.

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
    """If LayerNorm without gain and bias divides a centred q and Πx by one number, q is 0 or as long as Πx.

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


def turned(x: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar) -> Vector:
    """The pair (x_i, x_j) replaced by (c x_i − s x_j, s x_i + c x_j), e and f the coordinate vectors of i and j."""
    a, b = dot(e, x), dot(f, x)
    return x + ((c - 1) * a - s * b) * e + (s * a + (c - 1) * b) * f


@st.composite
def angles(draw: st.DrawFn, d: int) -> dict[str, object]:
    """Cosine and sine of an angle, two coordinate vectors, different where d ≥ 2, and a gain that agrees there."""
    c, s = draw(st.sampled_from(((3, 4), (-3, 4), (5, 0), (-5, 0), (0, 5), (4, -3))))
    i, j = (draw(st.permutations(range(d))) * 2)[:2]
    g = list(draw(vectors(d)))
    g[j] = g[i]
    e, f = ([Fraction(k == place) for k in range(d)] for place in (i, j))
    return {"c": Fraction(c, 5), "s": Fraction(s, 5), "e": e, "f": f, "g": g}


ROTARY = OWN, "rotary positions", "a rotation in pairs of coordinates, beside a norm of queries and keys"


def same_length(given: list[sy.Proved], x: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar) -> sy.Proved:
    """‖Rx‖² = ‖x‖², because e·e = f·f = 1, e·f = 0 and c² + s² = 1."""
    apart, circle = given[:2]
    moved = turned(x, e, f, c, s)
    return sy.prove(sy.equal(square_norm(moved), square_norm(x)), *units(e), *units(f), apart, circle)


def units(e: Basis) -> list[sy.Proved]:
    """What it means that e is a coordinate vector."""
    return [sy.assume(sy.equal(e * e, e)), sy.assume(sy.equal(summed(e), 1))]


def exchanged(x: Vector, g: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar) -> sy.Proved:
    """g∘Rx − R(g∘x) = s(g_j − g_i)(x_j e + x_i f)."""
    a, b, h, k = dot(e, x), dot(f, x), dot(e, g), dot(f, g)
    left = g * turned(x, e, f, c, s) - turned(g * x, e, f, c, s)
    first, second = (sy.component(u, g) for u in (e, f))
    parts = [
        ((c - 1) * a - s * b, None, first),
        (s * a + (c - 1) * b, None, second),
        (-(c - 1) * e - s * f, x, first),
        (s * e - (c - 1) * f, x, second),
    ]
    return sy.combine(left - s * (k - h) * (b * e + a * f), parts)


@theorem(*ROTARY, models=angles)
def test_rotary(x: Vector, g: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar, eps: Epsilon):
    """RMSNorm without bias commutes with the rotation of two coordinates whose gains agree.

    RMS_ε(Rx; g) = R RMS_ε(x; g) for g_i = g_j, R the rotation of the coordinates i ≠ j with c² + s² = 1

    Remark: Hence with rotary positions, which rotate every coordinate of a query or key in one pair, whatever the
    angles.
    """
    assume(dot(e, f) == 0, "i ≠ j")
    assume(c**2 + s**2 == 1, "c² + s² = 1")
    assume(dot(e, g) == dot(f, g), "g_i = g_j")
    assert lg.rms_norm(turned(x, e, f, c, s), g, eps=eps) == turned(lg.rms_norm(x, g, eps=eps), e, f, c, s)
    wrong(
        "LayerNorm commutes with it too",
        lambda: lg.layer_norm(turned(x, e, f, c, s), g, eps=eps) == turned(lg.layer_norm(x, g, eps=eps), e, f, c, s),
    )


def divisors(given: list[sy.Proved], x: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar, eps: Scalar) -> sy.Proved:
    """RMSNorm divides Rx and x by the same number."""
    moved = mean_square(turned(x, e, f, c, s))
    lengths = sy.combine(moved - mean_square(x), [(1 / dim(x), None, same_length(given, x, e, f, c, s))])
    return same_divisor(moved + eps, mean_square(x) + eps, lengths)


@test_rotary.proof
def _(goal, given, x, g, e, f, c, s, eps):
    size, moved = scale(mean_square(x), eps=eps), turned(x, e, f, c, s)
    parts = [(g * moved, None, divisors(given, x, e, f, c, s, eps)), (1 / size, None, exchanged(x, g, e, f, c, s))]
    swapped = -s * (dot(f, x) * e + dot(e, x) * f) / size
    return sy.combine(goal.term, [*parts, (swapped, None, given[2])])


def stretched(d: int) -> dict[str, object]:
    """A quarter turn times 3 that RMSNorm commutes with at one vector, by gains that differ."""
    e, f, x, g = ([*pair, *([0] * d)][:d] for pair in ((1, 0), (0, 1), (0, d), (2 * d + 1, 2 * d - 1)))
    return {"e": e, "f": f, "x": x, "g": g, "c": 0, "s": 3, "eps": (2 * d - 1) ** 2 - d}


@st.composite
def moving(draw: st.DrawFn, d: int) -> dict[str, object]:
    """An angle that moves a vector of rational length, unless its two coordinates are 0."""
    values, x = draw(angles(d).filter(lambda values: values["s"] != 0)), draw(vectors(d))
    return values | {"x": x, "eps": draw(rational_root(x))}


@theorem(*ROTARY, models=moving, without={"c² + s² = 1": stretched})
def test_rotary_gains(x: Vector, g: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar, eps: Epsilon):
    """If RMSNorm without bias commutes with a rotation of two coordinates, no half turn, at a vector that it moves,
    their gains agree.

    RMS_ε(Rx; g) = R RMS_ε(x; g), s ≠ 0 and x_i² + x_j² > 0 imply g_i = g_j
    """
    assume(dot(e, f) == 0, "i ≠ j", redundant="for i = j the two gains are one")
    assume(c**2 + s**2 == 1, "c² + s² = 1")
    assume(
        lg.rms_norm(turned(x, e, f, c, s), g, eps=eps) == turned(lg.rms_norm(x, g, eps=eps), e, f, c, s),
        "RMS_ε(Rx; g) = R RMS_ε(x; g)",
    )
    assume(s != 0)
    assume(dot(e, x) ** 2 + dot(f, x) ** 2 > 0, "x_i² + x_j² > 0")
    assert dot(e, g) == dot(f, g)
    wrong("all gains agree", lambda: g == dot(e, g))


@test_rotary_gains.proof
def _(goal, given, x, g, e, f, c, s, eps):
    """(g∘Rx − R(g∘x))·(x_j e + x_i f) is 0, and s(g_j − g_i)(x_i² + x_j²)."""
    apart, _, same, sine, moves = given
    size, moved, across = scale(mean_square(x), eps=eps), turned(x, e, f, c, s), dot(f, x) * e + dot(e, x) * f
    left = g * moved - turned(g * x, e, f, c, s)
    scaled = sy.combine(left / size, [(1, None, same), (-g * moved, None, divisors(given, x, e, f, c, s, eps))])
    positive = sy.prove(sy.greater(1 / size), sy.assume(sy.greater(eps)))
    none, law = sy.cancel(left, scaled, positive), exchanged(x, g, e, f, c, s)
    product = sy.combine(s * (dot(f, g) - dot(e, g)) * square_norm(across), [(1, across, none), (-1, across, law)])
    length = sy.prove(sy.equal(square_norm(across), dot(e, x) ** 2 + dot(f, x) ** 2), *units(e), *units(f), apart)
    factor = s * (dot(e, x) ** 2 + dot(f, x) ** 2)
    whole = sy.combine(goal.term * factor, [(-1, None, product), (s * (dot(f, g) - dot(e, g)), None, length)])
    return sy.cancel(goal.term, whole, sy.multiply(sine, sy.weaken(moves, "!=")))


@theorem(*ROTARY, models=lambda d: angles(d).map(lambda values: values | {"c": 1, "s": 0}))
def test_rotary_layer(x: Vector, e: Basis, f: Basis, c: Scalar, s: Scalar, eps: Epsilon):
    """With ε > 0, without gain and bias, LayerNorm commutes with no rotation of two of d ≥ 3 coordinates but the
    identity.

    LN_ε(R1) = R LN_ε(1), ε > 0 and d ≥ 3 imply Rx = x
    """
    assume(dot(e, f) == 0, "i ≠ j", redundant="for i = j R multiplies one component by 2c − 1, and then c = 1")
    assume(dim(e) >= 3)
    assume(eps > 0, redundant="at ε = 0 it holds too, and the library takes no ε < 0")
    one = ones(e)
    assume(
        lg.standardize(turned(one, e, f, c, s), eps=eps) == turned(lg.standardize(one, eps=eps), e, f, c, s),
        "LN_ε(R1) = R LN_ε(1)",
    )
    assert turned(x, e, f, c, s) == x
    wrong("the same among two", instead={"d ≥ 3": lambda: dim(e) >= 2})


@test_rotary_layer.proof
def _(goal, given, x, e, f, c, s, eps):
    """ΠR1 = 0: of its components i and j the difference is −2s, and for s = 0 each is (c − 1)(1 − 2/d)."""
    apart, large, positive, same = given
    d, centred = dim(x), lg.project(turned(ones(x), e, f, c, s))
    inside = as_sum(
        sy.greater(mean_square(centred) + eps),
        [product(sy.prove(sy.greater(1 / d)), sy.sum_of_squares(centred)), positive],
    )
    flat = sy.cancel(centred, same, sy.inverse_sign(sy.root_positive(inside)))
    known = [*units(e), *units(f), apart]
    twice = sy.prove(sy.equal(dot(f - e, centred), 2 * s), *known)
    sine = sy.combine(s, [(Fraction(1, 2), f - e, flat), (Fraction(-1, 2), None, twice)])
    own = sy.prove(sy.equal(d * dot(e, centred), (c - 1) * (d - 2)), *known, sine)
    share = sy.combine((c - 1) * (d - 2), [(d, e, flat), (-1, None, own)])
    return sy.prove(goal, sine, sy.cancel(c - 1, share, sy.add(large, sy.constant(1, ">"))))
