"""Principal axes of the ellipsoid of outputs for several gains, and their lengths as critical points."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import lngeom as lg
from empirical.pages import BLUE, GREEN, INK, ORANGE, QUIET, VERMILION

from ._space import Scene, around, components

GAINS = (
    ((1.0, 1.0, 1.0), "equal gains: a circle, any axes"),
    ((1.5, 1.0, 0.5), "different gains: tilted, stretched"),
    ((1.5, -1.0, 0.5), "a negative gain: mirrored, same lengths"),
    ((1.2, 1.2, 0.3), "two equal gains: one axis between them"),
    ((1.2, 1.2, 0.0), "one zero gain: still an ellipse"),
    ((1.2, 0.0, 0.0), "two zero gains: a filled segment"),
)


def axes() -> Figure:
    """Ellipses of outputs with their principal axes, and the axes that the squared Drazin inverse would give."""
    figure = Figure(figsize=(12.5, 9.4), layout="constrained")
    for k, (values, title) in enumerate(GAINS):
        gain = np.array(values)
        scene = Scene(figure, (2, 3, k + 1), 2.1, elevation=38, azimuth=-52, zoom=1.6)
        scene.coordinates(1.9)
        ellipse = lg.layer_norm(around(), gain, eps=0.0)
        scene.sheet(ellipse, BLUE, alpha=0.12)
        scene.curve(ellipse, BLUE, linewidth=1.6)
        principal = lg.principal_axes(gain)
        lengths, directions = principal.semi_axes, principal.directions
        for i, color in zip(range(len(principal)), (VERMILION, GREEN), strict=False):
            end = lengths[i] * directions[:, i]
            scene.segment(-end, end, color, linewidth=2.6)
            scene.points(np.stack([end, -end]), color, s=20)
        zeros = gain == 0
        if zeros.any():
            # The ellipse with semi-axes √d|g_i| along the coordinates, which is too long.
            recipe = np.sqrt(3.0) * gain * np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 181)), np.sin(t), 0 * t], -1)
            scene.curve(recipe, ORANGE, linewidth=1.4, linestyle="--")
        shown = ", ".join(f"{length:.3f}" for length in lengths)
        scene.axes.set_title(f"$g$ = {components(gain)}\n{title}\nsemi-axes {shown}")
    handles = [
        Line2D([], [], color=color, linewidth=2.2, label=label)
        for color, label in (
            (BLUE, r"outputs at $\varepsilon=0$, $b=0$"),
            (VERMILION, "longest principal axis"),
            (GREEN, "shortest"),
            (ORANGE, r"recipe $\sqrt{d}\,|g_i|$ for zero gains: too long"),
        )
    ]
    handles[-1].set_linestyle("--")
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle("Principal axes of the outputs for six gains in three dimensions")
    return figure


def critical_points() -> Figure:
    """The squared semi-axes over d are the critical points of ∏(λ − g_i²), one between each two neighbors."""
    figure = Figure(figsize=(9.5, 7.2), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    squares = np.array([0.8, 1.6, 2.9, 3.6, 5.0])
    gain = np.sqrt(squares)
    roots = lg.principal_axes(gain).semi_axes ** 2 / gain.size
    grid = np.linspace(0.55, 5.2, 1200)
    product = np.prod(grid[:, None] - squares, axis=1)
    top.axhline(0.0, color=QUIET, linewidth=0.8)
    top.plot(grid, product, color=BLUE, linewidth=1.8)
    top.plot(squares, np.zeros(5), "o", color=INK, markersize=8, label="$g_i^2$, the squared gains")
    at_roots = np.prod(roots[:, None] - squares, axis=1)
    top.plot(roots, at_roots, "D", color=VERMILION, markersize=8, label="squared semi-axes $/\\,d$")
    for root, value in zip(roots, at_roots, strict=True):
        top.plot([root - 0.22, root + 0.22], [value, value], color=VERMILION, linewidth=1.4)
    top.set_ylim(1.6 * min(at_roots), 1.6 * max(at_roots))
    top.set_ylabel(r"$p(\lambda)=\prod_i(\lambda-g_i^2)$")
    top.set_title("One semi-axis between each two neighboring gains: where the tangent is level")
    top.legend(loc="lower center")
    secular = np.sum(1.0 / (squares - grid[:, None]), axis=1)
    for low, high in zip([grid[0], *squares], [*squares, grid[-1]], strict=True):
        inside = (grid > low + 1e-9) & (grid < high - 1e-9)
        bottom.plot(grid[inside], secular[inside], color=GREEN, linewidth=1.8)
    for square in squares:
        bottom.axvline(square, color=INK, linewidth=0.8, linestyle=":")
    for panel in (top, bottom):
        for root in roots:
            panel.axvline(root, color=VERMILION, linewidth=0.7, alpha=0.5)
    bottom.axhline(0.0, color=QUIET, linewidth=0.8)
    bottom.plot(roots, np.zeros(roots.size), "D", color=VERMILION, markersize=8)
    bottom.set_ylim(-14, 14)
    bottom.set_ylabel(r"$\sum_i 1/(g_i^2-\lambda)$")
    bottom.set_xlabel(r"$\lambda$")
    bottom.set_title("The same points as zeros of the secular equation, increasing from pole to pole")
    return figure
