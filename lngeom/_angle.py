"""Angles between two vectors, from their inner product and what is kept of each."""

from __future__ import annotations

from typing import Any

from ._projection import angle_from_moments
from .carriers import Array, namespace


def angle_from_inner_product(inner: Array, norm: Array, other: Array) -> Array:
    """Angle θ between two vectors of given inner product and norms, as atan2(√(1 − c²), c) with c = x·z/(‖x‖‖z‖).

    `inner` is x·z, `norm` and `other` are ‖x‖ and ‖z‖, of shapes that broadcast. Returns radians from 0 to π; NaN where
    a norm is 0, and 0 or π where rounding leaves |c| above 1. Source: theorem ``angles.between``.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angle_from_inner_product(np.array(-2.0), np.array(2.0), np.array(2.0))).round(9))
    120.0
    """
    xp = namespace(inner, norm, other)
    cosine = inner / (norm * other)
    return angle_from_moments(cosine, xp.clip(1 - cosine * cosine, 0, None))


def centered_inner_product(inner: Array, mean: Array, other: Array, d: Any) -> Array:
    """Inner product (x − μ1)·z = x·z − dμν of a centred vector with another one, ν the mean of z.

    LayerNorm turns x into the direction of x − μ1; gain and bias turn it further by the angle between x − μ1 and z.
    `inner` is x·z, `mean` and `other` are μ and ν, of shapes that broadcast, and `d` is the dimension. Returns numbers
    of that shape. Source: theorem ``projection.inner_product``.

    >>> import numpy as np, lngeom as lg
    >>> x, z = np.array([1.0, 2.0, 6.0]), np.array([0.0, 1.0, 2.0])
    >>> float(lg.centered_inner_product(x @ z, x.mean(), z.mean(), 3)), float(lg.project(x) @ z)
    (5.0, 5.0)
    """
    return inner - d * mean * other
