"""Ellipsoid: where the outputs of LayerNorm lie, and its principal axes."""

from __future__ import annotations

from . import _image, _inverse, _quadric, _secular, _sensitivity, _zero_gains
from ._zero_gains import INVERSE_ON_SUPPORT as INVERSE_ON_SUPPORT, zero_gain_model as zero_gain_model

THEOREMS = (
    *_image.THEOREMS,
    *_quadric.THEOREMS,
    *_inverse.THEOREMS,
    *_secular.THEOREMS,
    *_sensitivity.THEOREMS,
    *_zero_gains.THEOREMS,
)
