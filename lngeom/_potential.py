"""The convex function whose gradient LayerNorm is, and the sharp Lipschitz constant of that gradient."""

import math
from typing import Any

import numpy

from ._axes import check_gain, principal_axes
from ._norms import Placement, normalized, scale
from .carriers import Array, check_vectors, namespace


def lipschitz_constant(gain: Array, *, eps: float, placement: Placement = "inside", centered: bool = True) -> float:
    """Smallest L with ‖LN(x) − LN(x')‖ ≤ L‖x − x'‖ for all x and x': ‖GΠ‖₂/√ε, ‖GΠ‖₂/ε for ε outside.

    Attained by the derivative on the line of constant vectors; a bias does not change it. ‖GΠ‖₂ is the longest
    semi-axis of :func:`lngeom.principal_axes` over √d, between the largest and the second largest |g_i|; for RMSNorm it
    is max |g_i|. Returns a float: infinite at ε = 0, where the norm is discontinuous, and 0 if the layer is constant.
    Source: sharp form of the bounds by 1/√ε; the norm of the Jacobian is that of Xiong et al., arXiv:2002.04745, Lemma
    3.

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
    """Convex function φ(x) = d√(σ² + ε) whose gradient is the standardized vector: ∇φ = :func:`standardize`.

    LayerNorm before its gain is therefore monotone, its Jacobian symmetric positive semidefinite, and it is
    1/√ε-Lipschitz and √ε-cocoercive. For ε inside the root. Returns shape (...); at ε = 0 it is √d ‖Πx‖, with a kink
    where Πx = 0. Source: Baillon and Haddad, Israel J. Math. 26 (1977), for cocoercivity of the gradient of a smooth
    convex function.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.potential(np.array([3.0, -3.0]), eps=7.0))
    8.0
    """
    check_vectors("x", x)
    terms = normalized(x, eps=eps, placement="inside", centered=centered)
    root = terms.divisor if terms.unit is None else terms.divisor / terms.unit
    return namespace(x).sum(root * namespace(x).ones_like(terms.v), axis=-1)
