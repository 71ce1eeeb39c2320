"""Jacobian: the derivative of LayerNorm, its spectrum, its norm, and the bounds that do not hold."""

from __future__ import annotations

from . import _form, _monotone, _spectrum

THEOREMS = (*_form.THEOREMS, *_spectrum.THEOREMS, *_monotone.THEOREMS)
