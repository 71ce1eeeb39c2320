"""Results of the study from its tables: cells with intervals over seeds, ranks, gradients, and the price in loss."""

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

import numpy as np

from empirical.observe import ratio_interval, student
from empirical.support import Row, Rows
from lngeom.verdicts import Verdict

CELL = ("norm", "optimizer", "weight_decay", "layers", "width")
Cell = tuple[Any, ...]
"""The values of these columns, or of some of them."""

TINY = (4, 128)
"""Blocks and width of most networks."""

NORM_NAMES = {"layer": "LayerNorm", "rms": "RMSNorm", "u": "u-Norm", "post": "Post-LN", "none": "no norm"}
OPTIMIZER_NAMES = {"adamw": "AdamW", "sgd": "SGD with momentum"}

MARGIN = 0.05
"""Nats per token within which two losses count as equal: about what Heimersheim, arXiv:2409.13710, finds that
GPT-2 small loses without any LayerNorm."""


def short(value: float) -> str:
    """Three digits, small numbers with an exponent."""
    return f"{value:.3g}" if value >= 1e-3 or value == 0 else f"{value:.1e}"


class SeedMean(NamedTuple):
    """A mean over seeds with its 95 % interval."""

    mean: float
    low: float
    high: float
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]

    def text(self, digits: str = "") -> str:
        """``0.5 [0.4, 0.6]``, in the format of `digits` or in three digits."""
        mean, low, high = (f"{part:{digits}}" if digits else short(part) for part in self[:3])
        return f"{mean} [{low}, {high}]"


def student_mean(values: Sequence[float]) -> SeedMean:
    """Arithmetic mean and Student's 95 % interval m ± t s/√n, unbounded for one value."""
    numbers = np.asarray(values, dtype=float)
    mean, count = float(numbers.mean()), len(numbers)
    reach = student(count - 1) * float(numbers.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    return SeedMean(mean, mean - reach, mean + reach, count)


def ratio_mean(values: Sequence[float]) -> SeedMean:
    """Geometric mean of positive numbers by Student's interval of their logarithms, since seeds differ by ratios."""
    mean, low, high, count = student_mean([math.log(value) for value in values])
    return SeedMean(math.exp(mean), math.exp(low), math.exp(high), count)


def by(rows: Rows, *names: str) -> dict[Cell, Rows]:
    """Rows by their values in some columns, in the order of the table."""
    grouped: dict[Cell, Rows] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[name] for name in names)].append(row)
    return grouped


def cell_of(row: Row) -> Cell:
    """The cell that a row belongs to: all that names its run but the seed."""
    return tuple(row[name] for name in CELL)


def after_training(rows: Rows) -> Rows:
    """The rows of the last step."""
    last = max(row["step"] for row in rows)
    return [row for row in rows if row["step"] == last]


def behind_block_0(row: Row) -> bool:
    """Whether a site reads the stream behind block 0: the norms of later blocks and the final one."""
    return row["layer"] != 0


def over_seeds(rows: Rows, column: str) -> SeedMean:
    """Geometric mean of a column over the sites of each seed, and then over seeds."""
    return ratio_mean([geometric_mean([row[column] for row in one]) for one in by(rows, "seed").values()])


def chance_of_ranks(ranks: Sequence[int], directions: int) -> float:
    r"""Probability that ranks at most as high in sum arise where 1 is a direction like the random ones.

    Then each rank r among K directions is uniform on 0, ..., K, and (r + 1)/(K + 1) stochastically dominates a uniform
    number on [0, 1]. The sum s of n independent ones has the distribution function of
    Irwin and Hall, Σ_k (−1)^k C(n, k)(s − k)₊^n / n!, which therefore bounds the probability from above.
    """
    count, total = len(ranks), sum(rank + 1 for rank in ranks)
    whole = directions + 1
    # Integers throughout: the alternating sum cancels.
    terms = ((-1) ** k * math.comb(count, k) * max(0, total - k * whole) ** count for k in range(count + 1))
    return sum(terms) / (whole**count * math.factorial(count))


