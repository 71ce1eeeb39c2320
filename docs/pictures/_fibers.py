"""Fibers: the sets of inputs that LayerNorm sends to one output, without and with ε."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import lngeom as lg
from lngeom.empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION

from ._space import ONE, ZERO, Floats, Scene, around, at_angles

EPS = 0.4
COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
HEIGHT = 0.62
"""How far the fibers are drawn along 1, in units of its length."""
REACH = 2.2
"""How far half-planes are drawn from the line of 1."""


def directions(n: int, start: float) -> Floats:
    """Unit vectors around the hyperplane 1^⊥, the first at an angle in degrees; shape (n, 3)."""
    return at_angles(np.radians(start) + 2.0 * np.pi * np.arange(n) / n)


def half_plane(direction: Floats) -> Floats:
    """Nine inputs on one fiber at ε = 0: of all heights along 1 and all distances from its line; shape (9, 3)."""
    rng = np.random.default_rng(4)
    along, away = rng.uniform(-0.85, 0.85, (9, 1)) * HEIGHT, rng.uniform(0.3, 0.95, (9, 1)) * REACH
    return along * ONE + away * direction


def line(foot: Floats) -> Floats:
    """Five inputs on one fiber at ε > 0: of one projection and different heights along 1; shape (5, 3)."""
    return foot + np.linspace(-0.85, 0.85, 5)[:, None] * HEIGHT * ONE


def feet() -> Floats:
    """Projections of the lines that are drawn, near to 0 and far from it; shape (n, 3)."""
    return directions(len(COLORS), 30.0) * np.array([0.45, 1.9, 0.9, 1.5, 0.3])[:, None]


def _scene(figure: Figure, place: int, title: str) -> Scene:
    scene = Scene(figure, (1, 2, place), 1.75, elevation=30, azimuth=-62, zoom=1.25)
    scene.axes.set_title(title)
    scene.floor()
    scene.curve(lg.standardize(around(), eps=0.0), QUIET, linewidth=1.0)
    scene.arrow(ZERO, 0.95 * ONE, INK, r"$\mathbf{1}$", beside=0.1 * ONE, linewidth=1.6)
    return scene


def _draw(scene: Scene, x: Floats, output: Floats, color: str) -> None:
    scene.points(x, color, s=16)
    scene.points(output[None], color, s=110, marker="*", edgecolors=INK, linewidths=0.6)


def fibers() -> Figure:
    """Half-planes at ε = 0 and lines at ε > 0, each with inputs on it and the one output of all of them."""
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    left = _scene(
        figure, 1, "$\\varepsilon=0$: each half-plane has one output, on the circle;\nmean and deviation are forgotten"
    )
    low, high = -HEIGHT * ONE, HEIGHT * ONE
    for direction, color in zip(directions(4, 72.0), COLORS, strict=False):
        left.sheet(np.stack([low, low + REACH * direction, high + REACH * direction, high]), color, alpha=0.14)
        x = half_plane(direction)
        _draw(left, x, lg.layer_norm(x, eps=0.0)[0], color)
    right = _scene(
        figure, 2, f"$\\varepsilon={EPS:g}$: each line has one output, inside the circle;\nonly the mean is forgotten"
    )
    for foot, color in zip(feet(), COLORS, strict=True):
        x = line(foot)
        output = lg.layer_norm(x, eps=EPS)[0]
        right.segment(foot + low, foot + high, color, linewidth=1.4)
        right.segment(foot, output, color, linestyle=":", linewidth=1.2)
        _draw(right, x, output, color)
    handles = [
        Line2D([], [], color=INK, linestyle="", marker=marker, markersize=size, label=label)
        for marker, size, label in ((".", 8, "inputs"), ("*", 11, "their output"))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure
