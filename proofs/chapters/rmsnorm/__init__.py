"""RMSNorm: how it differs from LayerNorm, where its outputs lie, and when it may take LayerNorm's place exactly."""

from __future__ import annotations

from . import _definition, _distance, _fold_limits, _folding, _outputs

THEOREMS = (*_definition.THEOREMS, *_distance.THEOREMS, *_outputs.THEOREMS, *_folding.THEOREMS, *_fold_limits.THEOREMS)
