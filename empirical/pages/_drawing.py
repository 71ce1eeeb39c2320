"""One look for all pictures: colors that color-blind people can tell apart, white ground, readable type."""

from typing import Any

FORMATS = ("svg", "png")
"""What figures can be written as."""

INK = "#222222"
QUIET = "#8A8A8A"
BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
"""The palette of Okabe and Ito, without its yellow."""

SETTINGS: Any = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.hashsalt": "lngeom",
}
"""Matplotlib settings; the salt makes SVG files the same every time."""
