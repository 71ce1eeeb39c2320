"""RMSNorm: how it differs from LayerNorm, where its outputs lie, and when it may take LayerNorm's place exactly."""

from __future__ import annotations

from . import _definition, _folding, _outputs

THEOREMS = (*_definition.THEOREMS, *_outputs.THEOREMS, *_folding.THEOREMS)
