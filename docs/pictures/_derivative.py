"""The derivative of LayerNorm: what becomes of small circles around inputs, and its two factors against σ."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION

from ._space import Floats, around, at_angles, plane, ring

EPS = 0.2
RADIUS = 0.12
"""Of the circles around the inputs."""
AWAY = (0.0, 0.4, 0.9, 1.7)
"""Distances of the inputs from the line of 1."""
COLORS = (VERMILION, ORANGE, GREEN, PURPLE)


def centers() -> Floats:
    """Inputs in the hyperplane 1^⊥, one at each distance, in different directions; shape (n, 3)."""
    return np.array(AWAY)[:, None] * at_angles(np.radians(20.0 + 95.0 * np.arange(len(AWAY))))


def circle(center: Floats) -> Floats:
    """Inputs around another one, at the distance `RADIUS`; shape (121, 3)."""
    return center + RADIUS * around(121)


def linearized(center: Floats) -> Floats:
    """The image of the circle around `center` under the derivative there; shape (n, 3)."""
    steps = circle(center) - center
    return lg.layer_norm(center, eps=EPS) + steps @ lg.jacobian(center, eps=EPS).T


def _draw_inputs(axes: Axes) -> None:
    for center, color in zip(centers(), COLORS, strict=True):
        axes.fill(*plane(circle(center)).T, color=color, alpha=0.35, linewidth=0)
        axes.plot(*plane(center), ".", color=color, markersize=6)
    axes.set_title("inputs in $\\mathbf{1}^\\perp$, with\nsmall circles around them")


def _draw_outputs(axes: Axes) -> None:
    ring(axes)
    for center, color in zip(centers(), COLORS, strict=True):
        axes.fill(*plane(lg.layer_norm(circle(center), eps=EPS)).T, color=color, alpha=0.35, linewidth=0)
        axes.plot(*plane(linearized(center)).T, color=color, linewidth=1.1)
        axes.plot(*plane(lg.layer_norm(center, eps=EPS)), ".", color=color, markersize=6)
    axes.set_title("their outputs (filled), and what the\nderivative makes of the circles (line)")


def _draw_factors(axes: Axes) -> None:
    sigma = np.geomspace(1e-2, 1e2, 161)
    # Deviations of t·(1, −1, 0) are t √(2/3).
    x = np.sqrt(1.5) * sigma[:, None] * np.array([1.0, -1.0, 0.0])
    tangential, radial, _ = np.sort(lg.derivatives.jacobian_singular_values(x, eps=EPS), axis=-1)[:, ::-1].T
    axes.loglog(sigma, tangential, color=BLUE, linewidth=2.0, label=r"around: $1/s$")
    axes.loglog(sigma, radial, color=VERMILION, linewidth=2.0, label=r"outward: $\varepsilon/s^3$")
    axes.axhline(1 / np.sqrt(EPS), color=QUIET, linewidth=0.9, linestyle="--", label=r"$1/\sqrt{\varepsilon}$")
    axes.axvline(np.sqrt(EPS), color=INK, linewidth=0.9, linestyle=":", label=r"$\sigma=\sqrt{\varepsilon}$")
    axes.set_xlabel(r"standard deviation $\sigma$ of the input")
    axes.set_title("the two factors by which\nsmall changes are stretched")
    axes.legend(loc="lower left")


def jacobian() -> Figure:
    """Small circles in the hyperplane and their images; the singular values of the Jacobian against σ."""
    figure = Figure(figsize=(12.5, 4.7), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    _draw_inputs(first)
    _draw_outputs(second)
    for axes in (first, second):
        axes.set(aspect="equal", xlim=(-2.0, 2.0), ylim=(-2.0, 2.0))
        axes.axhline(0.0, color=QUIET, linewidth=0.5)
        axes.axvline(0.0, color=QUIET, linewidth=0.5)
        axes.set_xticks([])
        axes.set_yticks([])
    _draw_factors(third)
    figure.suptitle(rf"LayerNorm of three components near inputs of different length, $\varepsilon={EPS:g}$")
    return figure
