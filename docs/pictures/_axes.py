"""Principal axes of the ellipsoid of outputs for several gains."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.colors import ORANGE
from lngeom.plot import turned

from ._space import components

GAINS = (
    ((1.0, 1.0, 1.0), "equal gains: a circle, any axes"),
    ((1.5, 1.0, 0.5), "different gains: tilted, stretched"),
    ((1.5, -1.0, 0.5), "a negative gain: mirrored, same lengths"),
    ((1.2, 1.2, 0.3), "two equal gains: one axis between"),
    ((1.2, 1.2, 0.0), "one zero gain: still an ellipse"),
    ((1.2, 0.7, 0.0), "dashed: the recipe $\\sqrt{d}\\,|g_i|$, too long"),
)


def axes() -> Figure:
    """Ellipses of outputs with their principal axes, and the axes that the squared Drazin inverse would give."""
    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    for k, (values, title) in enumerate(GAINS):
        gain = np.array(values)
        panel = lg.plot.ellipsoid(gain, ax=figure.add_subplot(2, 3, k + 1, projection="3d"))
        if not gain.all():
            # The ellipse with semi-axes √d|g_i| along the coordinates, which is too long.
            recipe = np.sqrt(3.0) * gain * np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
            panel.plot(*turned(recipe).T, color=ORANGE, linestyle="--")
        shown = ", ".join(f"{length:.3f}" for length in lg.principal_axes(gain).semi_axes)
        panel.set_title(f"$g$ = {components(gain)}\n{title}\nsemi-axes {shown}")
    return figure
