"""Training: what a norm does to weights, steps and gradients, and what becomes of the direction of 1."""

import lngeom as lg
from lngeom import prover as sy
from lngeom.derivatives import jacobian_product, jacobian_transpose_product
from lngeom.norms import scale
from lngeom.projection import mean_vector
from lngeom.prover import dim, dot, ones, root, square_norm, summed, trace
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, wrong

from .._shared import as_sum, mean, product, variance
from ..works import CHEN, GUPTA, KIM, OWN, STOLLENWERK, VANLAARHOVEN, XIONG


@theorem(VANLAARHOVEN, "section 2.1", "the effective learning rate is η/‖w‖²")
def test_effective_rate(x: Vector, p: Vector, q: Vector, a: Scalar, eta: Scalar):
    """Behind a LayerNorm without ε a step of a²η from ax is one of η from x, if gradients are a times smaller.

    LN₀(ax − a²ηq) = LN₀(x − ηp) for a > 0 and aq = p

    Remark: For weights that the norm reads, and steps without momentum: only the learning rate over the squared length
    of the weights counts. That gradients are a times smaller is assumed here; jacobian.small_inputs is the proof.
    """
    assume(a > 0)
    assume(p == a * q, "aq = p")
    step, longer = x - eta * p, a * x - a * a * eta * q
    y = lg.standardize(step, eps=0)
    assert lg.standardize(longer, eps=0) == y
    wrong("a step of aη", lambda: lg.standardize(a * x - a * eta * q, eps=0) == y)
    wrong("the same at ε = 1", lambda: lg.standardize(longer, eps=1) == lg.standardize(step, eps=1))


def sgd_step(w: Vector, m: Vector, p: Vector, eta: Scalar, beta: Scalar, lam: Scalar) -> Vector:
    """A step of SGD with momentum: w − η(βm + p + λw), p the gradient and m the momentum before it."""
    return w - eta * (beta * m + p + lam * w)


@theorem(OWN, "training", "behind LayerNorm every gradient p of a writer has 1·p = 0", kind="lemma")
def test_sgd_keeps_mean(w: Vector, m: Vector, p: Vector, g: Vector, eta: Scalar, beta: Scalar, lam: Scalar):
    """If gradient and momentum have no part along 1, a step of SGD multiplies that of a writer by 1 − ηλ.

    1·w′ = (1 − ηλ) 1·w for w′ = w − η(βm + p + λw), 1·p = 0 and 1·m = 0
    """
    assume(summed(p) == 0, "1·p = 0")
    assume(summed(m) == 0, "1·m = 0")
    assert summed(sgd_step(w, m, p, eta, beta, lam)) == (1 - eta * lam) * summed(w)
    adam = sgd_step(w, m, p / g, eta, beta, 0)
    wrong("Adam, which divides each coordinate by a size of its own, here g", lambda: summed(adam) == summed(w))


@theorem(OWN, "training", "where 1·p = 0 comes from, and that a tied head breaks it")
def test_writer_gradient(
    x: Vector, z: Vector, p: Vector, q: Vector, g: Vector, h: Vector, b: Vector, c: Scalar, eps: Epsilon
):
    """No gradient of a writer has a part along 1 where every reader is behind a LayerNorm and has weights of its own.

    1·(J(x; g)ᵀp + J(x′; h)ᵀq) = 0 for errors p and q behind any two LayerNorms

    Last step: Of a network of any number of branches, each any function of what a LayerNorm with an ε of its own
    returns at all positions, followed by a matrix W_k, and of a loss, any function of what a final LayerNorm returns,
    neither of which depends on any W_k or on the embedding x: if a matrix D_k is a gradient of the loss at W_k, then
    1ᵀD_k = 0; if vectors D_t are one at x, then 1·D_t = 0 at each position.
    """
    back = jacobian_transpose_product(x, p, g, eps=eps) + jacobian_transpose_product(z, q, h, eps=eps)
    assert summed(back) == 0
    wrong("a reader without a norm, which hands back its error as it is", lambda: summed(back + q) == 0)
    wrong(
        "tied embeddings: the head adds to the gradient of its row c times what it reads",
        lambda: summed(back + c * lg.layer_norm(x, g, b, eps=eps)) == 0,
    )
    wrong("behind an RMSNorm", lambda: summed(jacobian_transpose_product(x, p, g, eps=eps, centered=False)) == 0)


