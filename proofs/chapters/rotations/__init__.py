"""Rotations: which changes of basis a norm layer allows, and in what sense the uniform vector is arbitrary."""

from __future__ import annotations

from . import _commutant, _reflection

THEOREMS = (*_reflection.THEOREMS, *_commutant.THEOREMS)
"""The theorems, a question a file."""
