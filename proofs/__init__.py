"""Theorems about LayerNorm and RMSNorm, their proofs, and the ledger of claims."""

from __future__ import annotations

from ._registry import CHAPTERS as CHAPTERS, find as find, theorems as theorems
from ._theorem import (
    CheckError as CheckError,
    Mutant as Mutant,
    Source as Source,
    Theorem as Theorem,
)
from .checks import Evidence as Evidence, gather as gather

__all__ = [
    "CHAPTERS",
    "CheckError",
    "Evidence",
    "Mutant",
    "Source",
    "Theorem",
    "find",
    "gather",
    "theorems",
]