@theorem(OWN, "training", "a frozen component in a stream that grows")
def test_dilution(h: Vector, a: Vector):
    """An update orthogonal to 1 that does not shorten the stream does not raise its share of energy along 1.

    (1·(h + a))²‖h‖² ≤ (1·h)²‖h + a‖² for 1·a = 0 and ‖h + a‖² ≥ ‖h‖²
    """
    assume(summed(a) == 0, "1·a = 0")
    assume(square_norm(h + a) >= square_norm(h), "‖h + a‖² ≥ ‖h‖²")
    assert summed(h + a) ** 2 * square_norm(h) <= summed(h) ** 2 * square_norm(h + a)
    wrong("the component itself shrinks", lambda: summed(h + a) ** 2 + square_norm(a) <= summed(h) ** 2)


@theorem(GUPTA, "section 3", "compares the angle with 1 with that of random vectors")
def test_share(g: Vector, a: Vector):
    """The expected energy along 1 is 1ᵀΣ1/d, Σ the second moments, and tr Σ/d for a diagonal Σ.

    d·E[μ²] = 1ᵀΣ1/d, here for Σ = diag(g²) + aaᵀ; for a diagonal Σ it is tr Σ/d, energy 1

    Last step: For every expectation E and every matrix M, E[x·Mx] = tr(MΣ) if E[x_i x_j] = Σ_ij; with M = 11ᵀ/d,
    d·E[μ²] = 1ᵀΣ1/d.
    """

    def covariance(v: Vector) -> Vector:
        return g * g * v + a * dot(a, v)

    energy = trace(lambda v: mean_vector(covariance(v)), g)
    assert energy == dot(ones(g), covariance(ones(g))) / dim(g)
    independent = (square_norm(g) + square_norm(a)) / dim(g)
    wrong("tr Σ/d, as for isotropic or independent components", lambda: energy == independent)


@theorem(OWN, "training", "the step of AdamW is D∘p, p its momentum and D one over the roots of the second moments")
def test_adam_bound(p: Vector, v: Vector):
    """For a momentum p with 1·p = 0 the step D∘p of AdamW has a component along 1 of at most sd(D)‖p‖.

    (1·(D∘p))² ≤ d sd(D)² ‖p‖² for 1·p = 0, here v for D
    """
    assume(summed(p) == 0, "1·p = 0")
    assume(square_norm(p) > 0, "p ≠ 0", redundant="for p = 0 both sides are 0")
    along = summed(v * p) ** 2
    assert along <= dim(v) * variance(v) * square_norm(p)
    wrong("half of it", lambda: along <= dim(v) * variance(v) * square_norm(p) / 2)
    wrong(
        "the size of the scales does not count: the squared coefficient of variation in the place of the variance",
        lambda: mean(v) ** 2 * along <= variance(v) * square_norm(p),
    )


@theorem(OWN, "training", "a momentum that knows nothing of the scales")
def test_adam_energy(v: Vector):
    """For a momentum of second moments Π AdamW's step has the mean squared component sd(D)² along 1.

    1·DΠD1 = d sd(D)² and tr(DΠD) = (d − 1)(D̄² + sd(D)²), D = diag(v)

    Remark: By training.share, if E[p_i p_j] = s²Π_ij, then E(1·Dp)² = s²d sd(D)² and E‖Dp‖² = s²(d − 1)(D̄² + sd(D)²):
    the energy d·E(1̂·Dp)²/E‖Dp‖² is CV²/(1 + CV²) times d/(d − 1), CV = sd(D)/D̄ the coefficient of variation.
    """

    def moved(w: Vector) -> Vector:
        return v * lg.project(v * w)

    assert dot(ones(v), moved(ones(v))) == dim(v) * variance(v)
    assert trace(moved, v) == (dim(v) - 1) * (mean(v) ** 2 + variance(v))
    wrong(
        "the energy is that of D itself: 1·DΠD1 = (1·D)²/d",
        lambda: dot(ones(v), moved(ones(v))) == dim(v) * mean(v) ** 2,
    )


