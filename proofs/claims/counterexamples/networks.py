"""Where statements about whole networks fail: sums of updates, the stream's freedom along 1, comparisons."""

from fractions import Fraction

from lngeom.prover import norm, square_norm

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
