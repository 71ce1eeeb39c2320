"""Principal axes of the ellipsoid of outputs for several gains."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import lngeom as lg
from lngeom.empirical.pages import BLUE, GREEN, ORANGE, VERMILION

from ._space import Scene, around, components

GAINS = (
    ((1.0, 1.0, 1.0), "equal gains: a circle, any axes"),
    ((1.5, 1.0, 0.5), "different gains: tilted, stretched"),
    ((1.5, -1.0, 0.5), "a negative gain: mirrored, same lengths"),
    ((1.2, 1.2, 0.3), "two equal gains: one axis between them"),
    ((1.2, 1.2, 0.0), "one zero gain: still an ellipse"),
    ((1.2, 0.0, 0.0), "two zero gains: a filled segment"),
)


def axes() -> Figure:
    """Ellipses of outputs with their principal axes, and the axes that the squared Drazin inverse would give."""
    figure = Figure(figsize=(12.5, 9.4), layout="constrained")
    for k, (values, title) in enumerate(GAINS):
        gain = np.array(values)
        scene = Scene(figure, (2, 3, k + 1), 2.1, elevation=38, azimuth=-52, zoom=1.6)
        scene.coordinates(1.9)
        ellipse = lg.layer_norm(around(), gain, eps=0.0)
        scene.sheet(ellipse, BLUE, alpha=0.12)
        scene.curve(ellipse, BLUE, linewidth=1.6)
        principal = lg.principal_axes(gain)
        lengths, directions = principal.semi_axes, principal.directions
        for i, color in zip(range(len(principal)), (VERMILION, GREEN), strict=False):
            end = lengths[i] * directions[:, i]
            scene.segment(-end, end, color, linewidth=2.6)
            scene.points(np.stack([end, -end]), color, s=20)
        zeros = gain == 0
        if zeros.any():
            # The ellipse with semi-axes √d|g_i| along the coordinates, which is too long.
            recipe = np.sqrt(3.0) * gain * np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 181)), np.sin(t), 0 * t], -1)
            scene.curve(recipe, ORANGE, linewidth=1.4, linestyle="--")
        shown = ", ".join(f"{length:.3f}" for length in lengths)
        scene.axes.set_title(f"$g$ = {components(gain)}\n{title}\nsemi-axes {shown}")
    handles = [
        Line2D([], [], color=color, linewidth=2.2, label=label)
        for color, label in (
            (BLUE, r"outputs at $\varepsilon=0$, $b=0$"),
            (VERMILION, "longest principal axis"),
            (GREEN, "shortest"),
            (ORANGE, r"recipe $\sqrt{d}\,|g_i|$ for zero gains: too long"),
        )
    ]
    handles[-1].set_linestyle("--")
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle("Principal axes of the outputs for six gains in three dimensions")
    return figure
