"""Where statements of the neighbouring literature need a hypothesis: about folding, rotating, attention, rounding."""

from fractions import Fraction

import lngeom as lg
from lngeom.prover import dot, norm, ones, square_norm

from ..case import WorkedExample, counterexample


@counterexample
def more_vectors_than_components(case: WorkedExample) -> None:
    """A million vectors against the largest dimension of the seven models."""
    case.true("vectors of a layer against d", case.scalar("vectors", 10**6), ">", case.scalar("d", 4096))


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
    growth = [2 * k * u / (1 - 2 * k * u) for k in (8, 4)]  # γ(2M, u) and γ(M, u) for M = 4
    allowed = case.find("tolerance for gain 1, no bias", growth[0] / 2 + growth[1] + 5 * u)
    rounded = (x - mean * (1 + u)) / lg.norms.scale(variance, eps=0)
    error = case.find("largest error after one rounding of the mean", norm(rounded - lg.standardize(x, eps=0)) / 2)
    case.claimed("a correct kernel stays within it", error, "≤", allowed)
    case.true("the error is u|μ|/σ", error, "=", 100 * u)


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
