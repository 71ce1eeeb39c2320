"""The ellipsoid that the outputs of a norm layer fill: its principal axes and its dead directions."""

from .axes import PrincipalAxes, dead_direction, principal_axes, to_numpy as to_numpy
from .ellipsoid import Ellipsoid

__all__ = ["Ellipsoid", "PrincipalAxes", "dead_direction", "principal_axes"]
