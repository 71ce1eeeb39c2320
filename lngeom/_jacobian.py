"""First derivatives of LayerNorm and RMSNorm in closed form: products in O(d), the matrix, its singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from array_api_compat import device

from ._errors import InputError
from ._norms import Placement, normalized, scale
from ._projection import project
from .carriers import Array, check_parameter, check_vectors, namespace, narrow, widen

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


def _product(x: Array, vector: Array, *, eps: Any, placement: Placement, centered: bool) -> Array:
    """Jacobian (I − c·yyᵀ/d)/D without gain times `vector`; it is symmetric, so that this serves both sides."""
    terms = normalized(x, eps=eps, placement=placement, centered=centered)
    divisor, c = terms.divisor, 1
    y = terms.v / divisor
    if placement == "outside":
        size = scale(terms.square, eps=0)
        if hasattr(x, "shape"):  # the direction of v = 0 is arbitrary: the radial term vanishes with y
            size = namespace(x).where(size > 0, size, namespace(x).ones_like(size))
        c = divisor / size
    wide = project(widen(vector)) if centered else widen(vector)
    along = namespace(x, vector).mean(y * wide, axis=-1, keepdims=True)
    product = (wide - c * along * y) / divisor
    return product if terms.unit is None else product * terms.unit


def _check(x: Array, gain: Array | None, vector: Array = None, name: str = "vector") -> None:
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    if vector is not None:
        check_vectors(name, vector)
        if hasattr(vector, "shape") and hasattr(x, "shape") and vector.shape[-1] != x.shape[-1]:
            msg = (
                f"{name} has shape {tuple(vector.shape)}, but x of shape {tuple(x.shape)} has vectors of dimension "
                f"{x.shape[-1]}: the last axes must be equal"
            )
            raise InputError(msg)


def jacobian_product(
    x: Array,
    tangent: Array,
    gain: Array | None = None,
    *,
    eps: Any,
    placement: Placement = "inside",
    centered: bool = True,
) -> Array:
    """Directional derivative J t of LayerNorm at x along the `tangent` t, in O(d): what ``torch.func.jvp`` returns.

    J t = g ∘ [Πt − c y (y·t)/d]/D with y = Πx/D, and D = √(σ² + ε), c = 1 for ε inside the root, or D = σ + ε, c = D/σ
    for ε outside. Directions orthogonal to 1 and x are divided by D; the radial direction y is shrunk further, by ε/D²
    inside and ε/D outside; shifts along 1 do nothing. Without the radial term diag(g/D)Π, a frequent mistake, is not
    the derivative. t, shape (..., d), broadcasts against `x`. Returns that shape; at σ = 0 and ε > 0 J = GΠ/√ε (GΠ/ε
    outside, where automatic differentiation gives NaN, because it takes √ at 0). Source: Xiong et al.,
    arXiv:2002.04745, proof of Lemma 3, at ε = 0; with ε by the quotient rule.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> lg.jacobian_product(x, x, eps=0.0)
    array([0., 0., 0., 0.])
    >>> lg.jacobian_product(x, np.array([1.0, 1.0, -1.0, -1.0]), eps=3.0)
    array([ 0.5,  0.5, -0.5, -0.5])
    """
    _check(x, gain, tangent, "tangent")
    product = _product(x, tangent, eps=eps, placement=placement, centered=centered)
    return narrow(product if gain is None else widen(gain) * product, x)


def jacobian_transpose_product(
    x: Array,
    cotangent: Array,
    gain: Array | None = None,
    *,
    eps: Any,
    placement: Placement = "inside",
    centered: bool = True,
) -> Array:
    """Gradient Jᵀc of c·LayerNorm(x) with respect to x, in O(d): the backward pass, ``torch.func.vjp``.

    The `cotangent` c is the gradient of a loss with respect to the output. Without the gain J is symmetric, so that Jᵀc
    = J₀(g ∘ c). The result is orthogonal to 1: the sum of the outputs of an ungained LayerNorm has gradient 0, which is
    not a bug. Returns the broadcast shape (..., d). Source: as :func:`jacobian_product`.

    >>> import numpy as np, lngeom as lg
    >>> lg.jacobian_transpose_product(np.array([3.0, -3.0, 0.0]), np.array([1.0, 1.0, 1.0]), eps=3.0)
    array([0., 0., 0.])
    """
    _check(x, gain, cotangent, "cotangent")
    weighted = cotangent if gain is None else widen(cotangent) * widen(gain)
    return narrow(_product(x, weighted, eps=eps, placement=placement, centered=centered), x)


def jacobian(
    x: Array, gain: Array | None = None, *, eps: Any, placement: Placement = "inside", centered: bool = True
) -> Array:
    """Jacobian matrix J[i, j] = ∂zᵢ/∂xⱼ of LayerNorm: J = G [Π − c yyᵀ/d]/D, dense.

    With y, D and c as in :func:`jacobian_product`, which is to be preferred for products. For ε inside the root this is
    G (v + ε)^(-1/2) [Π − Πx(Πx)ᵀ/(d(v + ε))], v = σ²: symmetric positive semidefinite without a gain, and J1 = 0
    always. Returns shape (..., d, d). Source: as :func:`jacobian_product`.

    >>> import numpy as np, lngeom as lg
    >>> lg.jacobian(np.array([1.0, -1.0]), eps=3.0)
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    _check(x, gain)
    xp, wide = namespace(x), widen(x)
    identity = xp.eye(x.shape[-1], dtype=wide.dtype, device=device(wide))
    # Row j is the derivative along the j-th basis vector, a column of J.
    product = jacobian_product(wide[..., None, :], identity, gain, eps=eps, placement=placement, centered=centered)
    return narrow(xp.matrix_transpose(product), x)


