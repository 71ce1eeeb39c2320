"""Fibers: the sets of inputs that LayerNorm sends to one output, without and with ε."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.colors import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION
from lngeom.plot import ONE, ZERO, Floats, Scene, around, at_angles

EPS = 0.4
COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
HEIGHT = 0.62 * ONE
"""How far the fibers are drawn along 1."""
REACH = 2.2
"""How far half-planes are drawn from the line of 1."""
DIRECTIONS = at_angles(np.radians(72.0) + 0.5 * np.pi * np.arange(4))
FEET = at_angles(np.radians(30.0) + 0.4 * np.pi * np.arange(5)) * np.array([0.45, 1.9, 0.9, 1.5, 0.3])[:, None]
"""Projections of the lines that are drawn, near to 0 and far from it; shape (5, 3)."""


def half_plane(direction: Floats) -> Floats:
    """Nine inputs on one fiber at ε = 0: of all heights along 1 and all distances from its line; shape (9, 3)."""
    rng = np.random.default_rng(4)
    return rng.uniform(-0.85, 0.85, (9, 1)) * HEIGHT + rng.uniform(0.3, 0.95, (9, 1)) * REACH * direction


def line(foot: Floats) -> Floats:
    """Five inputs on one fiber at ε > 0: of one projection and different heights along 1; shape (5, 3)."""
    return foot + np.linspace(-0.85, 0.85, 5)[:, None] * HEIGHT


def fibers() -> Figure:
    """Half-planes at ε = 0 and lines at ε > 0, each with inputs on it and the one output of all of them."""
    figure = Figure(figsize=(12.0, 4.6), layout="constrained")
    for place, title in enumerate(("half-plane has one output, on", "line has one output, inside")):
        eps = EPS * place
        scene = Scene(figure.add_subplot(1, 2, place + 1, projection="3d"), 1.75, view=(30, -62), zoom=1.5)
        scene.axes.set_title(f"$\\varepsilon={eps:g}$: each {title} the circle;\ndots: inputs, star: their output")
        scene.floor()
        scene.curve(lg.standardize(around(), eps=0.0), QUIET, linewidth=1.0)
        scene.arrow(ZERO, 0.95 * ONE, INK, r"$\mathbf{1}$", linewidth=1.6)
        for at, color in zip((DIRECTIONS, FEET)[place], COLORS, strict=False):
            x = (half_plane, line)[place](at)
            output = lg.layer_norm(x, eps=eps)[0]
            if place:
                scene.curve([at - HEIGHT, at + HEIGHT], color, linewidth=1.4)
                scene.curve([at, output], color, linestyle=":", linewidth=1.2)
            else:
                corners = [s * HEIGHT + t * REACH * at for s, t in ((-1, 0), (-1, 1), (1, 1), (1, 0))]
                scene.sheet(np.array(corners), color)
            scene.points(x, color, s=16)
            scene.points(output[None], color, s=110, marker="*", edgecolors=INK, linewidths=0.6)
    return figure
