"""Angles between two vectors, from their inner product and what is kept of each."""

from __future__ import annotations

from typing import Any

from ._projection import angle_from_moments
from .carriers import Array, namespace


def angle_from_inner_product(inner: Array, norm: Array, other: Array) -> Array:
    r"""Angle θ between two vectors of given inner product and norms, as atan2(√(1 − c²), c) with c = x·z/(‖x‖‖z‖).

    Args:
        inner: x·z, real floating dtype.
        norm, other: ‖x‖ and ‖z‖, shapes that broadcast.

    Returns:
        array: Radians from 0 to π; NaN where a norm is 0. Where rounding leaves |c| above 1 it is 0 or π.

    References:
        Theorem ``angles.between``.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angle_from_inner_product(np.array(-2.0), np.array(2.0), np.array(2.0))).round(9))
    120.0
    """
    xp = namespace(inner, norm, other)
    cosine = inner / (norm * other)
    return angle_from_moments(cosine, xp.clip(1 - cosine * cosine, 0, None))


def centered_inner_product(inner: Array, mean: Array, other: Array, d: Any) -> Array:
    r"""Inner product (x − μ1)·z = x·z − dμν of a centred vector with another one, ν the mean of z.

    LayerNorm turns x into the direction of x − μ1; what gain and bias then turn it further is the angle between
    x − μ1 and the output z.

    Args:
        inner: x·z, real floating dtype.
        mean, other: μ and ν, shapes that broadcast.
        d: Dimension of the two vectors.

    Returns:
        array: Of the broadcast shape.

    References:
        Theorem ``projection.inner_product``.

    >>> import numpy as np, lngeom as lg
    >>> x, z = np.array([1.0, 2.0, 6.0]), np.array([0.0, 1.0, 2.0])
    >>> float(lg.centered_inner_product(x @ z, x.mean(), z.mean(), 3)), float(lg.project(x) @ z)
    (5.0, 5.0)
    """
    return inner - d * mean * other
