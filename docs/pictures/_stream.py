"""The norm of a sum: one step of the residual stream, and how sums of many steps grow."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from empirical.pages import BLUE, GREEN, INK, ORANGE, QUIET, VERMILION

from ._runs import NAME, entering_blocks
from ._space import flat_arrow

D, BLOCKS = 576, 30
STATE = np.array([1.6, 0.5])
STEPS = (
    ("orthogonal: squares add", np.array([-0.3, 0.96]), GREEN),
    ("aligned: norms add", np.array([0.96, 0.3]), ORANGE),
    ("opposed: the norm shrinks", np.array([-0.96, -0.3]), VERMILION),
)
"""Increments of equal length on one state."""


def sums(*, aligned: bool) -> NDArray[np.float64]:
    """Norms of the sums of 0 to `BLOCKS` unit increments on a unit vector, of random directions or all of one."""
    rng = np.random.default_rng(7)
    steps = rng.normal(size=(BLOCKS + 1, D))
    steps /= np.linalg.norm(steps, axis=-1, keepdims=True)
    return np.linalg.norm(np.cumsum(np.broadcast_to(steps[0], steps.shape) if aligned else steps, 0), axis=-1)


def _one_step(axes: Axes) -> None:
    flat_arrow(axes, (0.0, 0.0), STATE, BLUE, 2.6)
    axes.text(0.7, 0.08, "$h$", color=BLUE, size=14)
    angle = np.linspace(-0.3, 1.25, 90)
    length = np.linalg.norm(STATE)
    axes.plot(length * np.cos(angle), length * np.sin(angle), color=QUIET, linewidth=0.9, linestyle="--")
    for k, (label, step, color) in enumerate(STEPS):
        end = STATE + step
        # What would lie on the arrow of h is drawn a little beside it.
        beside = np.array([-0.05, 0.16]) * (k == 2)
        flat_arrow(axes, STATE + beside, end + beside, color, 2.2)
        ratio = np.linalg.norm(end) / length
        axes.plot([], [], color=color, linewidth=2.2, label=f"{label} ({ratio:.2f} of it)")
    axes.set(aspect="equal", xlim=(-0.15, 3.1), ylim=(-0.65, 2.45))
    axes.axis("off")
    axes.legend(loc="upper left")
    axes.set_title(r"One step $h+\Delta$ (dashed: the length of $h$)")


def _many_steps(axes: Axes) -> None:
    blocks = np.arange(BLOCKS + 1)
    axes.plot(blocks, sums(aligned=True), color=ORANGE, linewidth=2.0, label="equal increments, all aligned: $l+1$")
    label = rf"equal increments, random directions, $d={D}$"
    axes.plot(blocks, sums(aligned=False), color=GREEN, linewidth=2.0, label=label)
    axes.plot(blocks, np.sqrt(blocks + 1.0), color=INK, linewidth=1.0, linestyle=":", label=r"$\sqrt{l+1}$")
    norms = np.array(entering_blocks("norm_median"))
    label = f"{NAME}: median norm, first positions left out"
    axes.plot(norms / norms[0], color=BLUE, marker="o", markersize=4, linewidth=1.6, label=label)
    axes.set(yscale="log", xlabel="blocks $l$ passed", ylabel="norm, relative to the start")
    axes.legend(loc="upper left")
    axes.set_title("Many steps: what summation alone leaves open")


def residual_growth() -> Figure:
    """One step of three kinds, and the norms of sums of many; beside them the stream of a model."""
    figure = Figure(figsize=(12.5, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    _one_step(left)
    _many_steps(right)
    return figure
