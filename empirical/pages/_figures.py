"""Figures of a run: angles to the uniform direction and energy along it, layer by layer; growth over depth."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from ..observe import LAWS, Growth, growth, stream
from ..support import replacing
from ._console import growth_words
from ._style import NEUTRAL, RANDOM_A, RANDOM_B, STYLE, UNIFORM, label_decades

Row = dict[str, Any]
_Panel = tuple[str, list[Row], list[Row]]

ROLES = {
    "pre_attn": "norm before the attention",
    "pre_mlp": "norm before the MLP",
    "pre_both": "norm before attention and MLP",
    "post_attn": "norm after the attention",
    "post_mlp": "norm after the MLP",
    "embedding": "norm after the embeddings",
    "final": "final norm",
    "norm": "norm",
}
"""What a norm layer stands for, in words."""


_LINES = (
    ("random direction ã", "random_a_angle", RANDOM_A, "s"),
    ("random direction b̃", "random_b_angle", RANDOM_B, "^"),
    ("uniform direction 1", "angle", UNIFORM, "o"),
)


def _panels(rows: Sequence[Row], side: str) -> list[_Panel]:
    """For each role in the blocks: its title, its rows by layer, and the rows outside the blocks shown with it."""
    of_side = [row for row in rows if row["side"] == side and row["bucket"] == "all"]
    shown = [row for row in of_side if row["tokens"] > 0]
    # A role keeps its panel where no token has a direction (gains all zero), so that both sides have as many.
    roles = dict.fromkeys(row["role"] for row in of_side if row["layer"] is not None)
    single = [row for row in shown if row["layer"] is None]
    if not roles:
        return [("norm layers outside the blocks", [], single)]
    panels = []
    for index, role in enumerate(roles):
        of_role = [row for row in shown if row["role"] == role and row["layer"] is not None]
        panels.append((ROLES[role], of_role, [] if index else single))
    return panels


def _place(row: Row, blocks: int) -> int:
    """Where a norm stands on the axis of layers: the final one after the last block, others before the first."""
    if row["layer"] is not None:
        return row["layer"]
    return blocks if row["role"] == "final" else -1


def _layer_axis(axes: Axes, rows: Sequence[Row], single: Sequence[Row]) -> int:
    blocks = 1 + max((row["layer"] for row in rows), default=-1)
    names = {_place(row, blocks): row["role"] for row in single}
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: names.get(x, f"{x:g}")))
    axes.set_xlim(min([*names, 0]) - 0.6, max([*names, blocks - 1]) + 0.6)
    axes.set_xlabel("layer" + (" (rightmost: final norm)" if blocks in names else ""))
    return blocks


def _draw_row(all_axes: Sequence[Axes], panels: Sequence[_Panel], draw: Callable[..., None], label: str) -> None:
    """One panel beside another, with one label for all of them."""
    for axes, (name, in_blocks, single) in zip(all_axes, panels, strict=True):
        draw(axes, in_blocks, single, _layer_axis(axes, in_blocks, single))
        axes.set_title(name)
    all_axes[0].set_ylabel(label)


def _legend(figure: FigureBase, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def angle_figure(rows: Sequence[Row], side: str, title: str) -> Figure:
    """Mean and spread of the angle by layer, to 1 and to two random directions, before or after the norm.

    Like figures 3, 4 and 6 of Gupta et al., arXiv:2409.12951, with what isotropic vectors would give: 90° with a
    standard deviation of 57.3°/√d.
    """
    panels = _panels(rows, side)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(5.4, 4.9 * len(panels)), 4.1), layout="constrained")
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        _draw_row(all_axes, panels, _angles, "angle (degrees): mean ± standard deviation")
        figure.suptitle(title, fontsize=12)
        _legend(figure, all_axes[0])
    return figure


def _angles(axes: Axes, rows: Sequence[Row], single: Sequence[Row], blocks: int) -> None:
    shown = [*rows, *single]
    if shown:
        spread = math.degrees(1 / math.sqrt(shown[0]["d"]))
        axes.axhspan(
            90 - spread, 90 + spread, color=NEUTRAL, alpha=0.16, linewidth=0, label=f"isotropic: 90° ± {spread:.2f}°"
        )
    else:
        _say_nothing_counts(axes)
    axes.axhline(90, color=NEUTRAL, linewidth=0.8, linestyle=(0, (4, 3)))
    for name, column, color, marker in _LINES:
        means, spreads = ([row[f"{column}_{what}_deg"] for row in shown] for what in ("mean", "std"))
        if rows:
            places = [_place(row, blocks) for row in rows]
            low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
            high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
            axes.fill_between(places, low[: len(rows)], high[: len(rows)], color=color, alpha=0.18, linewidth=0)
            axes.plot(places, means[: len(rows)], color=color, marker=marker, label=name)
        for index, row in enumerate(single, start=len(rows)):
            axes.errorbar(
                _place(row, blocks),
                means[index],
                spreads[index],
                color=color,
                marker=marker,
                markerfacecolor="white",
                markersize=6,
                capsize=3,
                linewidth=1.2,
                label=None if index else name,
            )


def _say_nothing_counts(axes: Axes) -> None:
    axes.text(0.5, 0.4, "no finite hidden state", ha="center", va="center", transform=axes.transAxes)


def energy_figure(rows: Sequence[Row], title: str) -> Figure:
    """d·E[cos²θ] by layer, log scale: the uniform direction among the random ones, before and after the norm."""
    sides = [
        [(f"{name}: {side}", in_blocks, single) for name, in_blocks, single in _panels(rows, side)]
        for side in ("input", "output")
    ]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(5.4, 4.9 * len(sides[0])), 6.8), layout="constrained")
        grid = figure.subplots(2, len(sides[0]), sharey=True, squeeze=False)
        for all_axes, panels in zip(grid, sides, strict=True):
            _draw_row(all_axes, panels, _energy, "d·E[cos²θ]")
        figure.suptitle(title, fontsize=12)
        _legend(figure, grid.flat[0])
    return figure


def _energy(axes: Axes, rows: Sequence[Row], single: Sequence[Row], blocks: int) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.axhline(1, color=NEUTRAL, linewidth=0.8, linestyle=(0, (4, 3)), label="isotropic: 1")
    if not rows and not single:
        _say_nothing_counts(axes)
    everything = sorted([*rows, *single], key=lambda row: _place(row, blocks))
    places = [_place(row, blocks) for row in everything]
    axes.fill_between(
        places,
        [row["random_d_cos2_low"] for row in everything],
        [row["random_d_cos2_high"] for row in everything],
        color=RANDOM_A,
        alpha=0.22,
        linewidth=0,
        label="random directions: 5 % to 95 %",
    )
    medians = [row["random_d_cos2_median"] for row in everything]
    axes.plot(places, medians, color=RANDOM_A, linestyle=(0, (5, 2)), label="random directions: median")
    values = [row["d_cos2"] for row in everything]
    axes.errorbar(
        places,
        values,
        _reach(everything),
        color=UNIFORM,
        marker="o",
        capsize=2,
        elinewidth=1,
        label="uniform direction 1, 95 % interval",
    )


def _reach(rows: Sequence[Row]) -> list[list[float]]:
    """Lengths of the error bars; none where a single sequence gives no interval, and none down to 0 on a log axis."""
    below = [row["d_cos2"] - max(row["d_cos2_low"], row["d_cos2"] / 100) for row in rows]
    above = [row["d_cos2_high"] - row["d_cos2"] for row in rows]
    finite = [math.isfinite(reach) for reach in above]
    return [[reach if ok else 0.0 for reach, ok in zip(reaches, finite, strict=True)] for reaches in (below, above)]


def layer_figure(rows: Sequence[Row], title: str) -> Figure:
    """What enters the norms, layer by layer: the angle above, and below it the energy along the same directions.

    One above the other they show what a mean angle cannot: it can be 90° where the energy is far from 1.
    """
    panels = _panels(rows, "input")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(5.4, 4.9 * len(panels)), 7.6), layout="constrained")
        halves: Any = figure.subfigures(2, 1)
        for half, draw, label in (
            (halves[0], _angles, "angle (degrees): mean ± spread"),
            (halves[1], _energy, "d·E[cos²θ]"),
        ):
            all_axes = half.subplots(1, len(panels), sharey=True, squeeze=False)[0]
            _draw_row(all_axes, panels, draw, label)
            _legend(half, all_axes[0])
        figure.suptitle(title, fontsize=12)
    return figure


def growth_figure(rows: Sequence[Row], title: str) -> Figure | None:
    """Norm of the stream by depth on a log axis, with each law where it is a straight line; None without a stream."""
    found, fits = stream(rows), growth(rows)
    if found.reason:
        return None
    depths = np.arange(len(found.norms))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.2, 4.3), layout="constrained")
        panels = figure.subplots(1, len(LAWS), sharey=True)
        for axes, law in zip(panels, LAWS, strict=True):
            axes.set_yscale("log")
            for fit in fits:
                if fit.law == law and fit.estimate is not None:
                    _draw_law(axes, fit)
            axes.plot(depths, found.norms, color=NEUTRAL, marker="o", linewidth=0, label="mean norm", zorder=3)
            axes.set_title(f"{law} law")
            axes.legend(loc="lower right")
            _depth_axis(axes, law, len(depths) - 1)
        # Bands may reach far beyond what was measured.
        panels[0].set_ylim(found.norms.min() / 3, found.norms.max() * 2)
        label_decades(panels[0])
        panels[0].set_ylabel("norm of the residual stream")
        figure.suptitle(title, fontsize=12)
    return figure


def _depth_axis(axes: Axes, law: str, last: int) -> None:
    if law == "exponential":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        doubled = [2**power - 1 for power in range(int(math.log2(last + 1)) + 1)]
        axes.xaxis.set_major_locator(FixedLocator([*doubled, last] if last > 1.25 * doubled[-1] else doubled))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("depth: blocks passed" + (", axis in log(depth + 1)" if law == "power" else ""))


def _draw_law(axes: Axes, fit: Growth) -> None:
    assert fit.last_depth is not None
    color = (RANDOM_A, UNIFORM)[fit.first_depth]
    depths = np.arange(fit.first_depth, fit.last_depth + 1)
    low, high = fit.band(depths)
    if np.isfinite(high).all():
        axes.fill_between(depths, low, high, color=color, alpha=0.16, linewidth=0)
    axes.plot(depths, fit.norms(depths), color=color, label=f"from {fit.first_depth}: {growth_words(fit)}")


def figures(rows: Sequence[Row], subject: str) -> dict[str, Figure]:
    """All figures of a run by name; that of the growth only where there is a stream that can grow."""
    drawn = {
        "angle_before": angle_figure(rows, "input", f"Angle of hidden states before the norm: {subject}"),
        "angle_after": angle_figure(rows, "output", f"Angle of hidden states after the norm: {subject}"),
        "energy": energy_figure(rows, f"Energy along the uniform direction: {subject}"),
        "growth": growth_figure(rows, f"Norm of the residual stream over depth: {subject}"),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def draw_figures(rows: Sequence[Row], directory: Path, manifest: dict[str, Any]) -> list[Path]:
    """Draw the figures of a run as SVG files into its directory; returns their paths."""
    paths = []
    for name, figure in figures(rows, subject_of(manifest)).items():
        path = directory / f"{name}.svg"
        with matplotlib.rc_context(STYLE), replacing(path) as draft:
            figure.savefig(draft, format="svg", metadata={"Date": None})
        paths.append(path)
    return paths


def subject_of(manifest: dict[str, Any]) -> str:
    """What a run measured, in a few words."""
    weights = ", random weights" if str(manifest["weights"]).startswith("random") else ""
    tokens = manifest.get("tokens_measured", manifest["tokens"])
    return f"{manifest['model']}{weights}, {tokens:,} tokens"
