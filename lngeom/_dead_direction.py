"""The direction in which no output of a LayerNorm varies."""

from ._axes import check_gain
from .carriers import Array, namespace, narrow, widen


def dead_direction(gain: Array) -> Array:
    """Unit vector n with n·(z − b) = 0 for every output z of a LayerNorm with this gain and bias b.

    n = α/‖α‖ with α_i = 1/g_i where no gain is zero: α·(g ∘ y) = 1·y = 0, so that cov(z) n = 0 for every distribution
    of inputs. With k ≥ 1 zero gains every vector on them is dead; n = 1_Z/√k is returned, the limit as these gains tend
    to zero together. ``Ellipsoid(gain).normals`` is the whole dead subspace. Returns shape (d,), in the dtype of
    `gain`. Source: Riechers, arXiv:2405.04134, Π₂ = I − αα^T/(α^Tα); the zero-gain case follows from z_i = b_i there.

    >>> import numpy as np, lngeom as lg
    >>> gain = np.array([3.0, 4.0])
    >>> lg.dead_direction(gain)
    array([0.8, 0.6])
    >>> bool(abs(lg.dead_direction(gain) @ lg.layer_norm(np.array([5.0, 1.0]), gain, eps=1e-5)) < 1e-15)
    True
    """
    check_gain(gain)
    xp, wide = namespace(gain), widen(gain)
    zero = wide == 0
    # Scaled so that the largest component is ±1: the norm neither overflows nor underflows.
    alpha = xp.astype(zero, wide.dtype) if bool(xp.any(zero)) else xp.min(xp.abs(wide)) / wide
    return narrow(alpha / xp.sqrt(xp.sum(alpha * alpha)), gain)
