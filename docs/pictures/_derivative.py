"""The derivative of LayerNorm: what becomes of small circles around inputs, and its two factors against σ."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.colors import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, VERMILION
from lngeom.plot import Floats, around, at_angles

from ._space import plane, ring

EPS = 0.2
RADIUS = 0.12
"""Of the circles around the inputs."""
COLORS = (VERMILION, ORANGE, GREEN, PURPLE)
CENTERS = np.array([[0.0], [0.4], [0.9], [1.7]]) * at_angles(np.radians(20.0 + 95.0 * np.arange(4)))
"""Inputs in the hyperplane 1^⊥, at different distances from 0 and in different directions; shape (4, 3)."""


def linearized(center: Floats) -> Floats:
    """The image of the circle around `center` under the derivative there; shape (n, 3)."""
    return lg.layer_norm(center, eps=EPS) + RADIUS * around(121) @ lg.jacobian(center, eps=EPS).T


def jacobian() -> Figure:
    """Small circles in the hyperplane and their images; the singular values of the Jacobian against σ."""
    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    before, after, factors = figure.subplots(1, 3)
    ring(after)
    for center, color in zip(CENTERS, COLORS, strict=True):
        circle = center + RADIUS * around(121)
        for axes, outline in ((before, circle), (after, lg.layer_norm(circle, eps=EPS))):
            axes.fill(*plane(outline).T, color=color, alpha=0.35, linewidth=0)
        after.plot(*plane(linearized(center)).T, color=color, linewidth=1.1)
    before.set_title("inputs in $\\mathbf{1}^\\perp$: small circles")
    after.set_title("their outputs (filled), and what the\nderivative makes of the circles (line)")
    for axes in (before, after):
        axes.set(aspect="equal", xlim=(-2.0, 2.0), ylim=(-2.0, 2.0), xticks=[0], yticks=[0])
    sigma = np.geomspace(1e-2, 1e2, 161)
    # Deviations of t·(1, −1, 0) are t √(2/3).
    x = np.sqrt(1.5) * sigma[:, None] * np.array([1.0, -1.0, 0.0])
    around_it, outward, _ = np.sort(lg.derivatives.jacobian_singular_values(x, eps=EPS), axis=-1)[:, ::-1].T
    factors.loglog(sigma, around_it, color=BLUE, linewidth=2.0, label=r"around: $1/s$")
    factors.loglog(sigma, outward, color=VERMILION, linewidth=2.0, label=r"outward: $\varepsilon/s^3$")
    factors.axhline(1 / np.sqrt(EPS), color=QUIET, linewidth=0.9, linestyle="--", label=r"$1/\sqrt{\varepsilon}$")
    factors.axvline(np.sqrt(EPS), color=INK, linewidth=0.9, linestyle=":", label=r"$\sigma=\sqrt{\varepsilon}$")
    factors.set(xlabel=r"standard deviation $\sigma$ of the input", title="the two factors of small changes")
    factors.legend(loc="lower left")
    return figure
