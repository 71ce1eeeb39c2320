"""Pictures beside LayerNorm: u-Norm in a mirror, and the steps of AdamW."""

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


SCALES = np.array([0.4, 0.9, 1.7])
"""D, one over the roots of AdamW's second moments."""


def adamw() -> Figure:
    """Momenta orthogonal to 1, the steps that AdamW makes of them, and the one that leaves the plane most."""
    figure = Figure(figsize=(8.2, 6.4), layout="constrained")
    scene = Scene(figure, (1, 1, 1), 1.9, elevation=16, azimuth=12, zoom=1.3)
    scene.coordinates()
    momenta = lg.standardize(around(), eps=0.0)
    scene.sheet(momenta, BLUE)
    scene.curve(momenta, BLUE, linewidth=2.2, label=r"momenta $p$ with $\mathbf{1}\cdot p=0$")
    scene.curve(SCALES * momenta, ORANGE, linewidth=2.2, label=r"AdamW's steps $D\circ p$")
    scene.arrow(ZERO, ONE, BLUE, r"$\mathbf{1}$", beside=0.12 * ONE)
    farthest = lg.standardize(SCALES, eps=0.0)
    scene.points(np.stack([farthest, SCALES * farthest]), PURPLE, s=40)
    words = r"$p$ proportional to $D-\bar{D}\,\mathbf{1}$"
    scene.segment(farthest, SCALES * farthest, PURPLE, linestyle=":", label=words)
    scene.axes.legend(loc="lower center")
    figure.suptitle(r"A step of AdamW leaves the plane orthogonal to $\mathbf{1}$")
    return figure
