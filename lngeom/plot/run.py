"""Angles, energies and outliers of a finished run, norm layer by norm layer, from the rows of its ``sites.csv``.

`table` is what :func:`lngeom.empirical.observe.read_sites` or ``pandas.read_csv`` makes of that file, or some of its
rows; those of one `side` of the norms are drawn, over all positions. `ax` is a flat axis of Matplotlib.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..colors import NULL, PURPLE, RANDOM_A, RANDOM_B, UNIFORM
from ..errors import InputError
from .space import new_axes

Row = dict[str, Any]

_DIRECTIONS = (
    ("random direction ã", "random_a_angle", RANDOM_A, "s"),
    ("random direction b̃", "random_b_angle", RANDOM_B, "^"),
    ("all-ones vector", "angle", UNIFORM, "o"),
)
_DASHES = (0, (4, 3))


def rounding_level(d: int) -> float:
    """The largest d·cos²θ that rounding alone explains, for a vector of float32 that is orthogonal to 1.

    Rounding the components moves 1·y by u‖y‖₁ at most, and adding them in pairs by u log₂d ‖y‖₁ more; ‖y‖₁ ≤ √d ‖y‖.
    """
    return d * ((1 + math.log2(d)) * 2**-24) ** 2


def _opened(table: Any, side: str, ax: Any, *columns: str) -> tuple[Any, list[Row]]:
    """The axis, with the blocks of the norms below it, and the rows that were measured on that side."""
    rows: Iterable[Mapping[str, Any]] = table.to_dict("records") if hasattr(table, "to_dict") else table
    # An empty cell is a NaN for pandas.
    known: list[Row] = [{name: None if value != value else value for name, value in row.items()} for row in rows]
    if missing := sorted({name for row in known[:1] for name in ("side", "bucket", "tokens", *columns)} - {*known[0]}):
        raise InputError(f"table has no column {', '.join(missing)}: pass the rows of sites.csv of a run")
    chosen = [row for row in known if (row["side"], row["bucket"]) == (side, "all") and row["tokens"] > 0]
    axes = new_axes() if ax is None else ax
    names = [row["role"] if row["layer"] is None else f"{row['layer']:g}" for row in chosen]
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.xaxis.set_major_formatter(lambda x, _: names[int(x)] if x in range(len(names)) else "")
    axes.set_xlabel("block" + " (rightmost: the final norm)" * (names[-1:] == ["final"]))
    axes.margins(x=0.03)
    if not chosen:
        axes.text(0.5, 0.4, "no finite hidden state", ha="center", va="center", transform=axes.transAxes)
    return axes, chosen


def angles(table: Any, side: str = "input", *, ax: Any = None) -> Any:
    """Draw mean and standard deviation of the angle to 1 and to two random directions, in degrees, norm by norm.

    The grey band is that of isotropic vectors, 90° ± 57.3°/√d. Like figures 3, 4 and 6 of Gupta et al.,
    arXiv:2409.12951. `side` is "input" or "output". Returns the axis. Raises InputError if a column is missing.
    """
    means = [f"{column}_{end}_deg" for _, column, *_ in _DIRECTIONS for end in ("mean", "std")]
    axes, rows = _opened(table, side, ax, *means)
    for row in rows[:1]:
        spread = math.degrees(1 / math.sqrt(row["d"]))
        label = f"isotropic: 90° ± {spread:.2f}°"
        axes.axhspan(90 - spread, 90 + spread, color=NULL, alpha=0.16, linewidth=0, label=label)
    axes.axhline(90, color=NULL, linewidth=0.8, linestyle=_DASHES)
    for name, column, color, marker in _DIRECTIONS if rows else ():
        mean, spread = (np.array([row[f"{column}_{end}_deg"] for row in rows], float) for end in ("mean", "std"))
        axes.plot(mean, color=color, marker=marker, label=name)
        axes.fill_between(range(len(rows)), mean - spread, mean + spread, color=color, alpha=0.18, linewidth=0)
    axes.set_ylabel("angle (degrees): mean ± std. deviation")
    return axes


def energies(table: Any, side: str = "input", *, ax: Any = None) -> Any:
    """Draw the energy d·E[cos²θ] along 1 with its 95 % interval, among those along random directions, on a log scale.

    Isotropic vectors have 1. What rounding alone explains leaves a gap. `side` is "input" or "output". Returns the
    axis. Raises InputError if a column is missing.
    """
    null = [f"random_d_cos2_{name}" for name in ("low", "median", "high")]
    axes, rows = _opened(table, side, ax, "d_cos2", "d_cos2_low", "d_cos2_high", "sign_d_cos2_median", *null)
    places = range(len(rows))
    axes.set_yscale("log")
    axes.axhline(1, color=NULL, linewidth=0.8, linestyle=_DASHES, label="isotropic: 1")
    low, median, high, signs, value, least, most = (
        np.array([row[name] for row in rows], float)
        for name in (*null, "sign_d_cos2_median", "d_cos2", "d_cos2_low", "d_cos2_high")
    )
    value[[row["d_cos2"] <= rounding_level(row["d"]) for row in rows]] = np.nan
    axes.fill_between(
        places, low, high, color=RANDOM_A, alpha=0.22, linewidth=0, label="random directions: 5 % to 95 %"
    )
    axes.plot(places, median, color=RANDOM_A, linestyle=(0, (5, 2)), label="random: median")
    axes.plot(places, signs, color=RANDOM_B, linestyle=(0, (1, 2)), label="sign vectors: median")
    axes.plot(places, value, color=UNIFORM, marker="o", markersize=3, label="all-ones vector")
    # A single sequence gives no interval, and a log axis has no 0.
    ends = np.array([value - np.maximum(least, value / 100), most - value])
    style = {"fmt": "none", "color": UNIFORM, "capsize": 2, "elinewidth": 1, "label": "its 95 % interval"}
    axes.errorbar(places, value, np.where(np.isfinite(most), ends, np.nan), **style)
    axes.set_ylabel("energy d·E[cos²θ]")
    return axes


def outliers(table: Any, side: str = "input", *, ax: Any = None) -> Any:
    """Draw how far the longest vector, and where the run has it the largest component, exceed the average.

    The longest vector in mean norms, max ‖x‖/mean ‖x‖; of the inputs the mean square of the largest component over that
    of all, d·Σx_i²/Σ‖x‖². Both are at least 1. `side` is "input" or "output". Returns the axis. Raises InputError if a
    column is missing.
    """
    axes, rows = _opened(table, side, ax, "norm_mean", "norm_max")
    axes.set_yscale("log")
    longest = [row["norm_max"] / row["norm_mean"] if row["norm_mean"] else math.nan for row in rows]
    axes.plot(longest, color=UNIFORM, marker="o", markersize=3, label="largest / mean ‖x‖")
    if any(row.get("top_1_share") is not None for row in rows):
        share = [row["d"] * (math.nan if row["top_1_share"] is None else row["top_1_share"]) for row in rows]
        axes.plot(share, color=PURPLE, marker="s", markersize=3, label="largest / mean x_i²")
    axes.set_ylabel("outliers, in averages")
    return axes
