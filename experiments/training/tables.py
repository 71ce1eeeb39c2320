"""Results of the study from its tables: cells with intervals over seeds, ranks, and the price in loss."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lngeom.empirical.observe import ratio_interval, student
from lngeom.verdicts import Verdict

Table = Any
"""A DataFrame of pandas, or a Series, neither of which its annotations describe well enough to be checked."""

CELL = ["norm", "optimizer", "weight_decay", "layers", "width"]
"""All that names a run but its seed."""

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
    seeds: int

    def text(self, digits: str = "") -> str:
        """``0.5 [0.4, 0.6]``, in the format of `digits` or in three digits; a dash for nothing."""
        if math.isnan(self.mean):
            return "–"
        mean, low, high = (f"{part:{digits}}" if digits else short(part) for part in self[:3])
        return f"{mean} [{low}, {high}]"


def student_mean(values: Sequence[float] | Table) -> SeedMean:
    """Arithmetic mean and Student's 95 % interval m ± t s/√n, unbounded for one value."""
    numbers = np.asarray(values, dtype=float)
    return SeedMean(*ratio_interval(numbers, np.ones(len(numbers)), floor=-math.inf), len(numbers))


def ratio_mean(values: Sequence[float] | Table) -> SeedMean:
    """Geometric mean of positive numbers by Student's interval of their logarithms, since seeds differ by ratios."""
    *logarithms, seeds = student_mean(np.log(values))
    mean, low, high = map(math.exp, logarithms)
    return SeedMean(mean, low, high, seeds)


def over_seeds(rows: Table, column: str, names: list[str]) -> Table:
    """Geometric mean of a column over the rows of each seed, and then over seeds, by the values in some columns."""
    logarithms = rows.assign(log=np.log(rows[column])).groupby([*names, "seed"], sort=False)["log"].mean()
    return np.exp(logarithms).groupby(names, sort=False).apply(ratio_mean)


def at_tiny(rows: Table) -> Table:
    """The networks of the size of most."""
    return rows[(rows["layers"] == TINY[0]) & (rows["width"] == TINY[1])]


def after_training(rows: Table) -> Table:
    """The rows of the last step."""
    return rows[rows["step"] == rows["step"].max()]


def behind_block_0(rows: Table) -> Table:
    """The sites that read the stream behind block 0: the norms of later blocks and the final one."""
    return rows[~rows["site"].str.match(r"h\.0\b")]


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


def summarize(rows: Table, names: list[str] = CELL) -> Table:
    """What became of a direction at the sites behind block 0, by the values in some columns, in the order of the table.

    - ``start``, ``energy``, ``random``: geometric mean over sites of d·E[cos²θ], over seeds, of the direction before
      and after training, and of the median random direction after it;
    - ``rank``: mean over sites of the fraction of the random directions that have less energy, over seeds;
    - ``lowest``: sites at which every random direction has more, and sites in all, over all seeds;
    - ``ranks``: ranks before the final norm, seed by seed;
    - ``chance``: probability that they are so low by chance, see :func:`chance_of_ranks`.
    """
    deep = behind_block_0(rows)
    after = after_training(deep).assign(rank=lambda rows: rows["rank_among_random"] / rows["directions"])
    ranks = after[after["site"] == "ln_f"].groupby(names, sort=False)["rank_among_random"].agg(list)
    by_seed = after.groupby([*names, "seed"], sort=False)["rank"].mean()
    return pd.DataFrame(
        {
            "start": over_seeds(deep[deep["step"] == 0], "d_cos2", names),
            "energy": over_seeds(after, "d_cos2", names),
            "random": over_seeds(after, "random_d_cos2_median", names),
            "rank": by_seed.groupby(names, sort=False).apply(student_mean),
            "lowest": after.groupby(names, sort=False)["rank"].apply(lambda each: ((each == 0).sum(), len(each))),
            "ranks": ranks,
            "chance": [chance_of_ranks(each, int(after["directions"].iloc[0])) for each in ranks],
        }
    )


def verdict(energy: SeedMean, random: SeedMean, rms: SeedMean) -> Verdict:
    """Whether the collapse under LayerNorm and its absence under RMSNorm hold in one pair of cells.

    ``holds``: the interval of d·E[cos²θ] lies below that of the median random direction with LayerNorm, and the
    interval with LayerNorm lies below the one with RMSNorm. ``violated``: either pair is reversed. Else ``undecided``.
    """
    if all(energy.high < above.low for above in (random, rms)):
        return "holds"
    return "violated" if any(energy.low > above.high for above in (random, rms)) else "undecided"


