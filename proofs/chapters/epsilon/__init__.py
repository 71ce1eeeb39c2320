"""Epsilon: with ε > 0 outputs lie inside the sphere, and how deep is a matter of σ²/ε."""

from __future__ import annotations

from . import _length, _limits, _outside, _placements

THEOREMS = (*_length.THEOREMS, *_placements.THEOREMS, *_outside.THEOREMS, *_limits.THEOREMS)
