"""Flat panels, and how a vector is written."""

import numpy as np
from matplotlib.axes import Axes

from lngeom.colors import QUIET
from lngeom.plot import Floats, around, turned


def ring(axes: Axes) -> None:
    """The circle of radius √3 in a flat panel, on which outputs lie at ε = 0."""
    axes.plot(*np.sqrt(3) * turned(around(361))[..., :2].T, color=QUIET, linewidth=1.0)


def components(x: Floats) -> str:
    """A vector in words."""
    return f"({', '.join(f'{value:g}' for value in x)})".replace("-", "−")
