"""Pictures of the geometry, every point of them computed by :mod:`lngeom`, and of where measured models lie in it."""

from typing import TYPE_CHECKING

from ..._lazy import lazy

if TYPE_CHECKING:
    from ._gallery import FIGURES as FIGURES, Illustration as Illustration, draw as draw, save as save
else:
    __getattr__ = lazy(__name__, __file__)
