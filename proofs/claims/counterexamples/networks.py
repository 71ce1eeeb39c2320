"""Where statements about networks, their weights and their storage fail, or need a hypothesis."""

from fractions import Fraction

import lngeom as lg
from lngeom.prover import dot, norm, ones, square_norm

from ..case import WorkedExample, counterexample


@counterexample
def growth_without_dilution(case: WorkedExample) -> None:
    """A stream that doubles with every block: it grows, and each update is as large as all that came before."""
    h0, a1, a2 = case.vector("h⁰", 1, 0), case.vector("a¹", 1, 0), case.vector("a²", 2, 0)
    h1, h2 = case.find("h¹", h0 + a1), case.find("h²", h0 + a1 + a2)
    case.given("the stream grows: ‖h²‖² > ‖h¹‖²", square_norm(h2), ">", square_norm(h1))
    case.claimed("updates are diluted: ‖a²‖/‖h¹‖ < ‖a¹‖/‖h⁰‖", norm(a2) / norm(h1), "<", norm(a1) / norm(h0))


@counterexample
def best_of_what_was_released(case: WorkedExample) -> None:
    """A score that falls by the choice of norm and still is the best released: data made up for it."""
    cost = case.scalar("cost of RMSNorm", 1)
    more_data = case.scalar("gain from more data", 5)
    layer, rms = case.scalar("score of the best LayerNorm model, less data", 80), 80 - cost + more_data
    case.given("the best model uses RMSNorm", case.find("score of the RMSNorm model, more data", rms), ">", layer)
    case.claimed("so RMSNorm does not hurt: the cost is at most 0", cost, "≤", 0)


@counterexample
def storage(case: WorkedExample) -> None:
    """At four bytes a number the states take less than 2 TB, at eight bytes more."""
    tokens, layers, d = case.scalar("tokens", 10**6), case.scalar("layers", 48), case.scalar("d", 1600)
    vectors = case.scalar("vectors per layer, before and after two norms", 4)
    numbers = case.find("numbers", tokens * layers * d * vectors)
    case.claimed("at four bytes each they are 2 TB", numbers * 4, "≥", 2 * 10**12)
    case.true("at eight bytes each they are, rounded down", numbers * 8 // 10**12, "=", 2)


@counterexample
def tied_embeddings(case: WorkedExample) -> None:
    """The smallest model has the size it is named by only with an unembedding of its own."""
    layers, d = case.scalar("layers", 6), case.scalar("d", 512)
    vocabulary, positions = case.scalar("vocabulary", 50257), case.scalar("positions", 1024)
    # Per block: two norms 4d, attention 4d² + 4d, MLP 8d² + 5d; then the final norm 2d.
    blocks = layers * (12 * d * d + 13 * d) + 2 * d
    tied = case.find("parameters with tied embeddings, as in GPT-2", blocks + (vocabulary + positions) * d)
    case.claimed("they are 70 million, to 5 %", tied, "≥", Fraction(95, 100) * 70 * 10**6)
    untied = case.find("parameters with an unembedding of its own", tied + vocabulary * d)
    case.true("these are 70 million, to 5 %", abs(untied - 70 * 10**6), "≤", Fraction(5, 100) * 70 * 10**6)


@counterexample
def dead_coordinate(case: WorkedExample) -> None:
    """A zero gain kills its coordinate behind RMSNorm too."""
    z = case.find("RMS(x)", lg.rms_norm(case.vector("x", 7, 1), case.vector("g", 0, 1), eps=0))
    case.claimed("no direction is dead: e₁·z ≠ 0", dot(case.vector("e₁", 1, 0), z), "≠", 0)


@counterexample
def same_gain_other_norm(case: WorkedExample) -> None:
    """One gain, two norms: it has a dead direction behind one of them."""
    x, g = case.vector("x", 7, 1), case.vector("g, in both", 1, 2)
    a = case.find("α = 1/g", ones(g) / g)
    case.given("behind LayerNorm α is dead: α·z = 0", dot(a, lg.layer_norm(x, g, eps=0)), "=", 0)
    case.claimed("so it is behind RMSNorm with that gain: α·z = 0", dot(a, lg.rms_norm(x, g, eps=0)), "=", 0)


@counterexample
def turned_layer_norm(case: WorkedExample) -> None:
    """An orthogonal map that moves 1 does not commute with LayerNorm; with RMSNorm it does."""
    x = case.vector("x", 1, 1, 0)
    sign = case.vector("A = diag", -1, 1, 1)
    case.claimed("LN(Ax) = A LN(x)", lg.layer_norm(sign * x, eps=1), "=", sign * lg.layer_norm(x, eps=1))
    case.true("RMS(Ax) = A RMS(x)", lg.rms_norm(sign * x, eps=1), "=", sign * lg.rms_norm(x, eps=1))


@counterexample
def mean_far_from_zero(case: WorkedExample) -> None:
    """One rounding of a mean that is large against σ moves outputs by u|μ|/σ, which the formula leaves out."""
    u = case.scalar("u, the unit roundoff of float32", Fraction(1, 2**24))
    x = case.vector("x", 101, 99, 101, 99)
    mean, variance = lg.moments(x)
    case.given("every normalized component is 1 in size", lg.standardize(x, eps=0) * lg.standardize(x, eps=0), "=", 1)
    # γ(2M, u) and γ(M, u) for M = 4, with the γ(k, u) = 2ku/(1 − 2ku) of the pull request.
    growth = [2 * k * u / (1 - 2 * k * u) for k in (8, 4)]
    allowed = case.find("tolerance for gain 1, no bias", growth[0] / 2 + growth[1] + 5 * u)
    rounded = (x - mean * (1 + u)) / lg.norms.scale(variance, eps=0)
    error = case.find("largest error after one rounding of the mean", norm(rounded - lg.standardize(x, eps=0)) / 2)
    case.claimed("a correct kernel stays within it", error, "≤", allowed)
    case.true("the error is u|μ|/σ", error, "=", 100 * u)
    case.true("more than 4.7 times the tolerance", error / allowed, ">", Fraction(47, 10))


@counterexample
def shorter_weights(case: WorkedExample) -> None:
    """With ε the gradient has a part along the weights, and a step can make them shorter."""
    w, e, eps = case.vector("w", 1, -1), case.vector("error behind the norm", 1, -1), case.scalar("ε", 3)
    p = case.find("gradient by w", lg.derivatives.jacobian_transpose_product(w, e, eps=eps))
    case.claimed("the step w − p is no shorter than w", square_norm(w - p), "≥", square_norm(w))
    case.claimed("the gradient is orthogonal to w", dot(w, p), "=", 0)


@counterexample
def small_branch(case: WorkedExample) -> None:
    """A branch that writes little grows more when a norm stands behind it."""
    h, f = (case.vector("stream h", 2, 0), case.vector("what the branch writes", Fraction(1, 10), Fraction(-1, 10)))
    case.claimed(
        "with the norm behind the branch the stream grows less",
        square_norm(h + lg.layer_norm(f, eps=0)),
        "<",
        square_norm(h + f),
    )


@counterexample
def one_component_carries_all(case: WorkedExample) -> None:
    """A one-hot vector: its component comes out as √d."""
    z = case.find("RMS(x)", lg.rms_norm(case.vector("x", 5, 0, 0, 0), eps=0))
    case.claimed("with gain 1 no output is above 1", z, "≤", 1)
    case.true("the largest is √d", z[0], "=", 2)
