"""Relatives of LayerNorm: u-Norm, seen in a mirror, and the functions of one component that replace a norm."""

import numpy as np
from matplotlib.figure import Figure
from scipy.special import erf

import lngeom as lg
from empirical.pages import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY, VERMILION

from ._space import ONE, ZERO, Scene, around

U = np.sqrt(3) * np.array([0.2, -0.6, 0.775]) / np.linalg.norm([0.2, -0.6, 0.775])
"""Another vector as long as 1."""


def reflected(x: np.ndarray) -> np.ndarray:
    """The mirror image Hx, which exchanges 1 and u."""
    w = U - ONE
    return x - 2 * (x @ w)[..., None] * w / (w @ w)


def mirror() -> Figure:
    """Outputs of LayerNorm and of u-Norm, the plane that exchanges them, and one input with its mirror image."""
    figure = Figure(figsize=(8.2, 6.4), layout="constrained")
    scene = Scene(figure, (1, 1, 1), 1.9, elevation=16, azimuth=12, zoom=1.3)
    scene.coordinates()
    layer = lg.standardize(around(), eps=0.0)
    other = lg.rms_norm(lg.project(reflected(around()), U), eps=0.0)
    for circle, normal, color, name, symbol in (
        (layer, ONE, BLUE, r"outputs of LayerNorm: off $\mathbf{1}$", r"$\mathbf{1}$"),
        (other, U, ORANGE, r"outputs of $u$-Norm: off $u$", "$u$"),
    ):
        scene.sheet(circle, color)
        scene.curve(circle, color, linewidth=2.2, label=name)
        scene.arrow(ZERO, normal, color, symbol, beside=0.12 * normal)
    middle = ONE + U
    across = np.cross(middle, U - ONE)
    corners = [
        s * 1.1 * middle / np.linalg.norm(middle) + t * 1.5 * across / np.linalg.norm(across)
        for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))
    ]
    scene.sheet(np.array(corners), QUIET, alpha=0.2)
    y = layer[40]
    scene.points(np.stack([y, reflected(y)]), PURPLE, s=40)
    scene.segment(y, reflected(y), PURPLE, linestyle=":", label="an output and its mirror image")
    scene.axes.legend(loc="lower center")
    figure.suptitle(r"Projecting off $u$ in place of $\mathbf{1}$: LayerNorm, seen in the grey mirror")
    return figure


def squashing() -> Figure:
    """Left, steps orthogonal to the weights and the circles they reach; right, one component against its output."""
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    x, error = np.array([1.0, 0.2, -0.6]), np.array([0.2, -1.0, 0.7])
    lengths, weights = [], x.copy()
    for _ in range(200):
        lengths.append(np.linalg.norm(lg.project(weights)))
        cotangent = error * (-1) ** len(lengths)
        weights = weights - 0.3 * lg.derivatives.jacobian_transpose_product(weights, cotangent, eps=0.0)
    left.plot(lengths, color=BLUE, label=r"length $\|\Pi w\|$")
    left.plot(0.3 / np.square(lengths), color=ORANGE, label=r"effective rate $\eta/\|\Pi w\|^2$")
    left.set_xlabel("step of gradient descent behind a LayerNorm, ε = 0")
    left.legend(loc="center right")
    left.set_title("Every step is orthogonal to the weights and lengthens them", color=INK)
    values = np.linspace(-12, 12, 481)
    for others, color in ((1.0, VERMILION), (3.0, ORANGE), (6.0, PURPLE)):
        rows = np.column_stack([values, np.full((len(values), 3), others)])
        right.plot(values, lg.rms_norm(rows, eps=0.0)[:, 0], color=color, label=f"RMSNorm, d = 4, others {others:g}")
    right.plot(values, 2 * np.tanh(0.4 * values), color=GREEN, linestyle="--", label="DyT, tanh")
    right.plot(values, 2 * erf(0.35 * values), color=SKY, linestyle="--", label="Derf, erf")
    right.axhline(0, color=QUIET, linewidth=0.6)
    right.set(xlabel="the component", ylabel="its output")
    right.set_title("A norm takes its width from the other components", color=INK)
    right.legend(loc="lower right")
    return figure
