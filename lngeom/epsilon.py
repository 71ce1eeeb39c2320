"""The effect of ε: how far from the surface an output lies, and the relation of the two places of ε."""

import math

from .carriers import Array, Carrier, check_vectors, door, in_range, namespace
from .norms import Placement, normalized, scale
from .projection import mean_square, scaled_moments

__all__ = ["matching_eps", "relative_radius", "relative_radius_from_mean_square"]


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


@door
def matching_eps(x: Array, *, eps: Carrier, placement: Placement = "inside") -> Array:
    """The ε' in the *other* place that gives the same output for x: ε_inside = 2σε_outside + ε_outside².

    √(σ² + ε_inside) = σ + ε_outside holds for one σ at a time: no constant converts a layer from one convention to the
    other. From inside to outside it reads ε_inside/(√(σ² + ε_inside) + σ), which does not cancel. `eps` and `placement`
    are what the layer has. Returns shape (...), one ε' per vector. Source: elementary; both conventions are used
    in the code of Zhang and Sennrich, arXiv:1910.07467.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([-3.0, 3.0])
    >>> float(lg.epsilon.matching_eps(x, eps=7.0)), float(lg.epsilon.matching_eps(x, eps=1.0, placement="outside"))
    (1.0, 7.0)
    """
    check_vectors("x", x)
    if isinstance(eps, int | float) and eps == 0:
        return 0 * scaled_moments(x)[1][..., 0]
    terms = normalized(x, eps=eps, placement=placement, centered=True)
    deviation = scale(terms.square, eps=0)
    if placement == "outside":
        deviation = deviation if terms.unit is None else deviation / terms.unit
        if not isinstance(eps, int | float):
            return (2 * deviation * eps + eps * eps)[..., 0]
        part = 2.0 ** (math.frexp(eps)[1] // 2)  # a number of the dtype, also where ε, or 2σ, is none
        return ((deviation + eps / 2) * part * (2 * eps / part))[..., 0]
    divisor, unit = terms.divisor + deviation, terms.unit
    if unit is None:
        return (terms.eps / divisor)[..., 0]
    # In the unit of a large row ε may have vanished; of a small one it may be a number of the dtype there only.
    xp, half = namespace(x), namespace(x).sqrt(unit)
    return xp.where(unit > 1, terms.eps / divisor / unit, eps * half / divisor * half)[..., 0]
