"""How figures look: one style, colours that stay apart for every kind of colour vision, vector text."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from ..support import replacing

BLUE, ORANGE, GREEN, VERMILION, PINK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
UNIFORM, RANDOM_A, RANDOM_B, NEUTRAL = BLUE, ORANGE, GREEN, "#6b6b6b"
"""Colours of Okabe and Ito, told apart with every kind of colour vision; grey for the null."""

STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "lngeom",
}
"""Settings of Matplotlib."""


def label_decades(axes: Axes) -> None:
    """Label a logarithmic vertical axis with plain numbers, so many that a small range has some too."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(MaxNLocator(5) if high < 10 * low else LogLocator(subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def new_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure with a grid of panels, `size` inches each."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Figure, path: Path) -> None:
    """Write an SVG whose bytes depend on its content alone."""
    with matplotlib.rc_context(STYLE), replacing(path) as draft:
        figure.savefig(draft, format="svg", metadata={"Date": None}, bbox_inches="tight")
