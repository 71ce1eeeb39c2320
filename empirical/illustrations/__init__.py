"""Pictures of the geometry, every point of them computed by :mod:`lngeom`, and of where measured models lie in it.

Each is drawn by ``lngeom figure NAME``. Nothing here runs a model: what models did is read from the table of a run.
"""

from __future__ import annotations

from ._gallery import FIGURES as FIGURES, Illustration as Illustration, draw as draw, save as save

__all__ = ["FIGURES", "Illustration", "draw", "save"]
