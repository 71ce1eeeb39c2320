"""Residual stream: what the blocks add up to, how its norm changes, and what a shift along 1 does to the network."""

from __future__ import annotations

from . import _growth, _shift

THEOREMS = (*_growth.THEOREMS, *_shift.THEOREMS)
