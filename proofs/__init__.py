"""Theorems about LayerNorm and RMSNorm, their proofs, and the ledger of claims."""

from typing import TYPE_CHECKING, Any

from ._registry import CHAPTERS as CHAPTERS, find as find, theorems as theorems

if TYPE_CHECKING:
    from ._evidence import Evidence as Evidence, gather as gather

__all__ = ["CHAPTERS", "Evidence", "find", "gather", "theorems"]


def __getattr__(name: str) -> Any:
    # The checks load Hypothesis, which whoever looks a theorem up does not need.
    if name not in ("Evidence", "gather"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _evidence

    return getattr(_evidence, name)
