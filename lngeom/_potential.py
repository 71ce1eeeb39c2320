"""The convex function whose gradient LayerNorm is, and the sharp Lipschitz constant of that gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ._axes import check_gain, principal_axes
from ._norms import Placement, normalized, scale
from .carriers import Array, check_vectors, namespace


def lipschitz_constant(gain: Array, *, eps: float, placement: Placement = "inside", centered: bool = True) -> float:
    r"""Smallest L with ‖LN(x) − LN(x')‖ ≤ L‖x − x'‖ for all x and x': ‖GΠ‖₂/√ε, ‖GΠ‖₂/ε for ε outside.

    Attained by the derivative on the line of constant vectors; a bias does not change it. ‖GΠ‖₂ is the longest
    semi-axis of :func:`lngeom.principal_axes` over √d, between the largest and the second largest |g_i|.

    Args:
        gain: array, shape (d,). ``uniform(d)`` for a layer without gain.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}
        centered: False for RMSNorm: max |g_i|/√ε.

    Returns:
        float: Infinite at ε = 0, where the norm is discontinuous on a line (LayerNorm) or at a point (RMSNorm); 0 if
            the layer is constant (d = 1, or all gains zero).

    References:
        Sharp form of the bounds by 1/√ε; the norm of the Jacobian is that of Xiong et al., arXiv:2002.04745, Lemma 3.

    >>> import numpy as np, lngeom as lg
    >>> round(lg.lipschitz_constant(np.array([1.0, 2.0]), eps=1e-4), 9)
    158.113883008
    """
    check_gain(gain)
    divisor = float(scale(numpy.zeros(1), eps=eps, placement=placement)[0])
    axes = principal_axes(gain, centered=centered)
    if len(axes) == 0:
        return 0.0
    norm = float(axes.semi_axes[0]) / math.sqrt(axes.d)
    return norm / divisor if divisor > 0 else math.inf


def potential(x: Array, *, eps: Any, centered: bool = True) -> Array:
    r"""Convex function φ(x) = d√(σ² + ε) whose gradient is the standardized vector: ∇φ = :func:`standardize`.

    LayerNorm before its gain is therefore monotone, its Jacobian is symmetric positive semidefinite, and it is
    1/√ε-Lipschitz and √ε-cocoercive. For ε inside the root.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32.
        eps: ε ≥ 0.
        centered: False for RMSNorm: d√(‖x‖²/d + ε), whose gradient is ``rms_norm(x, eps=eps)``.

    Returns:
        array, shape (...): float32 for half-precision `x`. At ε = 0 it is √d ‖Πx‖, which has a kink where Πx = 0.

    References:
        Baillon and Haddad, Israel J. Math. 26 (1977), for cocoercivity of the gradient of a smooth convex function.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.potential(np.array([3.0, -3.0]), eps=7.0))
    8.0
    """
    check_vectors("x", x)
    terms = normalized(x, eps=eps, placement="inside", centered=centered)
    root = terms.divisor if terms.unit is None else terms.divisor / terms.unit
    return namespace(x).sum(root * namespace(x).ones_like(terms.y), axis=-1)
