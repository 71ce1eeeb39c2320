"""How figures look: one style, colours that stay apart for every kind of colour vision, vector text."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

UNIFORM = "#0072B2"
RANDOM_A = "#E69F00"
RANDOM_B = "#009E73"
NEUTRAL = "#6b6b6b"
"""Colours of Okabe and Ito: blue, orange, bluish green; grey for the null."""

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
    axes.yaxis.set_major_locator(
        MaxNLocator(5) if high < 10 * low else LogLocator(subs=(1, 2, 5), numticks=12)
    )
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
