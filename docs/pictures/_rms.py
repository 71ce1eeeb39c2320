"""LayerNorm against RMSNorm: the plane in which they differ, and how far apart they are at each angle."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

import lngeom as lg
from lngeom.empirical.observe import read_sites
from lngeom.empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION

from ._space import Floats, flat_arrow, ring

D = 3
NAME = "smollm2"
"""The measured model whose angles are shown, from the committed table of its run."""
ACROSS: Floats = np.array([1.0, 0.0, -1.0]) / np.sqrt(2.0)
"""A unit vector orthogonal to 1."""
THETA = np.radians(52.0)
LENGTH = 2.7


def inputs(theta: ArrayLike, length: float = 1.0) -> Floats:
    """Vectors at the angles θ to 1, in the plane of 1 and `ACROSS`; shape (..., 3)."""
    angle = np.asarray(theta, dtype=float)[..., None]
    return length * (np.cos(angle) * lg.projection.uniform(D) / np.sqrt(D) + np.sin(angle) * ACROSS)


def distance(theta: ArrayLike) -> Floats:
    """Distance of LayerNorm(x) and RMSNorm(x) at ε = 0, in units of √d, for x at the angles θ to 1."""
    x = inputs(theta)
    return np.linalg.norm(lg.layer_norm(x, eps=0.0) - lg.rms_norm(x, eps=0.0), axis=-1) / np.sqrt(D)


def angle_range() -> tuple[float, float]:
    """From the least 1 % point to the greatest 99 % point of the measured angles before the norms, in degrees."""
    table = read_sites(Path(__file__).parents[1] / "results" / NAME / "sites.csv")
    rows = [row for row in table if (row["side"], row["bucket"]) == ("input", "all")]
    low = [row["angle_p01_deg"] for row in rows if row["angle_p01_deg"] is not None]
    high = [row["angle_p99_deg"] for row in rows if row["angle_p99_deg"] is not None]
    return min(low), max(high)


def _plane(x: Floats) -> Floats:
    """Coordinates along `ACROSS` and along 1."""
    return np.stack([x @ ACROSS, x @ lg.projection.uniform(D) / np.sqrt(D)], -1)


def _arc(axes: Axes, start: float, end: float, radius: float, color: str) -> None:
    """Part of a circle between two angles to 1."""
    angle = np.linspace(start, end, 60)
    axes.plot(radius * np.sin(angle), radius * np.cos(angle), color=color, linewidth=1.3)


def _geometry(axes: Axes) -> None:
    x = inputs(THETA, LENGTH)
    point, shadow = _plane(x), _plane(lg.project(x))
    layer, rms = _plane(lg.layer_norm(x, eps=0.0)), _plane(lg.rms_norm(x, eps=0.0))
    radius = np.sqrt(D)
    ring(axes)
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    axes.plot(*zip(point, shadow, strict=True), color=QUIET, linestyle=":", linewidth=1.3)
    axes.plot(*zip(rms, layer, strict=True), color=VERMILION, linewidth=2.6)
    for end, color, width in (((0.0, radius), INK, 1.6), (point, BLUE, 1.6), (rms, ORANGE, 2.6), (layer, PURPLE, 2.6)):
        flat_arrow(axes, (0.0, 0.0), end, color, width)
    axes.plot(*shadow, "o", color=GREEN, markersize=6)
    _arc(axes, 0.0, THETA, 0.45, INK)
    _arc(axes, THETA, np.pi / 2, 0.7, VERMILION)
    middle = 0.5 * (THETA + np.pi / 2)
    for (across, along), shift, label, color in (
        ((0.0, radius), (-0.14, 0.06), r"$\mathbf{1}$", INK),
        (point, (0.12, 0.1), "$x$", BLUE),
        (shadow, (0.02, -0.2), r"$\Pi x$", GREEN),
        (rms, (-0.42, 0.16), r"$\mathrm{RMS}(x)$", ORANGE),
        (layer, (-0.45, -0.2), r"$\mathrm{LN}(x)$", PURPLE),
        ((np.sin(THETA / 2), np.cos(THETA / 2)), (-0.16, -0.3), r"$\theta$", INK),
        ((np.sin(middle), np.cos(middle)), (0.1, -0.05), r"$90°-\theta$", VERMILION),
        ((-radius, 0.0), (-0.16, 0.14), r"$\mathbf{1}^\perp$", QUIET),
    ):
        axes.text(across + shift[0], along + shift[1], label, color=color, ha="center", va="center", size=13)
    chord = 0.5 * (rms + layer)
    words, line = r"$2\sqrt{d}\,\sin\frac{90°-\theta}{2}$", {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 2}
    centred = {"ha": "center", "va": "center", "size": 13, "color": VERMILION}
    axes.annotate(words, chord.tolist(), (2.75, 0.72), arrowprops={**line, "color": VERMILION}, **centred)
    axes.set(aspect="equal", xlim=(-2.1, 3.3), ylim=(-0.95, 2.05))
    axes.axis("off")
    axes.set_title(r"The plane of $\mathbf{1}$ and $\Pi x$: two points of a circle of radius $\sqrt{d}$")


def _distances(axes: Axes) -> None:
    theta = np.linspace(0.5, 179.5, 718)
    axes.plot(theta, distance(np.radians(theta)), color=VERMILION, linewidth=2.2)
    axes.plot(np.degrees(THETA), distance(THETA), "o", color=VERMILION, markersize=8, label="the $x$ of the left side")
    low, high = angle_range()
    most = float(distance(np.radians([low, high])).max())
    label = f"{NAME}: at each norm, 98 % of the\nangles lie in {low:.1f}° to {high:.1f}°;\n"
    label += f"distance there at most {most:.2f} $\\sqrt{{d}}$"
    axes.axvspan(low, high, color=BLUE, alpha=0.25, linewidth=0, label=label)
    axes.axvline(90.0, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xticks(range(0, 181, 30))
    axes.set_xlim(0.0, 180.0)
    axes.set_ylim(0.0, 1.5)
    axes.set_xlabel(r"angle $\theta$ of $x$ to $\mathbf{1}$ (degrees)")
    axes.set_ylabel(r"distance of $\mathrm{LN}(x)$ and $\mathrm{RMS}(x)$, in units of $\sqrt{d}$")
    axes.set_title("What it costs to swap one for the other")
    axes.legend(loc="upper center", frameon=True, framealpha=1.0, edgecolor="none")


def layer_norm_rms_norm() -> Figure:
    """Both outputs in the plane of 1 and x, and their distance against the angle; where a model lies is marked."""
    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    _geometry(left)
    _distances(right)
    figure.suptitle(r"LayerNorm and RMSNorm of one vector, at $\varepsilon=0$ and before gain and bias")
    return figure
