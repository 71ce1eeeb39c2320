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

from lngeom.colors import NULL
from lngeom.empirical.pages import panels, write_figure

from .network import Recipe
from .run import DIRECTIONS

Table = Any
"""A DataFrame of pandas, or a Series, neither of which its annotations describe well enough to be checked."""

KEY = [field.name for field in fields(Recipe)]
GROUP, BOUNDS = ["place", "embeddings"], ["mean", "low", "high"]


def finished(output: Path) -> Table:
    """Rows of the finished runs, each run once: of those in a directory, and of those that its table has."""
    paths = [*output.glob("runs.csv"), *sorted(output.glob("*/rows.csv"))]
    parts = [pd.read_csv(path, dtype={"text": str}) for path in paths] or [pd.DataFrame(columns=[*KEY, "step", "site"])]
    return pd.concat(parts, ignore_index=True).drop_duplicates([*KEY, "step", "site"])


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


def interval(values: Table, level: float = 0.95) -> list[float]:
    """Mean and Student's interval."""
    return [np.mean(values), *stats.ttest_1samp(values, 0).confidence_interval(level)]


def verdict(differences: Table, margin: float) -> str:
    """Of paired differences, by two one-sided tests at 5 % (Schuirmann 1987), or else by one with two sides."""
    if max(map(abs, interval(differences, 0.9))) < margin:
        return "equivalent"
    _, low, high = interval(differences)
    return "not distinguished" if low <= 0 <= high else "different"


def chance_of_ranks(ranks: Sequence[int], directions: int) -> float:
    r"""Bound on the probability of ranks that lean so far to one side, if 1 were a direction like the others.

    Each rank r among K is uniform on 0, ..., K then, and (r + 1)/(K + 1) dominates a uniform number on [0, 1].
    """
    sides = sum(rank + 1 for rank in ranks), sum(directions + 1 - rank for rank in ranks)
    return min(1.0, 2 * float(stats.irwinhall(len(ranks)).cdf(min(sides) / (directions + 1))))


def losses(rows: Table) -> Table:
    """Losses of each cell over seeds: the test loss with its 95 % interval and its largest value."""
    cells = rows.drop_duplicates(KEY).groupby([*GROUP, "norm", "rate"], sort=False)
    test = cells["test_loss"].apply(lambda each: pd.Series(interval(each), BOUNDS)).unstack()
    extra = {"worst": cells["test_loss"].max(), "validation": cells["validation_loss"].mean(), "seeds": cells.size()}
    return test.assign(**extra).reset_index()


def comparisons(rows: Table) -> Table:
    """Differences of the test loss to LayerNorm, paired by seed: each norm at its own best rate, and both at each rate.

    The margin is a tenth of what having no norm changes, if its 95 % interval does not contain 0. ``bonferroni``: the
    p-values times their number.
    """
    runs, made = rows.drop_duplicates(KEY), []
    runs = pd.concat([at_best_rate(runs).assign(rate="best"), runs.assign(rate=runs["rate"].map("{:g}".format))])
    tests = runs.pivot_table(index=[*GROUP, "rate", "seed"], columns="norm", values="test_loss", sort=False)
    cells: Any = tests.groupby([*GROUP, "rate"], sort=False)
    for cell, each in cells:
        margin = math.nan
        for norm in ("none", "RMSNorm"):
            differences = (each[norm] - each["LayerNorm"]).dropna()
            if len(differences):
                mean, low, high = interval(differences)
                ends = [mean, low, high, *interval(differences, 0.9)[1:], margin, verdict(differences, margin)]
                test: Any = stats.ttest_1samp(differences, 0)
                made.append([*cell, norm, len(differences), *ends, test.pvalue])
                margin = abs(mean) / 10 if cell[-1] == "best" and not low <= 0 <= high else math.nan
    columns = [*GROUP, "rate", "norm", "seeds", *BOUNDS, "low90", "high90", "margin", "verdict", "p"]
    return pd.DataFrame(made, columns=columns).assign(bonferroni=lambda table: (table["p"] * len(table)).clip(upper=1))


def ranks(rows: Table) -> Table:
    """Energy along 1 before the final norm after training at the best rate, and its ranks seed by seed.

    ``bonferroni``: :func:`chance_of_ranks` times the number of rows.
    """
    final, made = at_best_rate(rows).query("site == 'final_norm' and step == steps"), []
    for cell, runs in final.groupby([*GROUP, "norm"], sort=False):
        for states in ("", "centred_"):
            found = [*runs[f"{states}rank"]]
            energy = np.exp(interval(np.log(runs[f"{states}energy"])))
            made.append([*cell, states, *energy, " ".join(map(str, found)), chance_of_ranks(found, DIRECTIONS)])
    table = pd.DataFrame(made, columns=[*GROUP, "norm", "states", *BOUNDS, "ranks", "chance"])
    return table.assign(bonferroni=(table["chance"] * len(table)).clip(upper=1))


def energy_figure(rows: Table) -> Any:
    """d·E[cos²θ] of 1 over steps, a line per norm layer, a panel per group and norm, at the best learning rate."""

    def draw(axes: Axes, some: Table) -> None:
        lines = some.pivot_table(index="step", columns="site", values="energy", aggfunc=stats.gmean, sort=False)
        axes.set_prop_cycle(color=matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(lines.columns))))
        axes.plot(lines.index, lines, label=[*lines.columns])
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set(yscale="log", ylim=(1e-3, 3), xlabel="step")  # behind LayerNorm it begins at rounding
        axes.set_xscale("symlog", linthresh=1)

    groups = at_best_rate(rows).groupby([*GROUP, "norm"], sort=False)
    contents = [(", ".join(cell[::-1]), some) for cell, some in groups]
    return panels(contents, draw, (4, 2.8), "d·E[cos²θ] of 1", columns=3, shared=True)


def write_results(output: Path) -> None:
    """Write the rows of all finished runs, and the tables and the figure of the seeds that are whole."""
    rows = finished(output)
    rows.to_csv(output / "runs.csv", index=False, float_format="%.7g")
    for table in (losses, comparisons, ranks):
        table(whole(rows)).to_csv(output / f"{table.__name__}.csv", index=False, float_format="%.5g")
    write_figure(energy_figure(whole(rows)), output / "steps.svg")
