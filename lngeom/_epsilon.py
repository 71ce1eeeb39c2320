"""What ε does: the gauge, how far from the surface an output lies, and the relation of the two places of ε."""

from __future__ import annotations

from typing import Any

from ._norms import Placement, normalized, scale
from ._projection import moments
from .carriers import Array, check_vectors


def gauge(x: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""Gauge r = ‖y‖/√d = σ/√(σ² + ε) of the LayerNorm output: 1 on the surface of the ellipsoid, 0 at its center.

    Gain and bias do not change it: the gauge of an ellipsoid is invariant under the affine map that makes it.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}. σ/√(σ² + ε) or σ/(σ + ε).

    Returns:
        array, shape (...): Between 0 and 1; NaN for a constant vector at ε = 0. float32 for half-precision `x`.

    References:
        Riechers, arXiv:2405.04134, eq. 6 and figure 2.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.gauge(np.array([-3.0, 3.0]), eps=7.0))
    0.75
    """
    check_vectors("x", x)
    terms = normalized(x, eps=eps, placement=placement, centered=True)
    return (scale(terms.square, eps=0) / terms.divisor)[..., 0]


def gauge_from_mean_square(mean_square: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""Gauge √(m/(m + ε)) of a norm layer: m = σ² for LayerNorm, m = ‖x‖²/d for RMSNorm.

    Args:
        mean_square: m ≥ 0, real floating dtype.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}. √m/√(m + ε) or √m/(√m + ε).

    Returns:
        array: Between 0 and 1, of the shape of `mean_square`; NaN where m = 0 at ε = 0.

    References:
        Riechers, arXiv:2405.04134, eq. 6.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.gauge_from_mean_square(np.array(9.0), eps=7.0))
    0.75
    """
    return scale(mean_square, eps=0) / scale(mean_square, eps=eps, placement=placement)


def matching_eps(x: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""The ε' in the *other* place that gives the same output for x: ε_inside = 2σε_outside + ε_outside².

    √(σ² + ε_inside) = σ + ε_outside holds for one σ at a time, so that no constant converts a layer from one
    convention to the other: the relation is per vector. From inside to outside it reads
    ε_outside = ε_inside/(√(σ² + ε_inside) + σ), which does not cancel.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32.
        eps: ε ≥ 0 as the layer has it.
        placement: {"inside", "outside"}. Where the layer has it.

    Returns:
        array, shape (...): ε' for the other placement, one per vector; float32 for half-precision `x`.

    References:
        Elementary; both conventions occur side by side in the code of Zhang and Sennrich, arXiv:1910.07467.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([-3.0, 3.0])
    >>> float(lg.matching_eps(x, eps=7.0)), float(lg.matching_eps(x, eps=1.0, placement="outside"))
    (1.0, 7.0)
    """
    check_vectors("x", x)
    if isinstance(eps, int | float) and eps == 0:
        return 0 * moments(x)[1][..., 0]
    terms = normalized(x, eps=eps, placement=placement, centered=True)
    unit = 1 if terms.unit is None else terms.unit
    deviation, divisor = scale(terms.square, eps=0) / unit, terms.divisor / unit
    if placement == "outside":
        return (2 * deviation * eps + eps * eps)[..., 0]
    return (eps / (divisor + deviation))[..., 0]
