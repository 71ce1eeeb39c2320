"""Figures with one panel for each model."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..models import PUBLISHED
from ..observe import growth, stream
from ._measured import Measured
from ._style import NEUTRAL, RANDOM_A, STYLE, UNIFORM, label_decades

Row = dict[str, Any]
_COLUMNS = 4


def _panels(models: Sequence[Measured], draw: Callable[[Axes, Measured], None], label: str, axis: str) -> Figure:
    with matplotlib.rc_context(STYLE):
        columns = min(_COLUMNS, len(models))
        lines = -(-len(models) // columns)
        figure = Figure(figsize=(max(5.4, 2.9 * columns), 0.5 + 2.7 * lines), layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False).reshape(-1)
        for panel in panels[len(models) :]:
            panel.set_visible(False)
        for panel, model in zip(panels, models, strict=False):
            draw(panel, model)
            if panel.get_yscale() == "log":
                label_decades(panel)
            panel.set(title=model.label, xlabel=axis)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        for panel in panels[::columns]:
            panel.set_ylabel(label)
        handles: dict[str, Any] = {}
        for panel in panels[: len(models)]:
            found, names = panel.get_legend_handles_labels()
            handles |= dict(zip(names, found, strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    return figure


def _entering(model: Measured) -> tuple[list[float], list[Row]]:
    """What enters the norms of the blocks, each vector once, and where; the norm before the MLP is half a block on."""
    chosen = [
        row
        for row in model.rows
        if row["side"] == "input" and row["bucket"] == "all" and row["layer"] is not None
        if row["same_input_as"] is None and row["tokens"] > 0
    ]
    return [row["layer"] + (0.5 if row["role"] == "pre_mlp" else 0) for row in chosen], chosen


def _angles(axes: Axes, model: Measured) -> None:
    places, rows = _entering(model)
    means, spreads = (np.array([row[name] for row in rows]) for name in ("angle_mean_deg", "angle_std_deg"))
    published = PUBLISHED[model.name].hidden_angle
    width = published.std or 0.0
    low, high = published.mean - width, published.mean + width
    axes.axhspan(low, high, color=NEUTRAL, alpha=0.18, lw=0, label="published: mean ± std over all layers")
    axes.axhline(published.mean, color=NEUTRAL, ls="--", lw=1)
    axes.fill_between(places, means - spreads, means + spreads, color=UNIFORM, alpha=0.2, lw=0)
    axes.plot(places, means, color=UNIFORM, label="measured: mean ± std over tokens")


def _energy(axes: Axes, model: Measured) -> None:
    places, rows = _entering(model)
    axes.set_yscale("log")
    low, high, median, values = (
        np.array([row[name] for row in rows])
        for name in ("random_d_cos2_low", "random_d_cos2_high", "random_d_cos2_median", "d_cos2")
    )
    axes.axhline(1, color=NEUTRAL, lw=0.8, ls=(0, (4, 3)), label="isotropic: 1")
    axes.fill_between(places, low, high, color=RANDOM_A, alpha=0.22, lw=0, label="random directions: 5 % to 95 %")
    axes.plot(places, median, color=RANDOM_A, ls=(0, (5, 2)), label="their median")
    axes.plot(places, values, color=UNIFORM, marker="o", markersize=2.5, label="uniform direction 1")


def _norms(axes: Axes, model: Measured) -> None:
    found, fits = stream(model.rows), growth(model.rows)
    if found.reason:
        axes.text(0.5, 0.5, "no stream that can grow", ha="center", va="center", transform=axes.transAxes)
        return
    axes.set_yscale("log")
    styles = {"exponential": (UNIFORM, "-"), "power": (RANDOM_A, "--")}
    for fit in fits:
        if fit.first_depth == 1 and fit.estimate is not None and fit.last_depth is not None:
            depths = np.arange(fit.first_depth, fit.last_depth + 1)
            color, dashes = styles[fit.law]
            axes.plot(depths, fit.norms(depths), color=color, ls=dashes, label=f"{fit.law} law, from depth 1")
    axes.plot(np.arange(len(found.norms)), found.norms, color=NEUTRAL, marker="o", ms=2.5, lw=0, label="mean norm")


FIGURES: dict[str, tuple[Callable[[Axes, Measured], None], str, str, str]] = {
    "angles": (
        _angles, "angle to 1 in degrees", "block",
        "Angle of the hidden states to the uniform vector 1, block by block, and the published mean and standard "
        "deviation over all layers.",
    ),
    "energy": (
        _energy, "d·E[cos²θ]", "block",
        "Energy of the hidden states along 1, d·E[cos²θ], among that along random directions: 1 for isotropic vectors. "
        "A mean angle of 90° does not tell it.",
    ),
    "growth": (
        _norms, "norm of the stream", "depth: blocks passed",
        "Mean norm of the residual stream after each block, position 0 of the sequences left out, and the two laws of "
        "growth.",
    ),
}  # fmt: skip
"""How each figure is drawn, its axes, and what it shows."""


def comparison_figures(models: Sequence[Measured]) -> dict[str, Figure]:
    """All figures of a comparison by name; of no model, none."""
    if not models:
        return {}
    return {name: _panels(models, draw, label, axis) for name, (draw, label, axis, _) in FIGURES.items()}
