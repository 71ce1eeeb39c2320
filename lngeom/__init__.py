"""The geometry of LayerNorm and RMSNorm, for NumPy, PyTorch and every other array-API library.

Vectors lie along the last axis: x has shape (..., d). Gain and bias have shape (d,). Angles are in radians.
ε (``eps``) is an explicit keyword everywhere, because its value and its place differ between libraries.
"""

from __future__ import annotations

import importlib.metadata

from ._axes import (
    PrincipalAxes as PrincipalAxes,
    dead_direction as dead_direction,
    principal_axes as principal_axes,
)
from ._certificate import Certificate as Certificate
from ._epsilon import gauge as gauge
from ._errors import InputError as InputError, LngeomError as LngeomError
from ._norms import (
    layer_norm as layer_norm,
    rms_norm as rms_norm,
    scale as scale,
    standardize as standardize,
)
from ._projection import (
    angle_to_uniform as angle_to_uniform,
    mean_vector as mean_vector,
    moments as moments,
    project as project,
    uniform as uniform,
)

__version__ = importlib.metadata.version("lngeom")

__all__ = [
    "Certificate",
    "InputError",
    "LngeomError",
    "PrincipalAxes",
    "angle_to_uniform",
    "dead_direction",
    "gauge",
    "layer_norm",
    "mean_vector",
    "moments",
    "principal_axes",
    "project",
    "rms_norm",
    "scale",
    "standardize",
    "uniform",
]
