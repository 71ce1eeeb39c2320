"""Where outputs lie: what ε does to them, why their mean tests nothing, and which of them a query can single out."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

import lngeom as lg

from ._drawing import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION
from ._space import ONE, Scene, around, components, plane, ring

EPSILONS = (1e-1, 1e-3, 1e-5)
GAIN = np.array([1.5, 0.7, 1.0])
BIAS = np.array([0.6, 0.2, 0.4])


def _inputs(n: int, seed: int) -> np.ndarray:
    """Vectors of all directions, whose standard deviation runs from 0.003 to 1."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * 10 ** rng.uniform(-2.4, 0.0, (n, 1))


def eps_sweep() -> Figure:
    """Outputs on the ellipsoid for ε = 10⁻¹, 10⁻³ and 10⁻⁵, and their gauge against the standard deviation."""
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    x = _inputs(500, seed=3)
    deviation = np.sqrt(lg.moments(x)[1][:, 0])
    ellipse = lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
    grid = np.geomspace(deviation.min(), deviation.max(), 200)
    marks = None
    tops, bottoms = [], []
    for k, eps in enumerate(EPSILONS):
        exponent = round(np.log10(eps))
        top = figure.add_subplot(2, 3, k + 1, projection="3d")
        tops.append(top)
        scene = Scene(top, 1.9, center=BIAS, elevation=48, azimuth=-58, coordinates=0.0, zoom=1.6)
        scene.sheet(BIAS + 1.08 * (ellipse - BIAS), QUIET, alpha=0.12)
        scene.curve(ellipse, INK, linewidth=1.2)
        z = lg.layer_norm(x, GAIN, BIAS, eps=eps)
        r = lg.epsilon.gauge(x, eps=eps)
        marks = scene.points(z, r, cmap="viridis", vmin=0.0, vmax=1.0, s=12)
        scene.points(BIAS[None], VERMILION, s=45, marker="P")
        top.set_title(rf"$\varepsilon = 10^{{{exponent}}}$: {np.mean(r > 0.99):.0%} at the surface ($r > 0.99$)")
        bottom = figure.add_subplot(2, 3, k + 4)
        bottoms.append(bottom)
        bottom.scatter(deviation, r, c=r, cmap="viridis", vmin=0.0, vmax=1.0, s=12, linewidths=0)
        # σ(t·(1, −1, 0)) = t √(2/3), so that these inputs have the deviations of the grid.
        line = np.sqrt(1.5) * grid[:, None] * np.array([1.0, -1.0, 0.0])
        bottom.plot(
            grid,
            lg.epsilon.gauge(line, eps=eps),
            color=INK,
            linewidth=1.0,
            label=r"$r=\sqrt{\sigma^2/(\sigma^2+\varepsilon)}$",
        )
        root = np.sqrt(eps)
        bottom.axvline(root, color=VERMILION, linestyle="--", linewidth=1.2, label=r"$\sigma=\sqrt{\varepsilon}$")
        bottom.set_xscale("log")
        bottom.set_xlim(0.8 * min(grid[0], np.sqrt(EPSILONS[-1])), 1.2 * grid[-1])
        bottom.set_ylim(-0.03, 1.05)
        bottom.set_xlabel(r"standard deviation $\sigma$ of the input")
        bottom.grid(color=QUIET, alpha=0.2)
    bottoms[0].legend(loc="upper left", fontsize=11)
    bottoms[0].set_ylabel(r"gauge $r$: 0 center, 1 surface")
    if marks is not None:
        figure.colorbar(marks, ax=tops, shrink=0.75, label="gauge $r$", location="right")
    figure.suptitle(
        r"The same 500 inputs, three values of $\varepsilon$: outputs fill the inside of the ellipse (black, $d=3$)."
        "\n"
        r"An input lands near the edge if $\sigma^2\gg\varepsilon$, near the center $b$ (red cross) if "
        r"$\sigma^2\ll\varepsilon$",
        size=12.5,
    )
    return figure


