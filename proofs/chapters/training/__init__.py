"""Training: what a norm does to weights, steps and gradients, and what becomes of the direction of 1."""

from __future__ import annotations

from . import _branches, _contrasts, _steps, _uniform

THEOREMS = (*_steps.THEOREMS, *_uniform.THEOREMS, *_branches.THEOREMS, *_contrasts.THEOREMS)
"""The theorems, a question a file."""
