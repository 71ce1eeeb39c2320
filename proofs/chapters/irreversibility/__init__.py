"""Irreversibility: which inputs a norm layer cannot tell apart, and what can be recovered from its output."""

from __future__ import annotations

from . import _fibers, _forgotten, _others

THEOREMS = (*_forgotten.THEOREMS, *_fibers.THEOREMS, *_others.THEOREMS)
