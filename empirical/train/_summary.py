"""Results of the study: cells with intervals over seeds, ranks, gradients, and the price in loss."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..observe import ratio_interval, student
from ..support import Row, Rows

CellKey = tuple[Any, ...]
"""A cell of the study: the values of the columns :data:`CELL`, or of some of them."""

CELL = ("norm", "optimizer", "weight_decay", "layers", "width")


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


def geometric_mean(values: Sequence[float]) -> SeedMean:
    """Geometric mean of positive numbers by Student's interval of their logarithms, since seeds differ by ratios.

    >>> interval = geometric_mean([0.5, 2.0])
    >>> round(interval.mean, 12), interval.count
    (1.0, 2)
    """
    mean, low, high, count = student_mean([math.log(value) for value in values])
    return SeedMean(math.exp(mean), math.exp(low), math.exp(high), count)


def cell_of(row: Row) -> CellKey:
    """The cell a row of the study belongs to: all that names its run but the seed."""
    return tuple(row[name] for name in CELL)


def beyond_block_0(row: Row) -> bool:
    """Whether a site reads the stream behind block 0: the norms of later blocks and the final one."""
    return row["layer"] is None or row["layer"] >= 1


@dataclass(frozen=True)
class CellSummary:
    """One cell of the study after training, at the sites behind block 0.

    Attributes:
        start, energy, random: Geometric mean over sites of d·E[cos²θ], over seeds: of 1 before and after training, and
            of the median random direction after it.
        rank: Mean over sites of the fraction of the random directions that have less energy than 1, over seeds.
        lowest: Sites at which 1 has less energy than every random direction, and sites in all, over all seeds.
        ranks: Rank of 1 before the final norm, seed by seed.
        chance: Probability that they are so low by chance, see :func:`chance_of_ranks`.
    """

    cell: CellKey
    start: SeedMean
    energy: SeedMean
    random: SeedMean
    rank: SeedMean
    lowest: tuple[int, int]
    ranks: tuple[int, ...]
    chance: float


def by(rows: Rows, *names: str) -> dict[CellKey, Rows]:
    """Rows by their values in some columns, in the order of the table."""
    grouped: dict[CellKey, Rows] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[name] for name in names)].append(row)
    return grouped


def _plain_mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _log_mean(values: Sequence[float]) -> float:
    return math.exp(_plain_mean([math.log(value) for value in values]))


def per_seed(rows: Rows, column: str, mean=_log_mean) -> list[float]:
    """The mean of a column, geometric by default, for each seed."""
    return [mean([row[column] for row in of_seed]) for of_seed in by(rows, "seed").values()]


def chance_of_ranks(ranks: Sequence[int], directions: int) -> float:
    r"""Probability that ranks at most as high in sum arise where 1 is a direction like the random ones.

    Then each rank r among K directions is uniform on 0, ..., K, and (r + 1)/(K + 1) stochastically dominates a uniform
    number on [0, 1]. The sum s of n independent ones has the distribution function of
    Irwin and Hall, Σ_k (−1)^k C(n, k)(s − k)₊^n / n!, which therefore bounds the probability from above.

    >>> chance_of_ranks([0], 99), chance_of_ranks([49], 99)
    (0.01, 0.5)
    """
    count, total = len(ranks), sum(rank + 1 for rank in ranks)
    whole = directions + 1
    # Integers throughout: the alternating sum cancels.
    terms = ((-1) ** k * math.comb(count, k) * max(0, total - k * whole) ** count for k in range(count + 1))
    return sum(terms) / (whole**count * math.factorial(count))


def summarize(study: Rows) -> list[CellSummary]:
    """Every cell of the study, in the order of the table."""
    summaries = []
    for cell, rows in by(study, *CELL).items():
        last = max(row["step"] for row in rows)
        deep = [row for row in rows if beyond_block_0(row)]
        after = [row for row in deep if row["step"] == last]
        before, directions = [row for row in deep if row["step"] == 0], after[0]["directions"]
        summaries.append(
            CellSummary(
                cell,
                geometric_mean(per_seed(before, "d_cos2")),
                geometric_mean(per_seed(after, "d_cos2")),
                geometric_mean(per_seed(after, "random_d_cos2_median")),
                student_mean([rank / directions for rank in per_seed(after, "rank_among_random", _plain_mean)]),
                (sum(row["rank_among_random"] == 0 for row in after), len(after)),
                ranks := tuple(row["rank_among_random"] for row in after if row["layer"] is None),
                chance_of_ranks(ranks, directions),
            )
        )
    return summaries


def final_losses(rows: Rows) -> dict[tuple[str, CellKey, int], float]:
    """Held-out losses after training, by norm, by the rest of the cell, and by seed."""
    last = max(row["step"] for row in rows)
    ended = [row for row in rows if row["step"] == last]
    return {(row["norm"], cell_of(row)[1:], row["seed"]): row["held_out_loss"] for row in ended}


def _differences(study: Rows) -> list[tuple[CellKey, int, float]]:
    """Held-out loss of LayerNorm minus that of RMSNorm, for each cell but its norm, and each seed."""
    losses = final_losses(study)
    pairs = [(cell, seed) for norm, cell, seed in losses if norm == "layer" and ("rms", cell, seed) in losses]
    return [(*pair, losses["layer", *pair] - losses["rms", *pair]) for pair in pairs]


def paired_losses(study: Rows) -> list[tuple[CellKey, list[float]]]:
    """Held-out losses of LayerNorm minus those of RMSNorm, seed by seed, for each cell but its norm."""
    differences: dict[CellKey, list[float]] = defaultdict(list)
    for cell, _, difference in _differences(study):
        differences[cell].append(difference)
    return list(differences.items())


def pooled_loss(study: Rows) -> SeedMean:
    """Mean of all those differences; cells share their seeds, so that these are the independent units."""
    apart: dict[int, list[float]] = defaultdict(list)
    for _, seed, difference in _differences(study):
        apart[seed].append(difference)
    sums, counts = (np.array([count(pairs) for pairs in apart.values()]) for count in (sum, len))
    return SeedMean(*ratio_interval(sums, counts, floor=-math.inf), len(apart))


def first_step_below(study: Rows, cell: CellKey) -> int | None:
    """First checkpoint from which on the interval of 1 lies below that of the median random direction, if any."""
    rows = [row for row in study if cell_of(row) == cell and beyond_block_0(row)]
    below_from = None
    for (step,), of_step in sorted(by(rows, "step").items(), reverse=True):
        energy, random = (geometric_mean(per_seed(of_step, name)) for name in ("d_cos2", "random_d_cos2_median"))
        if energy.high >= random.low:
            break
        below_from = step
    return below_from


def along_depth(study: Rows, cell: CellKey, step: int) -> list[tuple[Row, SeedMean]]:
    """d·E[cos²θ] of 1 at every site of a cell after `step` steps, over seeds, in the order of the forward pass."""
    rows = [row for row in study if cell_of(row) == cell and row["step"] == step]
    return [(of_site[0], geometric_mean([row["d_cos2"] for row in of_site])) for of_site in by(rows, "site").values()]


@dataclass(frozen=True)
class WriterSummary:
    """The writers of one kind in one cell, after training, over seeds.

    Attributes:
        cell, kind: The cell; embeddings, output projections or their biases.
        growth, uniform_growth: Norm after training over that before, of all of them and of their part along 1; None
            for biases, which start at zero.
        change: Energy along 1 of what training added, 1 for an average direction.
    """

    cell: CellKey
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
    """Every kind of writer of every cell: norms are pooled over the writers of a kind by their squares."""
    summaries = []
    kinds = [{**row, "kind": writer_kind(row["writer"])} for row in writers]
    for (*cell, kind), rows in by(kinds, *CELL, "kind").items():
        seeds = list(by(rows, "seed").values())
        # Weighted by the squared size of each change, as if all changed rows stood in one matrix.
        changes = [
            sum(row["change_share"] * row["change_size"] ** 2 for row in of_seed) / _square(of_seed, "change_size")
            for of_seed in seeds
        ]
        growth, along = (None if kind == "biases" else _growth(seeds, column) for column in ("size", "uniform_size"))
        summaries.append(WriterSummary(tuple(cell), kind, growth, along, geometric_mean(changes)))
    return summaries


def _square(rows: Rows, column: str) -> float:
    return sum(row[column] ** 2 for row in rows)


def _growth(seeds: Sequence[Rows], column: str) -> SeedMean:
    return geometric_mean([math.sqrt(_square(rows, column) / _square(rows, f"start_{column}")) for rows in seeds])
