"""Results of the study from the rows of its runs: losses, comparisons, ranks, and the figure."""

import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from lngeom.empirical.observe import student
from lngeom.empirical.pages import NULL, Layout, panels, write_figure

from .recipe import Recipe
from .run import DIRECTIONS

Table = Any
"""A DataFrame of pandas, or a Series, neither of which its annotations describe well enough to be checked."""

KEY, GROUP = [field.name for field in fields(Recipe)], ["place", "embeddings"]


def read_rows(paths: list[Path]) -> Table:
    """Rows of finished runs, each run once."""
    parts = [pd.read_csv(path, dtype={"text": str}, float_precision="round_trip") for path in paths]
    return (
        pd.concat(parts, ignore_index=True).drop_duplicates([*KEY, "step", "site"])
        if parts
        else pd.DataFrame(columns=KEY)
    )


def whole(rows: Table) -> Table:
    """The rows of those seeds that have all norms and rates of their place: all means are over equal seeds."""
    cells = rows.drop_duplicates(["place", "norm", "rate"]).groupby("place").size()
    seeds = rows.drop_duplicates(KEY).groupby([*GROUP, "seed"]).size().rename("runs")
    return rows[rows.join(seeds, on=[*GROUP, "seed"])["runs"] == rows["place"].map(cells)]


def at_best_rate(rows: Table) -> Table:
    """The rows at the learning rate of the least mean validation loss of each group and norm."""
    cells = [*GROUP, "norm", "rate"]
    means = rows.drop_duplicates(KEY).groupby(cells)["validation_loss"].mean()
    return rows.set_index(cells).loc[list(means.groupby(cells[:-1]).idxmin())].reset_index()


def interval(values: Table, level: float = 0.95) -> tuple[float, float, float]:
    """Mean and Student's interval, unbounded for one value."""
    mean, count = float(np.mean(values)), len(values)
    half = student(count - 1, level) * float(np.std(values, ddof=1)) / count**0.5 if count > 1 else math.inf
    return mean, mean - half, mean + half


def verdict(differences: Table, margin: float) -> str:
    """Of paired differences at 5 %: ``equivalent``, ``different`` or ``not distinguished``.

    Equivalent: the 90 % interval is within ± the margin, two one-sided tests at 5 % (Schuirmann 1987). Else different:
    the 95 % interval does not contain 0. Without a margin (NaN) nothing is equivalent.
    """
    if max(map(abs, interval(differences, 0.9))) < margin:
        return "equivalent"
    _, low, high = interval(differences)
    return "not distinguished" if low <= 0 <= high else "different"


def holm(values: Sequence[float]) -> np.ndarray:
    """Adjusted p-values of Holm: each times how many are not smaller, and never falling."""
    order, adjusted = np.argsort(values), np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(np.sort(values) * np.arange(len(values), 0, -1)).clip(max=1)
    return adjusted


def chance_of_ranks(ranks: Sequence[int], directions: int) -> float:
    r"""Bound on the probability of ranks that lean so far to one side, if 1 were a direction like the others.

    Then each rank r among K directions is uniform on 0, ..., K, and (r + 1)/(K + 1) stochastically dominates a uniform
    number on [0, 1]. The sum s of n independent ones has the distribution function of
    Irwin and Hall, Σ_k (−1)^k C(n, k)(s − k)₊^n / n!. Twice the smaller of both sides.
    """
    count, parts = len(ranks), directions + 1
    low = min(sum(int(rank) + 1 for rank in ranks), sum(parts - int(rank) for rank in ranks))
    # Integers throughout: the alternating sum cancels.
    terms = ((-1) ** k * math.comb(count, k) * max(0, low - k * parts) ** count for k in range(count + 1))
    return min(1.0, 2 * sum(terms) / (parts**count * math.factorial(count)))


