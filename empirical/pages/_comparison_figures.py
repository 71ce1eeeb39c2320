"""Figures with one panel for each model."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..models import PUBLISHED
from ..observe import growth, stream
from ..support import Row
from ._measured import Measured
from ._style import NULL, RANDOM_A, UNIFORM, Layout, band, ordered_axis, panels
from ._sweep_figures import energies


def _entering(model: Measured) -> tuple[list[float], Sequence[Row]]:
    """Inputs of the blocks' norms, each vector once, and their places; the norm before the MLP is half a block on."""
    rows = [
        row
        for row in model.rows
        if row["side"] == "input" and row["bucket"] == "all" and row["layer"] is not None
        if row["same_input_as"] is None and row["tokens"] > 0
    ]
    return [row["layer"] + (0.5 if row["role"] == "pre_mlp" else 0) for row in rows], rows


def _angles(axes: Axes, model: Measured) -> None:
    ordered_axis(axes, "block")
    places, rows = _entering(model)
    published = PUBLISHED[model.name].hidden_angle
    width = published.std or 0.0
    low, high = published.mean - width, published.mean + width
    axes.axhspan(low, high, color=NULL, alpha=0.18, lw=0, label="published: mean ± std over all layers")
    axes.axhline(published.mean, color=NULL, ls="--", lw=1)
    means, spreads = (np.array([row[name] for row in rows]) for name in ("angle_mean_deg", "angle_std_deg"))
    band(axes, places, means, spreads, color=UNIFORM, label="measured: mean ± std over tokens")


def _energies(axes: Axes, model: Measured) -> None:
    ordered_axis(axes, "block")
    energies(axes, *_entering(model))


def _norms(axes: Axes, model: Measured) -> None:
    ordered_axis(axes, "depth: blocks passed")
    measured = stream(model.rows)
    if measured.reason:
        axes.text(0.5, 0.5, "no stream that can grow", ha="center", va="center", transform=axes.transAxes)
        return
    axes.set_yscale("log")
    styles = {"exponential": (UNIFORM, "-"), "power": (RANDOM_A, "--")}
    for fit in growth(model.rows):
        if fit.first_depth == 1 and fit.estimate is not None and fit.last_depth is not None:
            depths = np.arange(fit.first_depth, fit.last_depth + 1)
            color, dashes = styles[fit.law]
            axes.plot(depths, fit.norms(depths), color=color, ls=dashes, label=f"{fit.law} law, from depth 1")
    axes.plot(measured.norms, color=NULL, marker="o", markersize=3, lw=0, label="mean norm")


_FIGURES: dict[str, tuple[Callable[[Axes, Measured], None], str]] = {
    "angles": (_angles, "angle to 1 in degrees"),
    "energy": (_energies, "d·E[cos²θ]"),
    "growth": (_norms, "norm of the stream"),
}
"""How each figure is drawn, and its vertical axis."""


def comparison_figures(models: Sequence[Measured]) -> dict[str, Figure]:
    """All figures of a comparison by name; empty for no models."""
    contents = [(model.label, model) for model in models]
    return {
        name: panels(contents, draw, Layout((3.1, 2.9), 4, label, sharey=False))
        for name, (draw, label) in _FIGURES.items()
        if models
    }
