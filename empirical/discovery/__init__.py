"""Norm layers found by what they compute, never by their names."""

from __future__ import annotations

from ._norms import FoundNorm, NoNorm, Norms, call as call, norms
from ._probe import affine as affine, first_tensor as first_tensor, layer_error
from ._types import model_types as model_types, survey_types as survey_types

__all__ = ["FoundNorm", "NoNorm", "Norms", "layer_error", "norms"]
