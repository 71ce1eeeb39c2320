"""Norm layers found by what they compute, never by their names."""

from __future__ import annotations

from ._behaviour import Behaviour as Behaviour, behaviour as behaviour, probes as probes

__all__ = ["Behaviour", "behaviour", "probes"]
