"""The quantities of LayerNorm that derivatives are written with."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import Formula, greater

from ..._hypotheses import variance


def standardized(x: Any, eps: Any) -> Any:
    """Πx/√(σ² + ε)."""
    return lg.standardize(x, eps=eps)


def denominator(x: Any, eps: Any) -> Any:
    """√(σ² + ε)."""
    return lg.scale(variance(x), eps=eps)


def defined(x: Any, eps: Any) -> Formula:
    """σ² + ε > 0."""
    return greater(variance(x) + eps)


DEFINED = {"σ² + ε > 0": defined}
