"""The effect of ε: how far from the surface an output lies."""

from .carriers import Array, Carrier, check_vectors, door, in_range
from .norms import Placement, normalized, scale
from .projection import mean_square

__all__ = ["relative_radius", "relative_radius_from_mean_square"]


@door
def relative_radius(x: Array, *, eps: Carrier, placement: Placement = "inside") -> Array:
    """Relative radius r = ‖y‖/√d = σ/√(σ² + ε) of the LayerNorm output: 1 on the surface, 0 at the center.

    Gain and bias do not change it, nor does any affine map: r is :meth:`lngeom.Ellipsoid.relative_radius` of the
    output. With ε outside r = σ/(σ + ε). Returns shape (...), from 0 to 1. Source: Riechers, arXiv:2405.04134, eq. 6
    and figure 2.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.epsilon.relative_radius(np.array([-3.0, 3.0]), eps=7.0))
    0.75
    """
    check_vectors("x", x)
    terms = normalized(x, eps=eps, placement=placement, centered=True)
    # A deviation that is small beside eps has a square that may vanish.
    _, square, _, unit = in_range(lambda v, unit: (None, mean_square(v if unit is None else v * unit)), terms.v)
    deviation = scale(square, eps=0)
    return ((deviation if unit is None else deviation / unit) / terms.divisor)[..., 0]


@door
def relative_radius_from_mean_square(mean_square: Array, *, eps: Carrier, placement: Placement = "inside") -> Array:
    """Relative radius √(m/(m + ε)), or √m/(√m + ε), of a norm layer whose vectors have the `mean_square` m.

    m is σ² for LayerNorm, ‖x‖²/d for RMSNorm. Returns the shape of `mean_square`; NaN where m = 0 at ε = 0. Source:
    Riechers, arXiv:2405.04134, eq. 6.
    """
    return scale(mean_square, eps=0) / scale(mean_square, eps=eps, placement=placement)
