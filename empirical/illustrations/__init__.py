"""Pictures of the geometry, every point of them computed by :mod:`lngeom`, and of where measured models lie in it.

Each is drawn by ``lngeom figure NAME``. Nothing here runs a model: what models did is read from the table of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._gallery import FIGURES, Illustration, draw, save
    from ._style import FORMATS as FORMATS
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = ["FIGURES", "Illustration", "draw", "save"]
