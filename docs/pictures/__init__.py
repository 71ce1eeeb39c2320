"""Pictures of the geometry, a function each: :mod:`lngeom` computes every point of them, or a model was measured."""

from ._axes import axes
from ._derivative import jacobian
from ._fibers import fibers
from ._outputs import eps_sweep, keys, outputs
from ._relatives import adamw, mirror
from ._rms import layer_norm_rms_norm
from ._steps import steps

__all__ = [
    "adamw",
    "axes",
    "eps_sweep",
    "fibers",
    "jacobian",
    "keys",
    "layer_norm_rms_norm",
    "mirror",
    "outputs",
    "steps",
]
