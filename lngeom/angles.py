"""The angle of a vector with the all-ones vector, and between vectors."""

import math

from .carriers import Array, check_vectors, door, dtype_name, finfo, namespace, widen
from .projection import scaled_moments

__all__ = ["angle_from_inner_product", "angle_from_moments", "angle_to_uniform"]


@door
def angle_to_uniform(x: Array) -> Array:
    """Angle θ between x and the all-ones vector 1, as atan2(σ, μ), from 0 to π.

    Since x·1 = dμ and ‖x‖² = d(μ² + σ²), cos θ = μ/√(μ² + σ²) and sin θ = σ/√(μ² + σ²). The arc tangent keeps its
    relative accuracy at every angle, where an arc cosine loses it near 0 and π. Near them σ is as accurate as the mean
    is: an error e of the mean, at most du·|μ| for the unit roundoff u, makes it √(σ² + e²), but for rows whose
    components differ by less than 2du·|μ|, which lose nothing. Returns shape (...); NaN for the zero vector, which has
    no angle. Source: Gupta et al., arXiv:2409.12951, sections 2.1 (θ_x1) and 3.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angles.angle_to_uniform(np.array([1.0, -1.0]))))
    90.0
    """
    check_vectors("x", x)
    mean, variance, _ = scaled_moments(x)
    angle, xp = angle_from_moments(mean, variance), namespace(mean)
    return xp.where((mean == 0) & (variance == 0), xp.full_like(angle, math.nan), angle)[..., 0]


@door
def angle_from_moments(mean: Array, variance: Array) -> Array:
    """Angle atan2(σ, μ) with the all-ones vector 1 of a vector whose components have `mean` μ and `variance` σ².

    The second half of :func:`angle_to_uniform`, for callers that need the moments as well. Returns the
    broadcast shape; NaN where a variance is negative, and 0 where both are 0. Source: Gupta et al.,
    arXiv:2409.12951, section 2.1.
    """
    xp = namespace(mean, variance)
    return xp.atan2(xp.sqrt(widen(variance)), widen(mean))


@door
def angle_from_inner_product(inner: Array, norm: Array, other: Array) -> Array:
    """Angle θ between two vectors of given inner product and norms, as atan2(√(1 − c²), c) with c = x·z/(‖x‖‖z‖).

    `inner` is x·z, `norm` and `other` are ‖x‖ and ‖z‖, of shapes that broadcast. Returns radians from 0 to π: 0 or π
    where rounding leaves c outside [−1, 1]; NaN where a norm is not positive, and where |c| exceeds 1 by more than the
    root of the epsilon of a dtype, half of all digits, so that the numbers belong to no two vectors. Small angles are
    lost: rounding the three numbers moves an angle near 0 or π by up to the root of the unit roundoff, 1e-8 in float64.
    Source: theorem ``angles.between``.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angles.angle_from_inner_product(np.array(-2.0), np.array(2.0), np.array(2.0))).round(9))
    120.0
    """
    xp = namespace(inner, norm, other)
    cosine = widen(inner) / widen(norm) / widen(other)  # the product of the norms may leave the range
    given = [array for array in (inner, norm, other, cosine) if "float" in dtype_name(array)]
    excess, slack = abs(cosine) - 1, max(float(finfo(array).eps) for array in given) ** 0.5
    cosine = xp.where((excess <= slack) & (norm >= 0) & (other >= 0), cosine, xp.full_like(cosine, math.nan))
    return angle_from_moments(cosine, xp.clip(1 - cosine * cosine, 0, None))