def losses(rows: Table) -> Table:
    """Mean losses of each cell over seeds, with the 95 % interval of the test loss and its largest value."""
    test = rows.drop_duplicates(KEY).groupby([*GROUP, "norm", "rate"], sort=False)
    ends = pd.DataFrame([interval(each["test_loss"]) for _, each in test], test.size().index, ["test", "low", "high"])
    return ends.assign(
        worst=test["test_loss"].max(), validation=test["validation_loss"].mean(), seeds=test.size()
    ).reset_index()


def comparisons(rows: Table) -> Table:
    """Differences of the test loss to LayerNorm, paired by seed: each norm at its own best rate, and both at each rate.

    The margin is a tenth of what having no norm changes, if its 95 % interval does not contain 0.
    """
    made: list[dict[str, Any]] = []
    runs = rows.drop_duplicates(KEY)
    for rate, some in [("best", at_best_rate(runs)), *((f"{rate:g}", some) for rate, some in runs.groupby("rate"))]:
        for group, cell in some.groupby(GROUP, sort=False):
            table, margin = cell.pivot_table(index="seed", columns="norm", values="test_loss"), math.nan
            for norm in table.columns.intersection(["none", "RMSNorm"])[::-1]:
                differences = table[norm] - table["LayerNorm"]
                mean, low, high = interval(differences)
                ends = dict(zip(("low90", "high90"), interval(differences, 0.9)[1:], strict=True))
                made.append({
                    **dict(zip(GROUP, group, strict=True)), "rate": rate, "norm": norm, "seeds": len(differences),
                    "difference": mean, "low": low, "high": high, **ends, "margin": margin,
                    "verdict": verdict(differences, margin), "p": stats.ttest_1samp(differences, 0).pvalue,
                })  # fmt: skip
                margin = abs(mean) / 10 if rate == "best" and not low <= 0 <= high else math.nan
    return pd.DataFrame(made).assign(holm=lambda table: holm(table["p"]))


def ranks(rows: Table) -> Table:
    """Energy along 1 before the final norm after training at the best rate, and its ranks seed by seed.

    ``chance``: :func:`chance_of_ranks`, adjusted by Holm over all rows.
    """
    made: list[dict[str, Any]] = []
    for cell, runs in at_best_rate(rows).query("site == 'final_norm' and step == steps").groupby([*GROUP, "norm"]):
        for states in ("", "centred_"):
            mean, low, high = np.exp(interval(np.log(runs[f"{states}energy"])))
            chance, found = (
                chance_of_ranks(runs[f"{states}rank"], DIRECTIONS),
                " ".join(map(str, runs[f"{states}rank"])),
            )
            energy = {"energy": mean, "low": low, "high": high, "ranks": found, "chance": chance}
            made.append(dict(zip([*GROUP, "norm"], cell, strict=True)) | {"states": states or "stored"} | energy)
    return pd.DataFrame(made).assign(chance=lambda table: holm(table["chance"]))


def energy_figure(rows: Table) -> Any:
    """d·E[cos²θ] of 1 over steps, a line per norm layer, a panel per group and norm, at the best learning rate."""

    def draw(axes: Axes, some: Table) -> None:
        lines = some.pivot_table(index="step", columns="site", values="energy", aggfunc=stats.gmean, sort=False)
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(lines.columns)))
        for colour, (site, line) in zip(colours, lines.items(), strict=True):
            axes.plot(lines.index, line, color=colour, label=str(site))
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set(yscale="log", xlabel="step")
        axes.set_xscale("symlog", linthresh=1)

    groups = at_best_rate(rows).groupby([*GROUP, "norm"], sort=False)
    contents = [(f"{norm}, {place}, {embeddings}", some) for (place, embeddings, norm), some in groups]
    return panels(contents, draw, Layout((4, 2.8), 3, "d·E[cos²θ] of 1", sharex=True, legend="beside"))


def write_results(rows: Table, output: Path) -> None:
    """Write the rows of all runs, and the tables and the figure of the seeds that are whole."""
    rows.to_csv(output / "runs.csv", index=False)
    for table in (losses, comparisons, ranks):
        table(whole(rows)).to_csv(output / f"{table.__name__}.csv", index=False, float_format="%.5g")
    write_figure(energy_figure(whole(rows)), output / "steps.svg")
