"""RMSNorm: how it differs from LayerNorm, where its outputs lie, and when it may take LayerNorm's place exactly."""

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.epsilon import relative_radius, relative_radius_from_mean_square
from lngeom.norms import layer_rms_distance, scale
from lngeom.prover import dim, dot, norm, ones, root, square_norm, summed
from lngeom.strategies import scalars
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, varies, wrong

from .._shared import as_sum, mean, mean_square, product, variance
from ..works import ASHKBOOS, BLOG, GRAEF, GUPTA, JIANG, OWN, RIECHERS, SHIRODKAR, ZHANG
from .ellipsoid import zero_gains


@theorem(ZHANG, "eq. 4", "defines RMSNorm, without ε", kind="definition")
def test_definition(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """RMSNorm divides by the root of the mean square plus ε, then applies gain and bias.

    RMS_ε(x) = g∘x/√(‖x‖²/d + ε) + b
    """
    y = lg.rms_norm(x, g, b, eps=eps)
    assert y == g * x / root(square_norm(x) / dim(x) + eps) + b
    wrong("the norm in place of the root mean square", lambda: y == g * x / root(square_norm(x) + eps) + b)
    wrong("ε outside the root", lambda: y == g * x / (root(square_norm(x) / dim(x)) + eps) + b)


@theorem(BLOG, "RMSNorm", "finds the transformation of LN needlessly complicated", kind="definition")
def test_decomposition(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """LayerNorm is RMSNorm of the centred vector, with the same ε.

    LN_ε(x) = RMS_ε(Πx), gain and bias included

    Last step: For any number of branches that are any functions of what a LayerNorm returns at all positions, all with
    one ε and with gain and bias in the branches: if each branch writes its centred output instead, to a stream that was
    centred at first, the stream is the centred stream throughout, and every RMSNorm returns what the LayerNorm
    returned.
    """
    z, y = lg.layer_norm(x, g, b, eps=eps), lg.standardize(x, eps=eps)
    assert z == lg.rms_norm(lg.project(x), g, b, eps=eps)
    wrong("centring after the normalization", lambda: z == g * lg.project(lg.rms_norm(x, eps=eps)) + b)
    wrong("RMSNorm after LayerNorm changes nothing", lambda: z == lg.rms_norm(y, g, b, eps=eps))
    wrong(
        "drop-in replacement without centring",
        lambda: z == lg.rms_norm(x, g, b, eps=eps),
        at={"x": (7, 1), "g": (1, 1)},
    )


@theorem(GUPTA, "section 3", "hidden states nearly orthogonal to 1 make the projection redundant", kind="lemma")
def test_balanced_input(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """On vectors orthogonal to 1 RMSNorm and LayerNorm with the same ε, gain and bias agree.

    1·x = 0 implies RMS_ε(x) = LN_ε(x)
    """
    assume(dot(ones(x), x) == 0, "1·x = 0")
    assert lg.rms_norm(x, g, b, eps=eps) == lg.layer_norm(x, g, b, eps=eps)
    wrong("orthogonal to the gain in place of 1", instead={"1·x = 0": lambda: dot(g, x) == 0})


@theorem(OWN, "RMSNorm", "RMSNorm without gain and bias, as a LayerNorm of twice the width")
def test_doubled(x: Vector, eps: Epsilon):
    """Without gain and bias LayerNorm of a vector and its negative, side by side, is RMSNorm of both.

    LN_ε(x, −x) = (RMS_ε(x), −RMS_ε(x)): with m, v the mean and variance of the 2d components, (±x − m)/√(v + ε) =
    ±RMS_ε(x)
    """
    m, y = (mean(x) + mean(-x)) / 2, lg.rms_norm(x, eps=eps)
    s = root((mean_square(x) + mean_square(-x)) / 2 - m**2 + eps)
    assert (x - m) / s == y
    assert (-x - m) / s == -y
    wrong("of x beside itself", lambda: (x - mean(x)) / root(variance(x) + eps) == y)


def lifts(d: int) -> st.SearchStrategy[dict[str, object]]:
    """A factor, and the ε of RMSNorm and of LayerNorm that belong to it."""
    positive = scalars(">")
    return st.builds(lambda c, eps: {"c": c, "eps": eps, "eta": c**2 * eps * (d - 1) / d}, positive, positive)


@theorem(OWN, "RMSNorm", "RMSNorm without gain and bias, as a LayerNorm of one dimension more", models=lifts)
def test_lifted(u: Vector, c: Scalar, eps: Epsilon, eta: Epsilon):
    """Without gain and bias LayerNorm of a vector of sum 0 is RMSNorm in one dimension less, up to ε and a factor.

    1·u = 0 and ηd = c²ε(d − 1) imply LN_η(cu) = √(d/(d − 1)) u/√(‖u‖²/(d − 1) + ε)

    Remark: Let u = Ux with U an isometry of R^(d−1) onto the vectors of sum 0 in R^d. Then ‖u‖ = ‖x‖, and the right
    side is √(d/(d − 1)) U RMS_ε(x).
    """
    d = dim(u)
    assume(d > 1, redundant="for d = 1 it is u = 0, and both sides are 0 by the total inverse")
    assume(c > 0, "c > 0")
    assume(eta > 0, redundant="it follows from the other hypotheses where ε > 0")
    assume(dot(ones(u), u) == 0, "1·u = 0")
    assume(eta * d == c**2 * eps * (d - 1), "ηd = c²ε(d − 1)")
    r, s, y = root(square_norm(u) / (d - 1) + eps), root(square_norm(c * u) / d + eta), lg.standardize(c * u, eps=eta)
    assert d * (square_norm(c * u) / d + eta) == c**2 * (d - 1) * (square_norm(u) / (d - 1) + eps)
    assert root(d) * s == c * root(d - 1) * r
    assert y == c * u / s
    assert s > 0
    assert c * root(d - 1) * r / s == root(d)
    assert root(d - 1) * r * y == root(d) * u
    wrong("without the factor √(d/(d − 1))", lambda: r * y == u)
    wrong("the same ε", instead={"ηd = c²ε(d − 1)": lambda: eta == eps})


@theorem(GUPTA, "section 3.2", "infers from θ ≈ 90° that there is nothing to remove")
def test_angle(x: Vector):
    """At ε = 0, without gain and bias, the cosine of the two outputs of a nonconstant x is sin θ.

    LN(x)·RMS(x) = ‖LN(x)‖‖RMS(x)‖ sin θ, sin θ = σ/√(‖x‖²/d)

    Remark: Their angle is therefore |90° − θ|, as cos(90° − θ) = sin θ.
    """
    assume(varies(x), "x is not constant", redundant="at σ = 0 both sides are 0 by the total inverse")
    y, z, size = lg.standardize(x, eps=0), lg.rms_norm(x, eps=0), root(mean_square(x))
    assert dot(y, z) == norm(y) * norm(z) * root(variance(x)) / size
    wrong("d cos θ", lambda: dot(y, z) == dim(x) * mean(x) / size)


def square_distance(x: Vector, eps: Scalar) -> Scalar:
    """The squared distance ‖LN_ε(x) − RMS_ε(x)‖² of the two outputs."""
    return square_norm(lg.standardize(x, eps=eps) - lg.rms_norm(x, eps=eps))


@theorem(OWN, "RMSNorm", "the effect of dropping the projection from a single layer")
def test_distance(x: Vector):
    """At ε = 0, without gain, the squared distance of the two outputs of a nonconstant x is 2d(1 − sin θ).

    ‖LN(x) − RMS(x)‖² = 2d(1 − sin θ) at ε = 0 for x not constant

    Remark: With 1 − sin θ = 2 sin²(|90° − θ|/2) the distance is 2√d sin(|90° − θ|/2).
    """
    assume(varies(x), "x is not constant")
    distance, sine = square_distance(x, 0), root(variance(x)) / root(mean_square(x))
    assert distance == 2 * dim(x) * (1 - sine)
    wrong("d(1 − sin θ)", lambda: distance == dim(x) * (1 - sine))


@theorem(OWN, "RMSNorm", "what a sweep reports of each layer, computed from the two moments alone")
def test_distance_with_eps(x: Vector, eps: Epsilon):
    """With ε > 0, without gain, the distance of the two outputs has a form without a subtraction.

    ‖LN_ε(x) − RMS_ε(x)‖² = d (μ²/r²)(1 + (μσ/(s(r + s)))²), with s = √(σ² + ε) and r = √(μ² + σ² + ε)
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    distance, d = square_distance(x, eps), dim(x)
    assert distance == d * layer_rms_distance(x, eps=eps) ** 2
    wrong("the part along 1 alone", lambda: distance == d * mean(x) ** 2 / (mean_square(x) + eps))
    wrong("the formula of ε = 0", lambda: distance == d * layer_rms_distance(x, eps=0) ** 2)


def exact_distance(x: Vector, eps: Scalar, given: list[sy.Proved]) -> sy.Proved:
    """‖LN_ε(x) − RMS_ε(x)‖² − d(μ²/r²)(1 + μ²σ²w²/s²) = 0 with w = 1/(r + s).

    The claim is A + Bw² = 0: it follows from A(r + s)² + B = 0, where no w occurs.
    """
    s, r = scale(variance(x), eps=eps), scale(mean_square(x), eps=eps)
    mu, w = mean(x), 1 / (r + s)
    a = square_distance(x, eps) - dim(x) * mu**2 / r**2
    b = -dim(x) * mu**4 * variance(x) / (r**2 * s**2)
    cleared = sy.prove(sy.equal(a * (r + s) ** 2 + b, 0), *given)
    unit = sy.prove(sy.equal((r + s) * w, 1), sy.prove(sy.greater(r + s), *given))
    return sy.combine(a + b * w * w, [(w * w, None, cleared), (-a * (1 + (r + s) * w), None, unit)])


@theorem(BLOG, "RMSNorm", "gives the semi-axes as √n a_i, which is negative for negative gains")
def test_surface(x: Vector, g: Vector, b: Vector):
    """At ε = 0, with nonzero gains, RMSNorm's outputs lie on the ellipsoid with semi-axes √d|g_i|.

    Σ (z_i − b_i)²/g_i² = d at ε = 0 for x ≠ 0 and g_i ≠ 0
    """
    assume(nonzero(g))
    assume(square_norm(x) > 0, "x ≠ 0")
    z = lg.rms_norm(x, g, b, eps=0)
    assert square_norm((z - b) / g) == dim(x)
    wrong("they lie in the hyperplane of LayerNorm too", lambda: dot(1 / g, z - b) == 0)
    wrong("the centre of the ellipsoid is 0", lambda: square_norm(z / g) == dim(x))


@theorem(GUPTA, "section 3", "says that RMSNorm only normalizes, which at ε = 0 gives √d")
def test_length(x: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, RMSNorm's output has length √d times its relative radius.

    ‖RMS_ε(x)‖ = √d r for ε > 0, with r = √(m/(m + ε)) and m = ‖x‖²/d
    """
    assume(eps > 0, redundant="at ε = 0 both sides are √d, or 0 for the zero vector, where the prover reads 0/0 as 0")
    length, radius = norm(lg.rms_norm(x, eps=eps)), root(dim(x))
    r = relative_radius_from_mean_square(mean_square(x), eps=eps)
    assert length == radius * r
    wrong("norm √d for every ε", lambda: length == radius, at={"x": (7, 1), "eps": 600})
    wrong("the relative radius of LayerNorm, with σ² for m", lambda: length == radius * relative_radius(x, eps=eps))
    wrong("the relative radius squared", lambda: length == radius * r**2)


@theorem(RIECHERS, "eq. 6", "says of LayerNorm that outputs lie within a hyperellipsoid")
def test_interior(x: Vector, g: Vector, b: Vector, eps: Epsilon):
    """With ε > 0 and nonzero gains all outputs of RMSNorm lie strictly inside the ellipsoid.

    Σ (z_i − b_i)²/g_i² < d for ε > 0 and g_i ≠ 0
    """
    assume(nonzero(g), redundant="the total inverse leaves the components of zero gain out, which lowers the sum")
    assume(eps > 0)
    z = lg.rms_norm(x, g, b, eps=eps)
    assert square_norm((z - b) / g) < dim(x)
    wrong("strictly inside at ε = 0 too", instead={"ε > 0": lambda: eps >= 0})
    wrong("Σ (z_i − b_i)² < d, without the gains", lambda: square_norm(z - b) < dim(x))
    wrong("Σ z_i²/g_i² < d, without the bias", lambda: square_norm(z / g) < dim(x))


@theorem(OWN, "zero gains", "what a zero gain hides can only lower the sum", models=zero_gains)
def test_zero_gain_interior(x: Vector, g: Vector, h: Vector, b: Vector, eps: Epsilon):
    """With ε > 0 and zero gains the other components of RMSNorm's outputs lie inside the ellipsoid.

    ‖h∘(z − b)‖² < d for ε > 0, h = 1/g on the support of g and 0 elsewhere
    """
    assume(g * g * h == g, "g²h = g")
    assume(eps > 0)
    z = lg.rms_norm(x, g, b, eps=eps)
    assert square_norm(h * (z - b)) < dim(x)
    wrong("the number of nonzero gains in place of d", lambda: square_norm(h * (z - b)) < dot(g, h))
    wrong("h = 1 on the zero gains", lambda: square_norm((h + 1 - g * h) * z) < dim(x))


@test_zero_gain_interior.proof
def _(goal, given, x, g, h, eps):
    """‖(1 − gh)y‖² + dε/(m + ε) = d − ‖ghy‖², because gh is 0 or 1."""
    first, positive = given
    idempotent = sy.prove(sy.equal(g * h * (g * h), g * h), first)
    short = sy.prove(sy.greater(dim(x) * eps / (mean_square(x) + eps)), positive)
    parts = [short, sy.sum_of_squares((1 - g * h) * lg.rms_norm(x, eps=eps))]
    return as_sum(goal, parts, positive, (first, g * g * h), (idempotent, g**2 * h**2))


@theorem(OWN, "epsilon", "RMSNorm with ε is not free of scale")
def test_scaling(x: Vector, g: Vector, b: Vector, a: Scalar, eps: Epsilon):
    """Multiplying the input of RMSNorm by a > 0 is dividing its ε by a².

    RMS_ε(ax; g, b) = RMS_{ε/a²}(x; g, b) for a > 0
    """
    assume(a > 0)
    assume(eps >= 0, redundant="for ε < 0 both roots are of a²m + ε up to the factor a², and 0 together")
    z = lg.rms_norm(a * x, g, b, eps=eps)
    assert z == lg.rms_norm(x, g, b, eps=eps / (a * a))
    wrong("RMS_ε does not depend on the scale", lambda: z == lg.rms_norm(x, g, b, eps=eps))
    wrong("ε/a", lambda: z == lg.rms_norm(x, g, b, eps=eps / a))
    wrong("for a < 0 too", instead={"a > 0": lambda: a < 0})


@theorem(JIANG, "section 3", "Pre-LN networks with centred writers compute the same with RMSNorm")
def test_fold_write(h: Vector, w: Vector, v: Vector, b: Vector, s: Scalar, t: Scalar):
    """Centring the embedding and every writer centres the stream.

    Π(h + W u + c) = Πh + (ΠW)u + Πc, shown for a writer of two columns w, v

    Last step: The same for a writer of any number of columns.
    """
    stream = h + s * w + t * v + b
    read, written = lg.project(stream), lg.project(h) + s * lg.project(w) + t * lg.project(v)
    assert read == written + lg.project(b)
    wrong("a reader takes the stream without a norm", lambda: read == stream, at={"h": (3, 1)})
    wrong("the weight centred but not the bias", lambda: read == written + b)
    other = lg.project(h) + (s - t) * w + (t - s) * v + lg.project(b)
    wrong("centring along the inputs, here of the coefficients s and t", lambda: read == other)


@theorem(OWN, "folding", "a reader with weights w and offset c", kind="lemma")
def test_fold_gain(x: Vector, w: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """Gain and bias of a norm move into the linear map that reads it.

    w·(g∘y + b) + c = (w∘g)·y + (w·b + c), row by row
    """
    y, read = lg.standardize(x, eps=eps), dot(w, lg.layer_norm(x, g, b, eps=eps)) + c
    offset = dot(w, b) + c
    assert read == dot(w * g, y) + offset
    wrong("the bias of the norm dropped", lambda: read == dot(w * g, y) + c)
    wrong("tied weights: the map is shared and keeps its old values", lambda: read == dot(w, y) + offset)


@theorem(ASHKBOOS, "section 3.2", "the embeddings are centred, the head is another matrix", kind="lemma")
def test_fold_tied(e: Vector, f: Vector, z: Vector):
    """Centring a tied embedding lowers the difference of two logits by that of their means times 1·z.

    Πe·z − Πf·z = (e·z − f·z) − (μ(e) − μ(f)) 1·z, for the rows e and f of two tokens
    """
    after = dot(lg.project(e), z) - dot(lg.project(f), z)
    assert after == dot(e, z) - dot(f, z) - (mean(e) - mean(f)) * summed(z)
    wrong("nothing changes: the head may stay tied", lambda: after == dot(e, z) - dot(f, z))


@theorem(GRAEF, "section 1", "the division moves behind the linear map, said to need one without bias", kind="lemma")
def test_deferred(x: Vector, w: Vector, c: Scalar, eps: Epsilon):
    """A linear map, with or without a bias, may read before the division of an RMSNorm without gain and bias.

    w·RMS_ε(x) + c = (w·x)/√(‖x‖²/d + ε) + c, row by row
    """
    read, divisor = dot(w, lg.rms_norm(x, eps=eps)) + c, scale(mean_square(x), eps=eps)
    assert read == dot(w, x) / divisor + c
    wrong("the bias divided as well", lambda: read == (dot(w, x) + c) / divisor)


@theorem(SHIRODKAR, "abstract", "the dead direction of LayerNorm is absent in RMSNorm models")
def test_no_dead_direction(w: Vector, g: Vector, eps: Epsilon):
    """No direction is dead behind an RMSNorm with ε > 0, nonzero gains and no bias.

    w·RMS_ε(g∘w; g) = 0, g_i ≠ 0 and ε > 0 imply w = 0
    """
    assume(dot(w, lg.rms_norm(g * w, g, eps=eps)) == 0, "w·RMS_ε(g∘w; g) = 0")
    assume(nonzero(g))
    assume(eps > 0, redundant="at ε = 0 it holds too, and the library takes no ε < 0")
    assert w == 0
    wrong(
        "the same for LayerNorm", instead={"w·RMS_ε(g∘w; g) = 0": lambda: dot(w, lg.layer_norm(g * w, g, eps=eps)) == 0}
    )


@theorem(OWN, "RMSNorm", "a bound by the scales of the two vectors, where 1/√ε bounds all")
def test_contraction(x: Vector, z: Vector, eps: Epsilon):
    """With ε > 0, without gain, RMSNorm's outputs differ by at most ‖x − x′‖/√(rr′), r and r′ the denominators.

    r r′‖RMS_ε(x) − RMS_ε(x′)‖² ≤ ‖x − x′‖² for ε > 0, r = √(‖x‖²/d + ε)

    Remark: For LayerNorm put Πx and Πx′ for x and x′. As r and r′ are at least √ε, outputs differ by at most 1/√ε times
    as much as inputs.
    """
    assume(eps > 0, redundant="at ε = 0 it holds too where both vectors are not 0, and the library takes no ε < 0")
    r, t = scale(mean_square(x), eps=eps), scale(mean_square(z), eps=eps)
    moved = square_norm(lg.rms_norm(x, eps=eps) - lg.rms_norm(z, eps=eps))
    assert r * t * moved <= square_norm(x - z)
    wrong("the square of the larger scale", lambda: r**2 * moved <= square_norm(x - z))
    wrong("of the centred parts, as LayerNorm", lambda: r * t * moved <= square_norm(lg.project(x - z)))


@test_contraction.proof
def _(goal, given, x, z, eps):
    """‖x − x′‖² − rr′‖y − y′‖² = d(r − r′)²(1 + ε/(rr′)), because ‖y‖² = d(1 − ε/r²)."""
    own, other = (sy.prove(sy.greater(mean_square(u) + eps), *given) for u in (x, z))
    r, t = scale(mean_square(x), eps=eps), scale(mean_square(z), eps=eps)
    apart = product(sy.prove(sy.greater(dim(x))), sy.square(r - t))
    shares = [sy.prove(sy.greater(1 / r), own), sy.prove(sy.greater(1 / t), other)]
    return as_sum(goal, [apart, product(apart, *given, *shares)], own, other)


@theorem(GUPTA, "section 3.2", "replaces LayerNorm by RMSNorm where states are nearly orthogonal to 1")
def test_swap(x: Vector, c: Scalar, eps: Epsilon):
    """With ε > 0, without gain, LayerNorm and RMSNorm of x differ by at most √d|cos θ|√(1 + cos²θ).

    ‖LN_ε(x) − RMS_ε(x)‖² ≤ d δ²(1 + δ²) for cos²θ ≤ δ² and ε > 0, here c for δ²

    Last step: Let two networks begin with the same states and have the same branches, each any function of what its
    norm returns at all positions that changes at each position by at most B_k times the largest change at any; let the
    first read through LayerNorms, the second through RMSNorms with the same ε, and let cos²θ ≤ δ_k² at the k-th norm
    of the first and √(‖x‖²/d + ε) ≥ s_k > 0 at the k-th of both. Then what the l-th norms return differs at each
    position by at most η_l + Δ_l/s_l, with η_k = √d δ_k√(1 + δ_k²), Δ_0 = 0 and Δ_{k+1} = Δ_k + B_k(η_k + Δ_k/s_k).

    Remark: So Δ_l = Σ_k B_kη_k Π_{k<j<l}(1 + B_j/s_j). The first network is the same in every gauge, the δ_k are not:
    the bound holds with those of the best gauge, and s_k = √ε will do.
    """
    assume(c * mean_square(x) - mean(x) ** 2 >= 0, "μ² ≤ δ²‖x‖²/d")
    assume(
        c >= 0,
        redundant="for x ≠ 0 it follows from the other; for x = 0 the left side is 0, and so is the right for −1 ≤ c",
    )
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    distance = square_distance(x, eps)
    assert distance <= dim(x) * c * (1 + c)
    wrong("d δ², without the second order", lambda: distance <= dim(x) * c)
    wrong("d δ⁴, as if only the length changed", lambda: distance <= dim(x) * c**2 * (1 + c))


@test_swap.proof
def _(goal, given, x, c, eps):
    """With A = μ²/r² and B = μ²σ²w²/s²: δ²(1 + δ²) − A(1 + B) = (δ² − A)(1 + δ² + A) + A(A − B), and A ≥ B."""
    tilt, share, positive = given
    inside, plain = (sy.prove(sy.greater(u + eps), positive) for u in (variance(x), mean_square(x)))
    r, s = scale(mean_square(x), eps=eps), scale(variance(x), eps=eps)
    squares = sy.square_of_root(plain), sy.square_of_root(inside)
    within = as_sum(sy.at_least(c * r * r - mean(x) ** 2), [tilt, product(share, positive)], squares[0])
    law = tilted_law()
    values = [mean(x), r, s, variance(x), eps, c]
    law = sy.instantiate(law, dict(zip(map(sy.scalar, "mrsvec"), values, strict=True)))
    for fact in (sy.root_positive(plain), sy.root_positive(inside), squares[1], positive, within, share):
        law = sy.cut(fact, law)
    bound = product(sy.prove(sy.greater(dim(x))), law)
    exact = sy.combine(goal.term - bound.conclusion.term, [(-1, None, exact_distance(x, eps, [positive]))])
    return sy.transport(goal.term, exact, bound)


def tilted_law() -> sy.Proved:
    """c(1 + c) ≥ A(1 + B) for A = m²/r² ≤ c and B = m²vw²/s², where w = 1/(r + s) and s² = v + e."""
    m, r, s, v, e, c = map(sy.scalar, "mrsvec")
    known = [sy.greater(r), sy.greater(s), sy.equal(s * s - v - e, 0), sy.greater(e), sy.at_least(c * r * r - m**2)]
    above, width, square, added, within = map(sy.assume, known)
    w, a = 1 / (r + s), m**2 / r**2
    b = m**2 * v * w**2 / s**2
    less = as_sum(sy.at_least(c - a), [product(within, *[sy.inverse_sign(above)] * 2)], above)
    # A − B = m²w²(2s/r + s²/r² + e/s²), because (r + s)w = 1.
    rest = product(sy.square(m * w), sy.prove(sy.at_least(2 * s / r + s**2 / r**2 + e / s**2), above, width, added))
    f = m**2 * w**2
    parts = [
        (-a * (1 + (r + s) * w), None, sy.inverse(sy.add(above, width))),
        (f * (r / r + 1 + 2 * s / r), None, sy.inverse(above)),
        (-f * (s / s + 1), None, sy.inverse(width)),
        (f / s**2, None, square),
    ]
    more = sy.transport(a - b, sy.combine(a - b - rest.conclusion.term, parts), rest)
    factor = sy.add(sy.add(sy.constant(1, ">"), sy.assume(sy.at_least(c))), sy.square(m / r))
    return as_sum(sy.at_least(c * (1 + c) - a * (1 + b)), [product(less, factor), product(sy.square(m / r), more)])
