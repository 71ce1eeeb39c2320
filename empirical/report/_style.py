"""How figures look: one style, colours that stay apart for every kind of colour vision, vector text."""

from __future__ import annotations

from typing import Any

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
