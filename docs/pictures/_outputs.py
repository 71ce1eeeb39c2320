"""Where outputs lie: what ε does to them, and why their mean tests nothing."""

import numpy as np
from matplotlib.figure import Figure, SubFigure

import lngeom as lg
from lngeom.colors import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION
from lngeom.plot import ONE, ZERO, Floats, Scene, around

from ._space import components

EPSILONS = (1e-1, 1e-3, 1e-5)
GAIN = np.array([1.5, 0.7, 1.0])
BIAS = np.array([0.2, 0.6, 0.4])


def _inputs(n: int, seed: int) -> Floats:
    """Vectors of all directions, whose standard deviation runs from 0.003 to 1."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * 10 ** rng.uniform(-2.4, 0.0, (n, 1))


def eps_sweep() -> Figure:
    """Outputs in the ellipse for ε = 10⁻¹, 10⁻³ and 10⁻⁵, and their relative radius against their deviation."""
    figure = Figure(figsize=(12.5, 7.2), layout="constrained")
    x, panels = _inputs(500, seed=3), figure.subplots(2, 3)
    for eps, above, below in zip(EPSILONS, *panels, strict=True):
        lg.plot.ellipsoid(GAIN, BIAS, lg.layer_norm(x, GAIN, BIAS, eps=eps), ax=above)
        r = lg.epsilon.relative_radius(x, eps=eps)
        above.set_title(rf"$\varepsilon = 10^{{{round(np.log10(eps))}}}$: {np.mean(r > 0.99):.0%} with $r > 0.99$")
        below.scatter(np.sqrt(lg.moments(x)[1][:, 0]), r, c=r, vmin=0.0, vmax=1.0, s=12, linewidths=0)
        below.axvline(np.sqrt(eps), color=VERMILION, linestyle="--", label=r"$\sigma=\sqrt{\varepsilon}$")
        below.set(xscale="log", xlabel=r"standard deviation $\sigma$ of the input", xlim=(2e-3, 3), ylim=(-0.03, 1.05))
    panels[1, 0].legend(loc="upper left")
    panels[1, 0].set_ylabel("relative radius $r$")
    marks = panels[0, -1].collections[0]
    figure.colorbar(marks, ax=panels[0], shrink=0.9, label="relative radius $r$", location="right")
    figure.suptitle(rf"The same 500 inputs, three values of $\varepsilon$; $g$ = {components(GAIN)}, $d = 3$")
    return figure


def _draw_planes(figure: SubFigure, y: Floats, z: Floats) -> None:
    """Standardized vectors in 1^⊥, and outputs in the plane that gain and bias make of it."""
    circle, ellipse = lg.standardize(around(), eps=0.0), lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
    place = {"center": 0.35 * ONE + 0.4 * BIAS, "view": (14.0, -70.0), "zoom": 1.5}
    scene = Scene(figure.add_subplot(projection="3d"), 1.75, **place)
    scene.coordinates(1.5)
    scene.sheet(1.06 * circle, QUIET)
    scene.curve(circle, QUIET, linewidth=1.2)
    scene.points(y, QUIET, s=7, label=r"$y$, before gain and bias: in $\mathbf{1}^\perp$")
    scene.sheet(BIAS + 1.06 * (ellipse - BIAS), BLUE)
    scene.curve(ellipse, BLUE, linewidth=1.6)
    scene.points(z, BLUE, s=9, label=r"$z=g\circ y+b$, outputs: in another plane")
    scene.arrow(ZERO, ONE, VERMILION, r"$\mathbf{1}$")
    normal = np.sqrt(3) / np.linalg.norm(1.0 / GAIN) / GAIN
    scene.arrow(BIAS, BIAS + normal, GREEN, r"$\alpha = 1/g$")
    scene.points(BIAS[None], INK, s=45, marker="P")
    scene.text(BIAS - 0.15 * normal, "$b$", INK, size=13)
    scene.curve([ZERO, BIAS], PURPLE, linewidth=1.0, linestyle=":")
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
