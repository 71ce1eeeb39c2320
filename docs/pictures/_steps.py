"""LayerNorm step by step, in six panels."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.empirical.pages import BLUE, GREEN, ORANGE, PURPLE, QUIET, VERMILION

from ._space import ONE, ZERO, Scene, around, components

X = np.array([-0.3, 0.6, 1.8])
GAIN = np.array([1.0, 0.55, 0.85])
BIAS = np.array([0.5, 0.0, 0.15])


def _draw_projection(a: Scene, b: Scene, c: Scene) -> None:
    mean, centered = lg.projection.mean_vector(X), lg.project(X)
    for scene in (a, b, c):
        scene.arrow(ZERO, X, BLUE, "$x$", beside=0.1 * ONE)
    for scene in (b, c):
        scene.arrow(ZERO, mean, ORANGE, linewidth=3.4)
        scene.segment(X, mean, QUIET, linestyle=":")
        scene.right_angle(mean, X - mean, -ONE)
    b.text(mean, r"$\mu\mathbf{1}$", ORANGE, shift=(0.12, -0.24, -0.12), size=13)
    c.arrow(ZERO, centered, GREEN, r"$\Pi x$", beside=0.18 * centered)
    c.segment(X, centered, QUIET, linestyle=":")


def _draw_scaling(d: Scene, e: Scene, f: Scene) -> None:
    centered, y, circle = lg.project(X), lg.standardize(X, eps=0.0), lg.standardize(around(), eps=0.0)
    z, ellipse = (lg.layer_norm(x, GAIN, BIAS, eps=0.0) for x in (X, around()))
    d.arrow(ZERO, centered, QUIET, r"$\Pi x$", beside=0.18 * centered, linewidth=1.4)
    d.curve(circle / np.sqrt(3), QUIET, linewidth=1.0)
    d.arrow(ZERO, y / np.sqrt(3), GREEN)
    d.text(y / np.sqrt(3), r"$\Pi x/\|\Pi x\|$", GREEN, shift=(0.5, 0.2, -0.1), size=12)
    e.curve(circle, PURPLE, linewidth=1.4)
    e.arrow(ZERO, y, PURPLE, "$y$", beside=0.12 * y + 0.06 * ONE)
    f.curve(circle, QUIET, linewidth=1.0)
    f.curve(ellipse, BLUE, linewidth=1.6)
    f.sheet(ellipse, BLUE)
    f.arrow(ZERO, BIAS, QUIET, "$b$", beside=(0.08, -0.16, -0.1), linewidth=1.4)
    f.arrow(BIAS, z, BLUE, "$z$", beside=0.18 * (z - BIAS))


def steps() -> Figure:
    """The six steps of LayerNorm on one vector of three components."""
    figure = Figure(figsize=(8, 10.2), layout="constrained")
    titles = (
        r"(a) a vector $x$ and the uniform vector $\mathbf{1}$",
        r"(b) its mean vector $\mu\mathbf{1}$, the part along $\mathbf{1}$",
        r"(c) removed: $\Pi x = x - \mu\mathbf{1}$, orthogonal to $\mathbf{1}$",
        r"(d) normalized to length 1",
        r"(e) times $\sqrt{d}$: the standardized vector $y$",
        r"(f) gain and bias: $z = g\circ y + b$",
    )
    scenes = []
    for k, title in enumerate(titles):
        scene = Scene(figure, (3, 2, k + 1), 1.6, center=0.28 * ONE, zoom=1.6)
        scene.axes.set_title(title)
        scene.coordinates()
        scene.floor()
        start, color = lg.projection.mean_vector(X) if k in (1, 2) else ZERO, QUIET if k > 2 else VERMILION
        scene.arrow(start, ONE, color, r"$\mathbf{1}$", beside=0.13 * ONE, linewidth=1.6)
        scenes.append(scene)
    _draw_projection(*scenes[:3])
    _draw_scaling(*scenes[3:])
    figure.suptitle(
        f"LayerNorm of $x$ = {components(X)}, seen with $\\mathbf{{1}}$ pointing up;\n"
        r"the gray disc is the hyperplane $\mathbf{1}^\perp$"
    )
    return figure
