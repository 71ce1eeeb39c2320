"""Standardization: LayerNorm before gain and bias projects onto a sphere of radius √d in the hyperplane 1^⊥."""

from __future__ import annotations

from . import _layer, _vector

THEOREMS = (*_vector.THEOREMS, *_layer.THEOREMS)
