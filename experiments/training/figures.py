"""The figure of the study: d·E[cos²θ] of the uniform direction over steps."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lngeom.empirical.pages import NULL, Layout, panels

from .tables import CELL, NORM_NAMES, OPTIMIZER_NAMES, Table, at_tiny, over_seeds


def site_label(site: str) -> str:
    """What a norm feeds, and in which block."""
    if site == "ln_f":
        return "final norm"
    _, block, name = site.split(".")
    return f"block {block}, before {'attention' if name == 'ln_1' else 'MLP'}"


def cell_label(cell: Sequence[Any]) -> str:
    """Norm, optimizer and weight decay of a cell in words."""
    norm, optimizer, decay, *_ = cell
    return f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}"


def step_figure(study: Table) -> Figure:
    """d·E[cos²θ] of 1 over steps, a line per site, a panel per cell at ``tiny``; bands are intervals over seeds."""

    def draw(axes: Axes, rows: Table) -> None:
        by_site = over_seeds(rows, "d_cos2", ["site", "step"]).groupby("site", sort=False)
        steps = sorted(rows["step"].unique())
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(by_site)))  # from the first layer to the last
        for colour, (site, means) in zip(colours, by_site, strict=True):
            value, low, high = np.array([mean[:3] for mean in means]).T
            axes.plot(steps, value, color=colour, linewidth=1.3, label=site_label(site))
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set(yscale="log", xlabel="step")
        axes.set_xscale("symlog", linthresh=max(1, steps[1]))
        axes.set_xlim(left=0)

    contents = [(cell_label(cell), rows) for cell, rows in at_tiny(study).groupby(CELL, sort=False)]
    return panels(contents, draw, Layout((5.4, 3.1), 2, "d·E[cos²θ] of 1", sharex=True, legend="beside"))
