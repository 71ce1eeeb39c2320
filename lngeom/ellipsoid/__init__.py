"""The ellipsoid that the outputs of a norm layer fill: its principal axes, their certificates, its dead directions."""

from ._axes import PrincipalAxes, dead_direction, principal_axes
from ._certificate import Certificate
from ._ellipsoid import Ellipsoid

__all__ = ["Certificate", "Ellipsoid", "PrincipalAxes", "dead_direction", "principal_axes"]
