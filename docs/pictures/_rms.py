"""LayerNorm against RMSNorm: the plane in which they differ, and how far apart they are at each angle."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

import lngeom as lg
from lngeom.colors import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION
from lngeom.empirical.observe import read_sites
from lngeom.plot import Floats, around, turned

NAME = "smollm2"
"""The measured model whose angles are shown, from the committed table of its run."""
BASIS: Floats = np.array([[1.0, 0.0, -1.0] / np.sqrt(2.0), [1.0, 1.0, 1.0] / np.sqrt(3.0)])
"""A unit vector orthogonal to 1, and that of 1."""
THETA = np.radians(52.0)


def inputs(theta: ArrayLike) -> Floats:
    """Unit vectors at the angles θ to 1, in the plane of `BASIS`; shape (..., 3)."""
    return np.stack([np.sin(theta), np.cos(theta)], -1) @ BASIS


def distance(theta: ArrayLike) -> Floats:
    """Distance of LayerNorm(x) and RMSNorm(x) at ε = 0, in units of √d, for x at the angles θ to 1."""
    return lg.norms.layer_rms_distance(inputs(theta), eps=0.0)


def angle_range() -> tuple[float, float]:
    """From the least 1 % point to the greatest 99 % point of the measured angles before the norms, in degrees."""
    table = read_sites(Path(__file__).parents[1] / "results" / NAME / "sites.csv")
    rows = [row for row in table if (row["side"], row["bucket"]) == ("input", "all")]
    return min(row["angle_p01_deg"] for row in rows), max(row["angle_p99_deg"] for row in rows)


def _geometry(axes: Axes) -> None:
    x = 2.7 * inputs(THETA)
    vectors = (x, lg.project(x), lg.layer_norm(x, eps=0.0), lg.rms_norm(x, eps=0.0), np.ones(3))
    point, shadow, layer, rms, one = (BASIS @ each for each in vectors)
    axes.plot(*np.sqrt(3) * turned(around(361))[..., :2].T, color=QUIET, linewidth=1.0)
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    axes.plot(*zip(point, shadow, strict=True), color=QUIET, linestyle=":", linewidth=1.3)
    axes.plot(*zip(rms, layer, strict=True), color=VERMILION, linewidth=2.6)
    for end, color in ((one, INK), (point, BLUE), (rms, ORANGE), (layer, PURPLE)):
        style = {"arrowstyle": "-|>", "mutation_scale": 16, "shrinkB": 0, "color": color, "linewidth": 1.8}
        axes.annotate("", end.tolist(), (0.0, 0.0), arrowprops=style)
    for place, shift, label, color in (
        (one, (-0.14, 0.06), r"$\mathbf{1}$", INK),
        (point, (0.12, 0.1), "$x$", BLUE),
        (rms, (-0.42, 0.16), r"$\mathrm{RMS}(x)$", ORANGE),
        (layer, (-0.45, -0.2), r"$\mathrm{LN}(x)$", PURPLE),
        (shadow, (0.0, -0.2), r"$\Pi x$", GREEN),
        (0.5 * one, (0.2, 0.0), r"$\theta$", INK),
        (0.5 * layer, (0.0, 0.3), r"$90°-\theta$", VERMILION),
        (0.5 * (rms + layer), (0.75, -0.12), r"$2\sqrt{d}\,\sin\frac{90°-\theta}{2}$", VERMILION),
        ((-1.9, 0.0), (0.0, 0.14), r"$\mathbf{1}^\perp$", QUIET),
    ):
        across, along = np.add(place, shift)
        axes.text(across, along, label, color=color, ha="center", va="center", size=13)
    axes.set(aspect="equal", xlim=(-2.1, 3.3), ylim=(-0.95, 2.05))
    axes.axis("off")
    axes.set_title(r"The plane of $\mathbf{1}$ and $\Pi x$: two points of a circle of radius $\sqrt{d}$")


def layer_norm_rms_norm() -> Figure:
    """Both outputs in the plane of 1 and x, and their distance against the angle; where a model lies is marked."""
    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    _geometry(left)
    theta, (low, high) = np.linspace(0.5, 179.5, 718), angle_range()
    right.plot(theta, distance(np.radians(theta)), color=VERMILION, linewidth=2.2)
    right.plot(np.degrees(THETA), distance(THETA), "o", color=VERMILION, markersize=8, label="the $x$ of the left side")
    most = float(distance(np.radians([low, high])).max())
    label = f"{NAME}: at each norm, 98 % of the\nangles lie in {low:.1f}° to {high:.1f}°;\n"
    label += f"distance there at most {most:.2f} $\\sqrt{{d}}$"
    right.axvspan(low, high, color=BLUE, alpha=0.25, linewidth=0, label=label)
    right.set(xticks=range(0, 181, 30), xlim=(0.0, 180.0), ylim=(0.0, 1.5), title="How far the two outputs lie apart")
    right.set_xlabel(r"angle $\theta$ of $x$ to $\mathbf{1}$ (degrees)")
    right.set_ylabel(r"distance of $\mathrm{LN}(x)$ and $\mathrm{RMS}(x)$, in units of $\sqrt{d}$")
    right.legend(loc="upper center", frameon=True, framealpha=1.0, edgecolor="none")
    return figure