class CellSummary(NamedTuple):
    """One cell of the study at the sites behind block 0, after training.

    Attributes:
        start, energy, random: Geometric mean over sites of d·E[cos²θ], over seeds: of 1 before and after training, and
            of the median random direction after it.
        rank: Mean over sites of the fraction of the random directions that have less energy than 1, over seeds.
        lowest: Sites at which 1 has less energy than every random direction, and sites in all, over all seeds.
        ranks: Rank of 1 before the final norm, seed by seed.
        chance: Probability that they are so low by chance, see :func:`chance_of_ranks`.
    """

    cell: Cell
    start: SeedMean
    energy: SeedMean
    random: SeedMean
    rank: SeedMean
    lowest: tuple[int, int]
    ranks: list[int]
    chance: float


def _summary(cell: Cell, rows: Rows) -> CellSummary:
    deep = [row for row in rows if behind_block_0(row)]
    after, directions = after_training(deep), deep[0]["directions"]
    ranks = [row["rank_among_random"] for row in after if row["layer"] is None]
    fractions = [fmean(row["rank_among_random"] for row in one) / directions for one in by(after, "seed").values()]
    return CellSummary(
        cell,
        over_seeds([row for row in deep if row["step"] == 0], "d_cos2"),
        over_seeds(after, "d_cos2"),
        over_seeds(after, "random_d_cos2_median"),
        student_mean(fractions),
        (sum(row["rank_among_random"] == 0 for row in after), len(after)),
        ranks,
        chance_of_ranks(ranks, directions),
    )


def summarize(study: Rows) -> list[CellSummary]:
    """Every cell of the study, in the order of the table."""
    return [_summary(cell, rows) for cell, rows in by(study, *CELL).items()]


def verdict(layer: CellSummary, rms: CellSummary) -> Verdict:
    """Whether the collapse under LayerNorm and its absence under RMSNorm hold in one pair of cells.

    ``holds``: the interval of d·E[cos²θ] lies below that of the median random direction with LayerNorm, and the
    interval with LayerNorm lies below the one with RMSNorm. ``violated``: either pair is reversed. Else ``undecided``.
    """
    pairs = ((layer.energy, layer.random), (layer.energy, rms.energy))
    if all(below.high < above.low for below, above in pairs):
        return "holds"
    return "violated" if any(below.low > above.high for below, above in pairs) else "undecided"


def verdicts(summaries: Sequence[CellSummary]) -> dict[Cell, Verdict]:
    """The verdict on each cell with LayerNorm that has its pair with RMSNorm."""
    rms = {each.cell[1:]: each for each in summaries if each.cell[0] == "rms"}
    return {s.cell: verdict(s, rms[s.cell[1:]]) for s in summaries if s.cell[0] == "layer" and s.cell[1:] in rms}


def first_step_below(rows: Rows) -> int | None:
    """First checkpoint of a cell from which on the interval of 1 lies below that of the median random direction."""
    below_from = None
    for (step,), of_step in sorted(by([row for row in rows if behind_block_0(row)], "step").items(), reverse=True):
        if over_seeds(of_step, "d_cos2").high >= over_seeds(of_step, "random_d_cos2_median").low:
            break
        below_from = step
    return below_from


def along_depth(study: Rows, cell: Cell, step: int) -> list[tuple[Row, SeedMean]]:
    """d·E[cos²θ] of 1 at every site of a cell after `step` steps, over seeds, in the order of the forward pass."""
    rows = [row for row in study if cell_of(row) == cell and row["step"] == step]
    return [(of_site[0], over_seeds(of_site, "d_cos2")) for of_site in by(rows, "site").values()]


class WriterSummary(NamedTuple):
    """The writers of one kind in one cell, after training, over seeds; norms are pooled by their squares.

    Attributes:
        cell, kind: The cell; embeddings, output projections or their biases.
        growth, uniform_growth: Norm after training over that before, of all of them and of their part along 1; None
            for biases, which start at zero.
        change: Energy along 1 of what training added, 1 for an average direction.
    """

    cell: Cell
    kind: str
    growth: SeedMean | None
    uniform_growth: SeedMean | None
    change: SeedMean


def writer_kind(name: str) -> str:
    """Kind of a writer, by its parameter name."""
    if name.endswith("bias"):
        return "biases"
    return "projections" if "c_proj" in name else "embeddings"


