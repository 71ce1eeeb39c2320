"""Flat panels, and how a vector is written."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from lngeom.colors import QUIET
from lngeom.plot import Floats, around, turned


def plane(x: ArrayLike) -> Floats:
    """The projection to the hyperplane 1^⊥ in two coordinates; shape (..., 2)."""
    return turned(x)[..., :2]


def ring(axes: Axes) -> None:
    """The circle of radius √3 in a flat panel, on which outputs lie at ε = 0."""
    axes.plot(*np.sqrt(3) * plane(around(361)).T, color=QUIET, linewidth=1.0)


def components(x: Floats) -> str:
    """A vector in words."""
    return f"({', '.join(f'{value:g}' for value in x)})".replace("-", "−")
