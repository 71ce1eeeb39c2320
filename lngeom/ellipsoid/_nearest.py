"""Nearest point of an axis-parallel ellipsoid, by a Newton iteration that needs no safeguard."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_EPSILON = 2.0**-52
# Newton's iteration below is monotone and quadratic at the end; it takes up to about 10 steps. This only bounds
# the loop where the last steps are rounding.
_STEPS = 100
# Below this part of a squared longest semi-axis a product sc counts as 0: reciprocals of it would overflow.
_NEGLIGIBLE = 2.0**-1000


def nearest_on_ellipsoid(points: Floats, lengths: Floats) -> Floats:
    """Nearest points of the surface Σ (pᵢ/sᵢ)² = 1 to `points` c, shape (..., m); `lengths` s descending.

    Accurate to rounding of the longest semi-axis and of |c|.

    p = s²c/(s² + t) for the largest root t of ‖sc/(s² + t)‖ = 1 (a trust-region problem). With t = q − s_min² the
    denominators (s − s_min)(s + s_min) + q have no cancellation. 1/‖sc/(s² + t)‖ is concave and increasing in t, so
    Newton's iteration on it from the left never overshoots (Moré and Sorensen, SIAM J. Sci. Stat. Comput. 4, 1983).
    """
    if lengths.size == 0:
        return np.zeros_like(points)
    unit = lengths[0]
    s, c = lengths / unit, points.reshape(-1, lengths.size) / unit
    shortest = s[-1]
    poles = (s - shortest) * (s + shortest)
    pull = s * np.abs(c)
    pull[pull < _NEGLIGIBLE] = 0.0
    # Every single term equals 1 at q = pull - pole, so the sum is at least 1 at the largest of these.
    q = np.maximum(np.max(pull - poles, axis=-1, keepdims=True), 0.0)
    active = np.ones_like(q, dtype=bool)
    for _ in range(_STEPS):
        distance = poles + q
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(pull > 0.0, pull / distance, 0.0)
            square = np.sum(ratio * ratio, axis=-1, keepdims=True)
            slope = np.sum(np.where(pull > 0.0, ratio * ratio / distance, 0.0), axis=-1, keepdims=True)
            step = np.where(slope > 0.0, (np.sqrt(square) - 1.0) * square / slope, 0.0)
        active &= step > _EPSILON * q
        if not active.any():
            break
        q = np.where(active, q + step, q)
    distance = poles + q
    result = np.where(pull == 0.0, 0.0, s * (s * c) / np.where(pull == 0.0, 1.0, distance))
    # On the symmetry planes of the shortest axes, close enough to the center, the sum stays below 1 at q = 0. The
    # nearest points then leave the plane, along a shortest axis.
    missing = 1.0 - np.sum((result / s) ** 2, axis=-1)
    leaves = (q[:, 0] == 0.0) & (missing > 0.0)
    result[leaves, -1] = shortest * np.sqrt(missing[leaves])
    return (result * unit).reshape(points.shape)
