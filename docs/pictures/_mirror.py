"""u-Norm: LayerNorm in a mirror."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.empirical.pages import BLUE, ORANGE, PURPLE, QUIET

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
