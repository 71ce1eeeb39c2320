"""Pictures of the geometry, a function each: :mod:`lngeom` computes every point of them, or a model was measured."""

from ._axes import axes
from ._gauge import gauge_angles
from ._outputs import eps_sweep
from ._rms import layer_norm_rms_norm
from ._steps import steps

__all__ = ["axes", "eps_sweep", "gauge_angles", "layer_norm_rms_norm", "steps"]
