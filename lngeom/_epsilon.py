"""What ε does: the gauge, how far from the surface of the ellipsoid an output lies."""

from __future__ import annotations

from typing import Any

from ._carrier import Array
from ._norms import Placement, scale
from ._projection import moments


def gauge(x: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""Gauge r = ‖y‖/√d = σ/√(σ² + ε) of the LayerNorm output: 1 on the surface of the ellipsoid, 0 at its center.

    Gain and bias do not change it: the gauge of an ellipsoid is invariant under the affine map that makes it.

    Parameters
    ----------
    x : array, shape (..., d)
        Real floating dtype; float16 and bfloat16 are computed in float32.
    eps : float
        ε ≥ 0.
    placement : {"inside", "outside"}
        σ/√(σ² + ε) or σ/(σ + ε).

    Returns
    -------
    array, shape (...)
        Between 0 and 1; NaN for a constant vector at ε = 0. float32 for half-precision `x`.

    Raises
    ------
    InputError
        As :func:`lngeom.layer_norm`.

    References
    ----------
    Riechers, arXiv:2405.04134, eq. 6 and figure 2.

    Examples
    --------
    >>> import numpy as np, lngeom as lg
    >>> float(lg.gauge(np.array([-3.0, 3.0]), eps=7.0))
    0.75
    """
    _, variance = moments(x)
    standard_deviation = scale(variance, eps=0)
    return (standard_deviation / scale(variance, eps=eps, placement=placement))[..., 0]