def summarize_writers(writers: Rows) -> list[WriterSummary]:
    """Every kind of writer of every cell."""

    def squares(rows: Rows, column: str) -> float:
        return sum(row[column] ** 2 for row in rows)

    def growth(seeds: Sequence[Rows], column: str) -> SeedMean:
        return ratio_mean([math.sqrt(squares(rows, column) / squares(rows, f"start_{column}")) for rows in seeds])

    summaries = []
    for (*cell, kind), rows in by(
        [{**row, "kind": writer_kind(row["writer"])} for row in writers], *CELL, "kind"
    ).items():
        seeds = list(by(rows, "seed").values())
        # Weighted by the squared size of each change, as if all changed rows stood in one matrix.
        changes = [
            sum(row["change_share"] * row["change_size"] ** 2 for row in of_seed) / squares(of_seed, "change_size")
            for of_seed in seeds
        ]
        grown = (None, None) if kind == "biases" else (growth(seeds, "size"), growth(seeds, "uniform_size"))
        summaries.append(WriterSummary(tuple(cell), kind, *grown, ratio_mean(changes)))
    return summaries


class ControlSummary(NamedTuple):
    """One direction, ``1`` or ``u``, in one control arm after training, behind block 0, over seeds.

    ``energy`` and ``random`` are geometric means over sites of d·E[cos²θ], of it and of the median random direction;
    ``chance`` the probability of ranks so low before the head, see :func:`chance_of_ranks`.
    """

    norm: str
    optimizer: str
    direction: str
    energy: SeedMean
    random: SeedMean
    chance: float


def summarize_controls(controls: Rows) -> list[ControlSummary]:
    """Every arm and direction, in the order of the table."""
    deep = [row for row in after_training(controls) if row["site"] != "h.0"]
    summaries = []
    for (norm, optimizer, direction), rows in by(deep, "norm", "optimizer", "direction").items():
        chance = chance_of_ranks(
            [row["rank_among_random"] for row in rows if row["site"] == "ln_f"], rows[0]["directions"]
        )
        energies = over_seeds(rows, "d_cos2"), over_seeds(rows, "random_d_cos2_median")
        summaries.append(ControlSummary(norm, optimizer, direction, *energies, chance))
    return summaries


def _final_losses(rows: Rows) -> dict[tuple[str, Cell, int], float]:
    """Held-out losses after training, by norm, by the rest of the cell, and by seed."""
    return {(row["norm"], cell_of(row)[1:], row["seed"]): row["held_out_loss"] for row in after_training(rows)}


def paired_losses(study: Rows) -> dict[Cell, dict[int, float]]:
    """Held-out losses of LayerNorm minus those of RMSNorm, seed by seed, for each cell but its norm."""
    losses, pairs = _final_losses(study), defaultdict[Cell, dict[int, float]](dict)
    for norm, cell, seed in losses:
        if norm == "layer" and ("rms", cell, seed) in losses:
            pairs[cell][seed] = losses["layer", cell, seed] - losses["rms", cell, seed]
    return pairs


def pooled_loss(study: Rows) -> SeedMean:
    """Mean of all those differences; cells share their seeds, so that these are the independent units."""
    apart: dict[int, list[float]] = defaultdict(list)
    for pairs in paired_losses(study).values():
        for seed, difference in pairs.items():
            apart[seed].append(difference)
    sums, counts = (np.array([count(pairs) for pairs in apart.values()]) for count in (sum, len))
    return SeedMean(*ratio_interval(sums, counts, floor=-math.inf), len(apart))


def loss_against_layer_norm(controls: Rows, study: Rows) -> dict[tuple[str, str], list[float]]:
    """Held-out loss of each control arm minus that of LayerNorm with the same optimizer, decay, size and seed."""
    losses, arms = _final_losses(study), defaultdict[tuple[str, str], list[float]](list)
    for (norm, cell, seed), loss in _final_losses(controls).items():
        if ("layer", cell, seed) in losses:
            arms[norm, cell[0]].append(loss - losses["layer", cell, seed])
    return arms


def equivalence(mean: SeedMean, margin: float = MARGIN) -> str:
    r"""Test of a mean of paired losses at 5 %: ``"equivalent"``, ``"different"``, both, or ``"undecided"``.

    Equivalent where the 90 % interval of the mean lies within ±`margin`, which is two one-sided tests at 5 %
    (Schuirmann 1987); different where the 95 % interval does not contain 0. A small difference can be both.
    """
    if mean.count < 2:
        return "undecided"
    narrow = (mean.high - mean.mean) * student(mean.count - 1, 0.9) / student(mean.count - 1)
    answers = {"equivalent": abs(mean.mean) + narrow <= margin, "different": not mean.low <= 0 <= mean.high}
    return ", and ".join(word for word, holds in answers.items() if holds) or "undecided"
