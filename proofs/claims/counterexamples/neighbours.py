"""Where statements of the neighbouring literature need a hypothesis: about folding, rotating, attention, rounding."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.kernel import dot, norm, ones, square_norm

from .._case import WorkedExample, counterexample


@counterexample
def more_vectors_than_components(case: WorkedExample) -> None:
    """A million vectors against the largest dimension of the seven models."""
    case.true("vectors of a layer against d", case.scalar("vectors", 10**6), ">", case.scalar("d", 4096))


@counterexample
def eps_between_two_norms(case: WorkedExample) -> None:
    """Two norms in a row, with ε: the second sees how short the first has made its output."""
    x, eps = case.vector("x", 1, 1), case.scalar("ε", 3)
    once = case.find("RMS(x): the first norm left out", lg.rms_norm(x, eps=eps))
    twice = case.find("RMS(RMS(x)): both, the map between them being I", lg.rms_norm(once, eps=eps))
    case.claimed("the first can be left out", twice, "=", once)
    still = lg.rms_norm(lg.rms_norm(x, eps=eps), eps=0)
    case.true("at ε = 0 of the second it can", still, "=", lg.rms_norm(x, eps=0))


@counterexample
def key_inside(case: WorkedExample) -> None:
    """With ε the key of a vector of equal components lies between two others: no query prefers it."""
    x, eps, q = case.vector("x", 1, -1), case.scalar("ε", 3), case.vector("a query q", 3, 1)
    keys = [lg.layer_norm(v, eps=eps) for v in (x, -x, 0 * x)]
    logits = [
        case.find(f"logit of the key of {name}", dot(q, k)) for name, k in zip(("x", "−x", "0"), keys, strict=True)
    ]
    case.claimed("the last is preferred to the first", logits[2], ">", logits[0])
    case.true("it is the mean of the other two", logits[2], "=", (logits[0] + logits[1]) / 2)


@counterexample
def reader_without_bias(case: WorkedExample) -> None:
    """A change of the reader along α adds α·b to its output: without a bias of its own that is seen."""
    x, g, b = case.vector("x", 1, -1), case.vector("g", 1, 2), case.vector("b", 3, 0)
    z, w = case.find("z = LN(x)", lg.layer_norm(x, g, b, eps=0)), case.vector("w, a row of the reader", 1, 1)
    case.claimed("w and w + α read the same", dot(w + ones(g) / g, z), "=", dot(w, z))
    case.true("the difference is α·b, for every x", dot(w + ones(g) / g, z) - dot(w, z), "=", dot(ones(g) / g, b))


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
def another_eps(case: WorkedExample) -> None:
    """A replacement norm with an ε of its own computes something else, on a centred stream too."""
    x = case.vector("x", 1, -1)
    case.given("the stream is centred: 1·x = 0", dot(ones(x), x), "=", 0)
    replaced = lg.rms_norm(x, eps=case.scalar("ε of the replacement", Fraction(1, 100000)))
    layer = lg.layer_norm(x, eps=case.scalar("ε of the layer", Fraction(1, 1000)))
    case.claimed("RMS(x) = LN(x)", replaced, "=", layer)


@counterexample
def turned_layer_norm(case: WorkedExample) -> None:
    """An orthogonal map that moves 1 does not commute with LayerNorm; with RMSNorm it does."""
    x = case.vector("x", 1, 1, 0)
    sign = case.vector("A = diag", -1, 1, 1)
    case.claimed("LN(Ax) = A LN(x)", lg.layer_norm(sign * x, eps=1), "=", sign * lg.layer_norm(x, eps=1))
    case.true("RMS(Ax) = A RMS(x)", lg.rms_norm(sign * x, eps=1), "=", sign * lg.rms_norm(x, eps=1))


@counterexample
def gain_before_rotation(case: WorkedExample) -> None:
    """With its gain in place RMSNorm does not commute with a rotation, here of two coordinates."""
    x, g = case.vector("x", 7, 1), case.vector("g", 1, 2)
    turned = Enclosure([x[1], -x[0]])
    z = lg.rms_norm(x, g, eps=0)
    case.claimed("RMS(Qx; g) = Q RMS(x; g)", lg.rms_norm(turned, g, eps=0), "=", Enclosure([z[1], -z[0]]))


@counterexample
def mean_far_from_zero(case: WorkedExample) -> None:
    """One rounding of a mean that is large against σ moves outputs by u|μ|/σ, which the formula leaves out."""
    u = case.scalar("u, the unit roundoff of float32", Fraction(1, 2**24))
    x = case.vector("x", 101, 99, 101, 99)
    mean, variance = lg.moments(x)
    case.given("σ = 1", variance, "=", 1)
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
def one_width_for_all(case: WorkedExample) -> None:
    """With one C for all components DyISRU is not an RMSNorm."""
    x = case.vector("x", 1, 7)
    common = x / lg.norms.scale(x * x / 2 + 12, eps=0)  # √d x/√(x² + C) with d = 2 and C = 24
    case.claimed("DyISRU with C = 24 is RMSNorm", common, "=", lg.rms_norm(x, eps=0))


@counterexample
def one_component_carries_all(case: WorkedExample) -> None:
    """A one-hot vector: its component comes out as √d."""
    z = case.find("RMS(x)", lg.rms_norm(case.vector("x", 5, 0, 0, 0), eps=0))
    case.claimed("with gain 1 no output is above 1", z, "≤", 1)
    case.true("the largest is √d", z[0], "=", 2)