@theorem(XIONG, "Theorem 1", "Pre-LN gradients are smaller, by estimates at initialization")
def test_pre_norm_factor(x: Vector, v: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """With ε > 0 LayerNorm's Jacobian magnifies by at most its largest |g_i| over √(σ² + ε).

    (σ² + ε)‖Jv‖² ≤ c²‖v‖² for |g_i| ≤ c, ε > 0

    Remark: So a branch f∘LN passes gradients on by at most ‖f′‖c/√(σ² + ε).
    """
    assume(c * c - g * g >= 0, "|g_i| ≤ c")
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    before, after = square_norm(v), square_norm(jacobian_product(x, v, g, eps=eps))
    assert (variance(x) + eps) * after <= c * c * before
    wrong("‖x‖²/d in place of σ²", lambda: (square_norm(x) / dim(x) + eps) * after <= c * c * before)


@test_pre_norm_factor.proof
def _(goal, given, x, v, g, c, eps):
    """c²‖v‖² − s²‖Jv‖² = Σ(c² − g²)w² + c²((1·v)²/d + (y·v)²(1 + ε/s²)/d) with w = sJ₀v and s² = σ² + ε."""
    within, positive = given
    per_dimension = sy.prove(sy.greater(1 / dim(x)))
    square = variance(x) + eps
    defined, inverse = (sy.prove(sy.greater(value), positive) for value in (square, 1 / square))
    s, y = scale(variance(x), eps=eps), lg.standardize(x, eps=eps)
    along = product(sy.square(c * dot(y, v)), per_dimension)
    parts = [
        sy.total(product(within, sy.square(jacobian_product(x, v, eps=eps) * s))),
        product(sy.square(c * summed(v)), per_dimension),
        along,
        product(along, positive, inverse),
    ]
    return as_sum(goal, parts, defined)


@theorem(KIM, "section 3", "Peri-LN keeps the variance of the stream from growing exponentially")
def test_peri_norm_bound(z: Vector, g: Vector, c: Scalar, eps: Epsilon):
    """A LayerNorm with ε > 0 and without bias has outputs of length at most √d times its largest |g_i|.

    ‖LN_ε(z; g)‖² ≤ dc² for |g_i| ≤ c and ε > 0
    """
    assume(c * c - g * g >= 0, "|g_i| ≤ c")
    assume(eps > 0, redundant="at ε = 0 it holds too where σ > 0, and the library takes no ε < 0")
    d, written = dim(z), square_norm(lg.layer_norm(z, g, eps=eps))
    assert written <= d * c * c
    wrong("the same without the norm behind the branch", lambda: square_norm(z) <= d * c * c)
    wrong("c² without the dimension", lambda: written <= c * c)


@theorem(CHEN, "section 3", "Derf, g∘erf(αx + c) + b, replaces LayerNorm")
def test_elementwise_gradient(s: Vector, g: Vector, v: Vector, a: Scalar, c: Scalar):
    """Bounded slopes, as DyT and Derf have, bound the derivative for every input.

    ‖g∘s∘v‖² ≤ a²c²‖v‖² for |s_i| ≤ a and |g_i| ≤ c

    Remark: The slopes of DyT are at most a = α, those of Derf a = 2α/√π; LayerNorm has the bound c/√ε, by
    training.pre_norm_factor.
    """
    assume(a * a - s * s >= 0, "s_i² ≤ a²")
    assume(c * c - g * g >= 0, "g_i² ≤ c²")
    before, after, average = square_norm(v), square_norm(g * s * v), summed(s) / dim(s)
    assert after <= a * a * c * c * before
    wrong("the average slope in place of the largest", lambda: after <= average**2 * c * c * before)


@test_elementwise_gradient.proof
def _(goal, given, s, v, c):
    slopes, gains = given
    return as_sum(goal, [sy.total(product(slopes, sy.square(c * v))), sy.total(product(gains, sy.square(s * v)))])


@theorem(STOLLENWERK, "section 4", "DyISRU, √d x/√(x² + C), is an exact elementwise counterpart")
def test_elementwise_norm(x: Vector, eps: Epsilon):
    """With ε > 0, without gain and bias, RMSNorm squashes each component with a width that the others set.

    RMS_ε(x)_i = √d x_i/√(x_i² + C_i) with C_i = Σ_{j≠i} x_j² + dε: one DyISRU for each component
    """
    assume(eps > 0, redundant="at ε = 0 it holds too for x ≠ 0, and the library takes no ε < 0")
    y, d = lg.rms_norm(x, eps=eps), dim(x)
    assert y == root(d) * x / root(x * x + (square_norm(x) - x * x + d * eps))
    wrong("the same C = dε for all components", lambda: y == root(d) * x / root(x * x + d * eps))
