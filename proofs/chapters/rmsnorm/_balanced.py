"""Sampler of vectors orthogonal to 1, on which RMSNorm is LayerNorm."""

from __future__ import annotations

from random import Random
from typing import Any

from ..._hypotheses import centered
from ...checks import draw_scalar, draw_vector


def balanced_model(random: Random, d: int) -> dict[str, Any]:
    """Vectors of sum 0, and arbitrary parameters."""
    return {
        "x": centered(random, d),
        "h": draw_vector(random, d),
        "a": draw_vector(random, d),
        "g": draw_vector(random, d),
        "b": centered(random, d),
        "c": draw_scalar(random),
        "eps": abs(draw_scalar(random)),
    }
