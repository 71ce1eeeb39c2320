"""Measurement of language models: corpora, capture, statistics, the sweep and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .folding import fold as fold


def __getattr__(name: str) -> Any:
    """`fold`, loaded when it is asked for: commands show their help without PyTorch."""
    if name == "fold":
        from .folding import fold

        return fold
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
