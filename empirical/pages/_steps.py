"""LayerNorm step by step: six panels, and the three steps of the standardization in one space."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg

from ._drawing import BLUE, GREEN, ORANGE, PURPLE, QUIET, VERMILION
from ._space import ONE, Scene, around, components

X = np.array([-0.3, 0.6, 1.8])
GAIN = np.array([1.0, 0.55, 0.85])
BIAS = np.array([0.5, 0.0, 0.15])


def six_steps() -> Figure:
    """The six steps of LayerNorm on one vector of three components."""
    figure = Figure(figsize=(12, 7.4), layout="constrained")
    mean, centered = lg.projection.mean_vector(X), lg.project(X)
    y = lg.standardize(X, eps=0.0)
    unit = y / np.linalg.norm(y)
    z = lg.layer_norm(X, GAIN, BIAS, eps=0.0)
    circle, ellipse = lg.standardize(around(), eps=0.0), lg.layer_norm(around(), GAIN, BIAS, eps=0.0)
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
        scene = Scene(figure.add_subplot(2, 3, k + 1, projection="3d"), 1.6, center=0.28 * ONE, zoom=1.6)
        scene.axes.set_title(title)
        scene.floor(1.95)
        scene.arrow(mean if k in (1, 2) else np.zeros(3), ONE, QUIET if k > 2 else VERMILION, linewidth=1.6)
        scene.text(1.13 * ONE, r"$\mathbf{1}$", QUIET if k > 2 else VERMILION)
        scenes.append(scene)
    a, b, c, unit_scene, e, f = scenes
    for scene in (a, b, c):
        scene.arrow(np.zeros(3), X, BLUE)
        scene.text(X + 0.1 * ONE, "$x$", BLUE, size=13)
    for scene in (b, c):
        scene.arrow(np.zeros(3), mean, ORANGE, linewidth=3.4)
        scene.segment(X, mean, QUIET, linestyle=":")
        scene.right_angle(mean, X - mean, -ONE)
    b.text(mean, r"$\mu\mathbf{1}$", ORANGE, shift=(0.12, -0.24, -0.12), size=13)
    c.arrow(np.zeros(3), centered, GREEN)
    c.segment(X, centered, QUIET, linestyle=":")
    c.text(1.18 * centered, r"$\Pi x$", GREEN, size=13)
    unit_scene.arrow(np.zeros(3), centered, QUIET, linewidth=1.4)
    unit_scene.text(1.18 * centered, r"$\Pi x$", QUIET)
    unit_scene.curve(circle / np.sqrt(3), QUIET, linewidth=1.0)
    unit_scene.arrow(np.zeros(3), unit, GREEN)
    unit_scene.text(unit, r"$\Pi x/\|\Pi x\|$", GREEN, shift=(0.5, 0.2, -0.1), size=12)
    e.curve(circle, PURPLE, linewidth=1.4)
    e.arrow(np.zeros(3), y, PURPLE)
    e.text(1.12 * y + 0.06 * ONE, "$y$", PURPLE, size=13)
    f.curve(circle, QUIET, linewidth=1.0)
    f.curve(ellipse, BLUE, linewidth=1.6)
    f.sheet(ellipse, BLUE)
    f.arrow(np.zeros(3), BIAS, QUIET, linewidth=1.4)
    f.text(BIAS, "$b$", QUIET, shift=(0.08, -0.16, -0.1))
    f.arrow(BIAS, z, BLUE)
    f.text(z + 0.18 * (z - BIAS), "$z$", BLUE, size=13)
    figure.suptitle(
        f"LayerNorm of $x$ = {components(X)}, seen with $\\mathbf{{1}}$ pointing up; "
        r"the gray disc is the hyperplane $\mathbf{1}^\perp$",
        size=13,
    )
    return figure


def three_steps() -> Figure:
    """Project off 1, normalize, scale by √d: many vectors at once, and one of them marked."""
    figure = Figure(figsize=(9, 7.4), layout="constrained")
    scene = Scene(figure.add_subplot(projection="3d"), 1.62, center=0.42 * ONE, elevation=24, azimuth=-62)
    rng = np.random.default_rng(5)
    cloud = rng.normal(0.0, 0.55, (36, 3)) + 0.75 * ONE
    shadow, standard = lg.project(cloud), lg.standardize(cloud, eps=0.0)
    x = np.array([0.35, 0.75, 1.95])
    y = lg.standardize(x, eps=0.0)
    scene.floor(1.95)
    scene.curve(lg.standardize(around(), eps=0.0), PURPLE, linewidth=1.6)
    for before, after, end in zip(cloud, shadow, standard, strict=True):
        scene.segment(before, after, QUIET, linewidth=0.5, alpha=0.6)
        scene.segment(after, end, QUIET, linewidth=0.5, alpha=0.6)
    scene.points(cloud, BLUE, s=16, label="vectors $x$")
    scene.points(shadow, GREEN, s=16, label=r"projected: $\Pi x$, on the hyperplane $\mathbf{1}^\perp$")
    scene.points(
        standard, PURPLE, s=16, label=r"standardized: $y=\sqrt{d}\,\Pi x/\|\Pi x\|$, on a circle of radius $\sqrt{3}$"
    )
    scene.arrow(np.zeros(3), 1.15 * ONE, VERMILION)
    scene.text(1.24 * ONE, r"$\mathbf{1}$", VERMILION, size=14)
    scene.arrow(np.zeros(3), x, BLUE, linewidth=2.8)
    scene.arrow(x, lg.project(x), GREEN, linewidth=2.8)
    scene.arrow(lg.project(x), y, PURPLE, linewidth=2.8)
    scene.text(x, "$x$", BLUE, shift=(-0.05, 0.05, 0.16), size=14)
    scene.text(0.5 * (x + lg.project(x)), "1. project\noff $\\mathbf{1}$", GREEN, shift=(-0.1, 0.3, 0.0), size=10)
    scene.text(1.27 * y, "2. normalize\n3. times $\\sqrt{d}$", PURPLE, size=10)
    scene.axes.legend(loc="lower left", fontsize=10)
    scene.axes.set_title("What standardization does: off the uniform vector, onto a sphere")
    return figure
