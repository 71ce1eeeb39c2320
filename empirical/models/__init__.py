"""Models: where their norm layers are, and how they are loaded."""

from __future__ import annotations

from ._sites import Kind as Kind, NormSite as NormSite, Role as Role

__all__ = ["Kind", "NormSite", "Role"]
