"""The steps of LayerNorm on one vector of three components."""

from typing import Any

import numpy as np

from ..carriers import Array
from ..colors import BLUE, GREEN, ORANGE, PURPLE, QUIET, VERMILION
from ..errors import InputError
from ..norms import layer_norm, standardize
from ..projection import mean_vector, project
from .space import ONE, ZERO, Scene, around, numbers

_STEPS = ("project", "normalize", "scale", "gain")


def steps(
    x: Array,
    gain: Array | None = None,
    bias: Array | None = None,
    *,
    eps: float,
    step: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw what LayerNorm does to a vector of three components, all of it or one `step`, with 1 pointing up.

    "project": Πx = x − μ1, orthogonal to 1. "normalize": Πx/√(‖Πx‖² + dε), of length 1 if ε = 0. "scale": times √d, the
    standardized vector y = Πx/√(σ² + ε). "gain": the output z = g ∘ y + b. The grey disc is the hyperplane 1^⊥; the
    circles have length 1 and √d, and the ellipse is that of all outputs at ε = 0.

    `x`, `gain` and `bias` have shape (3,). `ax` needs the projection "3d"; without it a new figure is made. Returns the
    axis. Raises InputError for other shapes, numbers that are not finite, a constant vector at ε = 0, and a flat axis.

    >>> import numpy as np, lngeom as lg
    >>> ax = lg.plot.steps(np.array([1.8, 0.6, -0.3]), np.array([1.0, 0.5, 0.8]), eps=1e-5)
    """
    if step not in (None, *_STEPS):
        raise InputError(f"step is {step!r}: it is one of {', '.join(_STEPS)}, or None for all")
    x = numbers("x", x, (3,))
    gain, bias = (
        numbers(name, np.full(3, default) if given is None else given, (3,))
        for name, given, default in (("gain", gain, 1.0), ("bias", bias, 0.0))
    )
    mean, flat = mean_vector(x), project(x)
    with np.errstate(invalid="ignore"):
        y, z = numbers("the standardized vector", standardize(x, eps=eps)), layer_norm(x, gain, bias, eps=eps)
    circle = np.sqrt(3.0) * around()
    ellipse = bias + gain * circle
    reach = 0.92 * float(np.linalg.norm([x, ONE, *ellipse], axis=-1).max())
    scene = Scene(ax, max(reach, 1.6), center=0.35 * ONE, zoom=1.75)
    scene.coordinates(0.95 * scene.reach)
    scene.floor()
    scene.arrow(ZERO, ONE, VERMILION, r"$\mathbf{1}$", linewidth=1.6)
    if step in (None, "project"):
        for end in (mean, flat):
            scene.curve([x, end], QUIET, linestyle=":")
        scene.arrow(ZERO, x, BLUE, "$x$")
        scene.arrow(ZERO, mean, ORANGE, r"$\mu\mathbf{1}$", linewidth=3.4)
        scene.arrow(ZERO, flat, GREEN, r"$\Pi x$")
    if step in (None, "normalize"):
        scene.curve(around(), QUIET, linewidth=1.0)
    if step == "normalize":
        scene.arrow(ZERO, flat, QUIET, r"$\Pi x$", linewidth=1.4)
        scene.arrow(ZERO, y / np.sqrt(3.0), GREEN, r"$y/\sqrt{d}$")
    if step in (None, "scale", "gain"):
        scene.curve(circle, QUIET if step == "gain" else PURPLE, linewidth=1.2)
        scene.arrow(ZERO, y, QUIET if step == "gain" else PURPLE, "$y$", linewidth=1.4 if step == "gain" else 2.4)
    if step in (None, "gain"):
        scene.sheet(ellipse, BLUE)
        scene.curve(ellipse, BLUE, linewidth=1.6)
        if bias.any():
            scene.arrow(ZERO, bias, ORANGE, "$b$", linewidth=1.8)
        scene.arrow(bias, z, BLUE, "$z$")
    return scene.axes