def jacobian_operator(
    x: numpy.ndarray,
    gain: numpy.ndarray | None = None,
    *,
    eps: float,
    placement: Placement = "inside",
    centered: bool = True,
) -> LinearOperator:
    """Jacobian of LayerNorm at one NumPy vector `x`, shape (d,), as a ``scipy.sparse.linalg.LinearOperator``.

    Products with it and its transpose cost O(d), so that ``svds``, ``lsqr`` and the like never see a d × d matrix.
    Other libraries have :func:`jacobian_product` and :func:`jacobian_transpose_product`. Returns an operator of shape
    (d, d). Source: as :func:`jacobian_product`.

    >>> import numpy as np, lngeom as lg
    >>> lg.jacobian_operator(np.array([1.0, -1.0]), eps=3.0) @ np.array([1.0, 0.0])
    array([ 0.1875, -0.1875])
    """
    from scipy.sparse.linalg import LinearOperator

    if not isinstance(x, numpy.ndarray) or x.ndim != 1:
        seen = f"shape {tuple(x.shape)}" if isinstance(x, numpy.ndarray) else f"type {type(x).__name__}"
        msg = f"x has {seen}: the operator is that of one numpy vector of shape (d,); see jacobian_product for others"
        raise InputError(msg)
    _check(x, gain)
    how: dict[str, Any] = {"eps": eps, "placement": placement, "centered": centered}

    class Jacobian(LinearOperator):
        def _matmat(self, X: numpy.ndarray) -> numpy.ndarray:
            return jacobian_product(x, X.T, gain, **how).T

        def _rmatmat(self, X: numpy.ndarray) -> numpy.ndarray:
            return jacobian_transpose_product(x, X.T, gain, **how).T

        def _matvec(self, x: numpy.ndarray) -> numpy.ndarray:
            return self._matmat(x.reshape(-1, 1))

        def _rmatvec(self, x: numpy.ndarray) -> numpy.ndarray:
            return self._rmatmat(x.reshape(-1, 1))

    return Jacobian(x.dtype, (x.size, x.size))


def jacobian_singular_values(x: Array, *, eps: Any, placement: Placement = "inside", centered: bool = True) -> Array:
    """Singular values of the Jacobian without gain, descending: 1/D (d − 2 times), 1/D shrunk, 0.

    The shrunk one belongs to the radial direction: ε/D³ for ε inside, ε/D² for ε outside. It is 0 at ε = 0, where
    LayerNorm has rank d − 2; the largest is √d/(‖x‖ sin θ) there, θ the angle between x and 1, and not bounded by any
    function of ‖x‖. RMSNorm has 1/D d − 1 times. With a gain use ``numpy.linalg.svdvals(jacobian(x, gain, eps=eps))``.
    Returns shape (..., d). Source: Xiong et al., arXiv:2002.04745, Lemma 3, ‖J‖₂ = O(√d/‖x‖), which needs sin θ bounded
    below.

    >>> import numpy as np, lngeom as lg
    >>> lg.jacobian_singular_values(np.array([3.0, -3.0, 0.0]), eps=3.0)
    array([0.33333333, 0.11111111, 0.        ])
    """
    check_vectors("x", x)
    xp, wide = namespace(x), widen(x)
    terms = normalized(wide, eps=eps, placement=placement, centered=centered)
    tangential = 1 / terms.divisor if terms.unit is None else terms.unit / terms.divisor
    radial = eps * tangential * tangential  # in this order nothing leaves the range of the dtype
    radial = radial * tangential if placement == "inside" else radial
    zero = 0 * terms.y[..., :1]  # NaN where the derivative does not exist
    d, constant = x.shape[-1], int(centered)
    counts = ((tangential + zero, max(0, d - 1 - constant)), (radial + zero, min(1, d - constant)), (zero, constant))
    parts = [xp.broadcast_to(value, (*value.shape[:-1], n)) for value, n in counts]
    return narrow(xp.concat(parts, axis=-1), x)