def outputs() -> Figure:
    """The hyperplane of the outputs, and two tests of it: the mean, which is wrong, and α·(z − b), which is right."""
    figure = Figure(figsize=(13, 6.2), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1.0))
    left, right = parts
    x = _inputs(400, seed=8)
    y, z = lg.standardize(x, eps=1e-3), lg.layer_norm(x, GAIN, BIAS, eps=1e-3)
    circle, ellipse = lg.standardize(around(), eps=0.0), lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
    alpha = 1.0 / GAIN
    scene = Scene(
        left.add_subplot(projection="3d"), 1.75, center=0.35 * ONE + 0.4 * BIAS, elevation=14, azimuth=-70, zoom=1.5
    )
    scene.sheet(1.06 * circle, QUIET)
    scene.curve(circle, QUIET, linewidth=1.2)
    scene.points(y, QUIET, s=7, label=r"$y$, before gain and bias: in $\mathbf{1}^\perp$")
    scene.sheet(BIAS + 1.06 * (ellipse - BIAS), BLUE)
    scene.curve(ellipse, BLUE, linewidth=1.6)
    scene.points(z, BLUE, s=9, label=r"$z=g\circ y+b$, outputs: in another plane")
    scene.arrow(np.zeros(3), ONE, VERMILION)
    scene.text(1.1 * ONE, r"$\mathbf{1}$", VERMILION, size=14)
    normal = alpha / np.linalg.norm(alpha) * np.sqrt(3)
    scene.arrow(BIAS, BIAS + normal, GREEN)
    scene.text(BIAS + 1.1 * normal, r"$\alpha = 1/g$", GREEN, size=13)
    scene.points(BIAS[None], INK, s=45, marker="P")
    scene.text(BIAS, "$b$", INK, shift=(0.2, -0.16, -0.12), size=13)
    scene.axes.legend(loc="lower center", fontsize=10)
    scene.axes.set_title("The gain tilts the plane, the bias moves it")
    top, bottom = right.subplots(2, 1)
    bins = np.arange(-1.02, 1.6, 0.04)
    mean, tested = lg.moments(z)[0][:, 0], (z - BIAS) @ alpha / np.linalg.norm(alpha)
    for panel, values, color, title in (
        (top, mean, ORANGE, "wrong test: the mean of the outputs should be 0"),
        (bottom, tested, GREEN, r"right test: $\alpha\cdot(z-b)/\|\alpha\|$ should be 0"),
    ):
        panel.hist(values, bins=bins, color=color)
        panel.axvline(0.0, color=INK, linewidth=1.0, linestyle="--")
        panel.set(ylabel="outputs", title=title)
    top.set_xlabel(r"mean of the components of $z$")
    top.annotate("fails, though\nthe layer is correct", (0.05, 0.75), xycoords="axes fraction", ha="left", color=INK)
    bottom.set_xlabel(r"distance of $z$ from the plane through $b$ with normal $\alpha$")
    bottom.annotate(
        f"holds, up to rounding:\nat most {np.abs(tested).max():.0e}",
        (0.05, 0.75),
        xycoords="axes fraction",
        ha="left",
        color=INK,
    )
    figure.suptitle(f"Where outputs lie: 400 outputs, g = {components(GAIN)}, b = {components(BIAS)}", size=13)
    scene.curve(np.stack([np.zeros(3), BIAS]), PURPLE, linewidth=1.0, linestyle=":")
    return figure


def keys() -> Figure:
    """The keys of thirty inputs in the plane of the outputs: on a circle at ε = 0, and inside it with ε."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    panels: Any = figure.subplots(1, 2, sharex=True, sharey=True)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 3)) * 10 ** rng.uniform(-1.5, 0.5, (30, 1))
    for panel, eps in zip(panels, (0.0, 0.1), strict=True):
        points = plane(lg.standardize(x, eps=eps))
        corners = ConvexHull(points).vertices
        hidden = np.setdiff1d(np.arange(len(points)), corners)
        ring(panel)
        panel.fill(*points[corners].T, facecolor=BLUE, alpha=0.1, edgecolor=BLUE)
        panel.scatter(*points[corners].T, color=BLUE, s=26, label=f"{len(corners)} that some query prefers")
        if len(hidden):
            panel.scatter(*points[hidden].T, color=VERMILION, s=26, marker="X", label=f"{len(hidden)} that none does")
        panel.set_aspect("equal")
        panel.set_axis_off()
        panel.set_title(rf"$\varepsilon = {eps:g}$", color=INK)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=11)
    figure.suptitle("Keys behind a LayerNorm, d = 3: a query prefers the one that lies farthest in its direction")
    return figure
