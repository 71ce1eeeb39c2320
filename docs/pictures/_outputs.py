"""Where outputs lie: what ε does to them, and why their mean tests nothing."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

import lngeom as lg
from lngeom.empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION

from ._space import ONE, ZERO, Floats, Scene, around, components

EPSILONS = (1e-1, 1e-3, 1e-5)
GAIN = np.array([1.5, 0.7, 1.0])
BIAS = np.array([0.6, 0.2, 0.4])


def _inputs(n: int, seed: int) -> Floats:
    """Vectors of all directions, whose standard deviation runs from 0.003 to 1."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * 10 ** rng.uniform(-2.4, 0.0, (n, 1))


def _draw_radius(axes: Axes, x: Floats, eps: float) -> None:
    """Relative radius of the outputs against the standard deviation of the inputs."""
    deviation, r = np.sqrt(lg.moments(x)[1][:, 0]), lg.epsilon.relative_radius(x, eps=eps)
    axes.scatter(deviation, r, c=r, cmap="viridis", vmin=0.0, vmax=1.0, s=12, linewidths=0)
    grid = np.geomspace(deviation.min(), deviation.max(), 200)
    # σ(t·(1, −1, 0)) = t √(2/3), so that these inputs have the deviations of the grid.
    line = lg.epsilon.relative_radius(np.sqrt(1.5) * grid[:, None] * np.array([1.0, -1.0, 0.0]), eps=eps)
    axes.plot(grid, line, color=INK, linewidth=1.0, label=r"$r=\sqrt{\sigma^2/(\sigma^2+\varepsilon)}$")
    axes.axvline(np.sqrt(eps), color=VERMILION, linestyle="--", linewidth=1.2, label=r"$\sigma=\sqrt{\varepsilon}$")
    axes.set_xscale("log")
    axes.set_xlim(0.8 * min(grid[0], np.sqrt(EPSILONS[-1])), 1.2 * grid[-1])
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel(r"standard deviation $\sigma$ of the input")


def eps_sweep() -> Figure:
    """Outputs on the ellipsoid for ε = 10⁻¹, 10⁻³ and 10⁻⁵, and their relative radius against their deviation."""
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    x = _inputs(500, seed=3)
    ellipse = lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
    scenes, marks = [], None
    for k, eps in enumerate(EPSILONS):
        scene = Scene(figure, (2, 3, k + 1), 1.9, center=BIAS, elevation=48, azimuth=-58, zoom=1.6)
        scene.sheet(BIAS + 1.08 * (ellipse - BIAS), QUIET, alpha=0.12)
        scene.curve(ellipse, INK, linewidth=1.2)
        r = lg.epsilon.relative_radius(x, eps=eps)
        z = lg.layer_norm(x, GAIN, BIAS, eps=eps)
        marks = scene.points(z, r, cmap="viridis", vmin=0.0, vmax=1.0, s=12)
        scene.points(BIAS[None], VERMILION, s=45, marker="P")
        power = rf"$\varepsilon = 10^{{{round(np.log10(eps))}}}$"
        scene.axes.set_title(f"{power}: {np.mean(r > 0.99):.0%} at the surface ($r > 0.99$)")
        bottom = figure.add_subplot(2, 3, k + 4)
        _draw_radius(bottom, x, eps)
        if not scenes:
            bottom.legend(loc="upper left")
            bottom.set_ylabel(r"relative radius $r$: 0 center, 1 surface")
        scenes.append(scene)
    assert marks is not None
    beside = [scene.axes for scene in scenes]
    figure.colorbar(marks, ax=beside, shrink=0.75, label="relative radius $r$", location="right")
    figure.suptitle(
        r"The same 500 inputs, three values of $\varepsilon$: outputs fill the inside of the ellipse (black, $d=3$)."
        "\n"
        r"An input lands near the edge if $\sigma^2\gg\varepsilon$, near the center $b$ (red cross) if "
        r"$\sigma^2\ll\varepsilon$"
    )
    return figure


def _draw_planes(figure: SubFigure, y: Floats, z: Floats) -> None:
    """Standardized vectors in 1^⊥, and outputs in the plane that gain and bias make of it."""
    circle, ellipse = lg.standardize(around(), eps=0.0), lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
    scene = Scene(figure, (1, 1, 1), 1.75, center=0.35 * ONE + 0.4 * BIAS, elevation=14, azimuth=-70, zoom=1.5)
    scene.coordinates()
    scene.sheet(1.06 * circle, QUIET)
    scene.curve(circle, QUIET, linewidth=1.2)
    scene.points(y, QUIET, s=7, label=r"$y$, before gain and bias: in $\mathbf{1}^\perp$")
    scene.sheet(BIAS + 1.06 * (ellipse - BIAS), BLUE)
    scene.curve(ellipse, BLUE, linewidth=1.6)
    scene.points(z, BLUE, s=9, label=r"$z=g\circ y+b$, outputs: in another plane")
    scene.arrow(ZERO, ONE, VERMILION, r"$\mathbf{1}$", beside=0.1 * ONE)
    normal = np.sqrt(3) / np.linalg.norm(1.0 / GAIN) / GAIN
    scene.arrow(BIAS, BIAS + normal, GREEN, r"$\alpha = 1/g$", beside=0.1 * normal)
    scene.points(BIAS[None], INK, s=45, marker="P")
    scene.text(BIAS, "$b$", INK, shift=(0.2, -0.16, -0.12), size=13)
    scene.segment(ZERO, BIAS, PURPLE, linewidth=1.0, linestyle=":")
    scene.axes.legend(loc="lower center")
    scene.axes.set_title("The gain tilts the plane, the bias moves it")


def outputs() -> Figure:
    """The hyperplane of the outputs, and two tests of it: the mean, which is wrong, and α·(z − b), which is right."""
    figure = Figure(figsize=(13, 6.2), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.25, 1.0)).flat
    x, alpha = _inputs(400, seed=8), 1.0 / GAIN
    y, z = lg.standardize(x, eps=1e-3), lg.layer_norm(x, GAIN, BIAS, eps=1e-3)
    _draw_planes(left, y, z)
    mean, distance = lg.moments(z)[0][:, 0], (z - BIAS) @ alpha / np.linalg.norm(alpha)
    for axes, values, color, title, label, result in zip(
        right.subplots(2, 1),
        (mean, distance),
        (ORANGE, GREEN),
        ("wrong test: the mean of the outputs should be 0", r"right test: $\alpha\cdot(z-b)/\|\alpha\|$ should be 0"),
        (r"mean of the components of $z$", r"distance of $z$ from the plane through $b$ with normal $\alpha$"),
        ("fails, though\nthe layer is correct", f"holds, up to rounding:\nat most {np.abs(distance).max():.0e}"),
        strict=True,
    ):
        axes.hist(values, bins=np.arange(-1.02, 1.6, 0.04), color=color)
        axes.axvline(0.0, color=INK, linewidth=1.0, linestyle="--")
        axes.set(ylabel="outputs", title=title, xlabel=label)
        axes.annotate(result, (0.05, 0.75), xycoords="axes fraction", ha="left", color=INK)
    figure.suptitle(f"Where outputs lie: 400 outputs, g = {components(GAIN)}, b = {components(BIAS)}")
    return figure
