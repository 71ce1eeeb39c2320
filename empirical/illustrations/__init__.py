"""Pictures of the geometry in three dimensions, every point of them computed by :mod:`lngeom`.

Each is drawn by ``lngeom figure NAME``; nothing here needs a model.
"""

from __future__ import annotations

from ._gallery import FIGURES as FIGURES, Illustration as Illustration, draw as draw, save as save

__all__ = ["FIGURES", "Illustration", "draw", "save"]
