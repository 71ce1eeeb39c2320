"""What a norm does to one component, beside the functions that replace it, and why weights behind a norm grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import erf

import lngeom as lg

from ._style import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY, VERMILION


def squashing() -> Figure:
    """Left, steps orthogonal to the weights and the circles they reach; right, one component against its output."""
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    panels: Any = figure.subplots(1, 2)
    left, right = panels
    x, error = np.array([1.0, 0.2, -0.6]), np.array([0.2, -1.0, 0.7])
    lengths, weights = [], x.copy()
    for _ in range(200):
        lengths.append(np.linalg.norm(lg.project(weights)))
        weights = weights - 0.3 * lg.jacobian_transpose_product(weights, error * (-1) ** len(lengths), eps=0.0)
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
    right.legend(loc="lower right", fontsize=9.5)
    return figure