def verdicts(summary: Table) -> dict[tuple[Any, ...], Verdict]:
    """The verdict on each cell with LayerNorm that has its pair with RMSNorm."""
    layer, rms = (summary.xs(norm, level="norm") for norm in ("layer", "rms"))
    pairs = layer[["energy", "random"]].assign(rms=rms["energy"]).dropna()
    return {("layer", *cell): verdict(*pair) for cell, *pair in pairs.itertuples(name=None)}


def first_step_below(study: Table) -> Table:
    """First checkpoint from which on the interval of 1 lies below that of the median random direction, by cell."""
    names = [*CELL, "step"]
    energy, random = (over_seeds(behind_block_0(study), each, names) for each in ("d_cos2", "random_d_cos2_median"))
    below = energy.combine(random, lambda one, median: one.high < median.low)
    lasting = below[::-1].groupby(CELL).cummin()
    return lasting[lasting].reset_index("step").groupby(CELL)["step"].min()


def summarize_writers(writers: Table) -> Table:
    """The writers of each kind in each cell after training, over seeds; norms are pooled by their squares.

    - ``growth``, ``uniform_growth``: norm after training over that before, of all of them and of their part along 1;
      without a value for biases, which start at zero;
    - ``change``: energy along 1 of what training added, 1 for an average direction, each with the weight of its size.
    """
    squares = writers.filter(like="size") ** 2
    squares["along"] = writers["change_share"] * squares["change_size"]
    part = writers["writer"].str.extract(r"(w[tp]e|c_proj\.weight|bias)", expand=False)
    kind = part.map({"wte": "embeddings", "wpe": "embeddings", "c_proj.weight": "projections", "bias": "biases"})
    cells = [*(writers[name] for name in CELL), kind.rename("kind")]
    pooled = squares.groupby([*cells, writers["seed"]], sort=False).sum().replace(0, math.nan)
    of_seed = pooled.assign(
        growth=np.sqrt(pooled["size"] / pooled["start_size"]),
        uniform_growth=np.sqrt(pooled["uniform_size"] / pooled["start_uniform_size"]),
        change=pooled["along"] / pooled["change_size"],
    )[["growth", "uniform_growth", "change"]]
    return of_seed.apply(lambda column: column.groupby([*CELL, "kind"], sort=False).apply(ratio_mean))


def loss_against(rows: Table, others: Table) -> Table:
    """``difference``: held-out loss after training minus that of the network that differs in the norm alone."""
    final, other = (after_training(each).drop_duplicates([*CELL, "seed"]) for each in (rows, others))
    pairs = final.merge(other, on=[*CELL[1:], "seed"], suffixes=("", "_other"))
    return pairs.assign(difference=pairs["held_out_loss"] - pairs["held_out_loss_other"])


def paired_losses(study: Table) -> Table:
    """``difference``: held-out loss of LayerNorm minus that of RMSNorm, for each cell and seed."""
    return loss_against(study[study["norm"] == "layer"], study[study["norm"] == "rms"])


def pooled_loss(pairs: Table) -> SeedMean:
    """Mean of all differences; cells share their seeds, so that these are the independent units."""
    by_seed = pairs.groupby("seed")["difference"].agg(["sum", "count"])
    return SeedMean(*ratio_interval(*by_seed.to_numpy().T, floor=-math.inf), len(by_seed))


def equivalence(mean: SeedMean) -> str:
    r"""Test of a mean of paired losses at 5 %: ``"equivalent"``, ``"different"``, both, or ``"undecided"``.

    Equivalent where the 90 % interval of the mean lies within ±:data:`MARGIN`, which is two one-sided tests at 5 %
    (Schuirmann 1987); different where the 95 % interval does not contain 0. A small difference can be both.
    """
    if mean.seeds < 2:
        return "undecided"
    narrow = (mean.high - mean.mean) * student(mean.seeds - 1, 0.9) / student(mean.seeds - 1)
    answers = {"equivalent": abs(mean.mean) + narrow <= MARGIN, "different": not mean.low <= 0 <= mean.high}
    return ", and ".join(word for word, holds in answers.items() if holds) or "undecided"
