"""Where statements about whole networks fail: sums of updates, the stream's freedom along 1, comparisons."""

from fractions import Fraction

import lngeom as lg
from lngeom.kernel import dot, norm, ones, square_norm

from .._case import WorkedExample, counterexample
from ._exact import cosine


@counterexample
def moved_along_uniform(case: WorkedExample) -> None:
    """Two streams that differ along 1 give the same outputs and any angle one likes."""
    h = case.vector("h", 3, -1)
    moved = case.find("h + 100·1", h + 100 * ones(h))
    case.true("the layer cannot tell them apart", lg.layer_norm(h, eps=0), "=", lg.layer_norm(moved, eps=0))
    first = case.find("cos² of the angle of h with 1", cosine(h, ones(h)) * cosine(h, ones(h)))
    second = case.find("cos² of the angle of h + 100·1", cosine(moved, ones(h)) * cosine(moved, ones(h)))
    case.claimed("the angle belongs to what the network computes: it is the same", first, "=", second)


@counterexample
def index_zero(case: WorkedExample) -> None:
    """Summing from i = 0 adds an update that no block makes: already h⁰ comes out wrong."""
    h0 = case.vector("h⁰", 1, 0)
    a = [case.vector("a⁰ (a block 0 that does not exist)", 0, 1), case.vector("a¹", 2, 0)]
    m = [case.vector("m⁰", 1, 1), case.vector("m¹", 0, 3)]
    h1 = case.find("h¹ = h⁰ + a¹ + m¹, by eq. 16", h0 + a[1] + m[1])
    case.claimed("h¹ = h⁰ + Σ_{i=0}^{1} (aⁱ + mⁱ)", h1, "=", h0 + a[0] + m[0] + a[1] + m[1])
    case.claimed("h⁰ = h⁰ + a⁰ + m⁰", h0, "=", h0 + a[0] + m[0])
    case.true("h¹ = h⁰ + Σ_{i=1}^{1} (aⁱ + mⁱ)", h1, "=", h0 + a[1] + m[1])


@counterexample
def cancelling_update(case: WorkedExample) -> None:
    """An update can take back what is there: summing does not force the norm to grow."""
    h = case.vector("h⁰", 1, 0)
    a = case.vector("a¹", -1, 0)
    case.given("the stream is a sum: h¹ = h⁰ + a¹", case.find("h¹", h + a), "=", h + a)
    case.claimed("its norm has grown: ‖h¹‖² > ‖h⁰‖²", square_norm(h + a), ">", square_norm(h))
    case.true("‖h¹‖² = ‖h⁰‖² + ‖a¹‖² + 2h⁰·a¹", square_norm(h + a), "=", square_norm(h) + 1 + 2 * dot(h, a))


@counterexample
def aligned_updates(case: WorkedExample) -> None:
    """Updates of norm √d that all point one way: after L of them the norm is L√d, not √(Ld)."""
    update = case.vector("each of L = 9 updates", 1, 1, 1, 1)
    stream = case.find("their sum", 9 * update)
    case.claimed("‖h‖ = √(Ld)", square_norm(stream), "=", 9 * 4)
    case.true("‖h‖ = L√d", square_norm(stream), "=", 81 * 4)


@counterexample
def aligned_branches(case: WorkedExample) -> None:
    """Branches that add what the norm returns, all one way: the fastest growth there is, and it slows down."""
    h = [case.vector("h⁰", 1, -1)]
    for _ in range(8):
        h.append(h[-1] + lg.standardize(h[-1], eps=0))
    first = case.find("‖h¹‖²/‖h⁰‖²", square_norm(h[1]) / square_norm(h[0]))
    last = case.find("‖h⁸‖²/‖h⁷‖²", square_norm(h[8]) / square_norm(h[7]))
    case.claimed("growth is exponential: each block multiplies by the same", last, "=", first)
    case.true("‖h⁸‖ = ‖h⁰‖ + 8√d", norm(h[8]), "=", norm(h[0]) + 8 * norm(ones(h[0])))


@counterexample
def growth_without_dilution(case: WorkedExample) -> None:
    """A stream that doubles with every block: it grows, and each update is as large as all that came before."""
    h0, a1, a2 = case.vector("h⁰", 1, 0), case.vector("a¹", 1, 0), case.vector("a²", 2, 0)
    h1, h2 = case.find("h¹", h0 + a1), case.find("h²", h0 + a1 + a2)
    case.given("the stream grows: ‖h²‖² > ‖h¹‖²", square_norm(h2), ">", square_norm(h1))
    case.claimed("updates are diluted: ‖a²‖/‖h¹‖ < ‖a¹‖/‖h⁰‖", norm(a2) / norm(h1), "<", norm(a1) / norm(h0))


@counterexample
def swap_without_folding(case: WorkedExample) -> None:
    """Put in place of a trained LayerNorm, RMSNorm computes something else unless the stream is centred."""
    x = case.vector("x", 7, 1)
    layer, rms = case.find("LN(x)", lg.layer_norm(x, eps=0)), case.find("RMS(x)", lg.rms_norm(x, eps=0))
    case.claimed("RMS(x) = LN(x)", rms, "=", layer)
    case.true("of the centred stream it is: RMS(Πx) = LN(x)", lg.rms_norm(lg.project(x), eps=0), "=", layer)


@counterexample
def reset_scale(case: WorkedExample) -> None:
    """With gain and bias the norm is reset to where they put it, not to √d; a small input falls short with
    ε.
    """
    x = case.vector("x", 1, -1)
    g, b = case.vector("g", Fraction(1, 10), Fraction(1, 10)), case.vector("b", 3, 3)
    z = case.find("LN(x)", lg.layer_norm(x, g, b, eps=0))
    case.claimed("‖z‖² = d", square_norm(z), "=", 2)
    small = case.find("LN(x) with unit gain, ε = 3", lg.layer_norm(x, eps=3))
    case.claimed("‖LN(x)‖² = d", square_norm(small), "=", 2)
    case.undefined("LN(1) at ε = 0", lambda: lg.layer_norm(ones(x), eps=0))


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
    """What the angles need is a running sum: storing the vectors is a choice."""
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
