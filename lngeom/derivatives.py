"""First derivatives of LayerNorm and RMSNorm in closed form."""

from __future__ import annotations

from array_api_compat import device

from .carriers import Array, Carrier, check_parameter, check_vectors, door, namespace, narrow, widen
from .errors import InputError
from .norms import Placement, normalized, scale
from .projection import project, sized

__all__ = ["jacobian", "jacobian_product", "jacobian_singular_values", "jacobian_transpose_product"]


def _product(x: Array, vector: Array, *, eps: Carrier, placement: Placement, centered: bool) -> Array:
    """Jacobian (I − c·yyᵀ/d)/D without gain times `vector`; it is symmetric, so that this serves both sides.

    c is 1, or D/σ for ε outside the root. The division by D is last, so that nothing leaves the range but the result.
    """
    terms = normalized(x, eps=eps, placement=placement, centered=centered)
    xp = namespace(terms.y, vector)
    wide, unit = sized(project(widen(vector)) if centered else widen(vector))
    if getattr(x, "shape", (None,))[-1] == 1 + centered:  # the radial direction alone: the terms would cancel
        alone = wide if unit is None else wide / unit
        return jacobian_singular_values(widen(x), eps=eps, placement=placement, centered=centered)[..., :1] * alone
    c, along = 1, terms.y
    if placement == "outside":
        size = scale(terms.square, eps=0)
        if hasattr(size, "shape"):
            # c·y is v/σ: c alone may leave the range. The direction of v = 0 is arbitrary, its term vanishes with y.
            along = terms.v / xp.where(size > 0, size, xp.ones_like(size))
        else:
            c = terms.divisor / size
    product = wide - c * xp.mean(along * wide, axis=-1, keepdims=True) * terms.y
    product = product if unit is None else product / unit
    if terms.unit is None:
        return product / terms.divisor
    half = xp.sqrt(terms.unit)
    return product / (terms.divisor / half) * half


def _check(x: Array, gain: Array | None, vector: Array = None, name: str = "vector") -> None:
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    if vector is not None:
        check_vectors(name, vector)
        if not (hasattr(vector, "shape") and hasattr(x, "shape")):
            return
        leads = zip(reversed(x.shape[:-1]), reversed(vector.shape[:-1]), strict=False)
        if vector.shape[-1] != x.shape[-1] or any(m != n and 1 not in (m, n) for m, n in leads):
            raise InputError(
                f"{name} has shape {tuple(vector.shape)}, but x of shape {tuple(x.shape)} has vectors of dimension "
                f"{x.shape[-1]}: the last axes must be equal, and the others broadcast"
            )


@door
def jacobian_product(
    x: Array,
    tangent: Array,
    gain: Array | None = None,
    *,
    eps: Carrier,
    placement: Placement = "inside",
    centered: bool = True,
) -> Array:
    """Directional derivative J t of LayerNorm at x along the `tangent` t, in O(d): what ``torch.func.jvp`` returns.

    J t = g ∘ [Πt − c y (y·t)/d]/D with y = Πx/D, and D = √(σ² + ε), c = 1 for ε inside the root, or D = σ + ε, c = D/σ
    for ε outside. Directions orthogonal to 1 and x are divided by D; the radial direction y is shrunk further, by ε/D²
    inside and ε/D outside; shifts along 1 do nothing. Without the radial term diag(g/D)Π, a frequent mistake, is not
    the derivative. t, shape (..., d), broadcasts against `x`. Returns that shape; at σ = 0 and ε > 0 J = GΠ/√ε (GΠ/ε
    outside, where automatic differentiation gives NaN, because it takes √ at 0). The error is small relative to ‖J‖‖t‖,
    as of a matrix product: along the radial direction, which J shrinks most, no digit may survive beside others; it
    is the only one at d = 2, and for RMSNorm at d = 1. Source: Xiong et al., arXiv:2002.04745, proof of Lemma 3, at
    ε = 0; with ε by the quotient rule.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, -1.0, 1.0, -1.0])
    >>> lg.derivatives.jacobian_product(x, x, eps=0.0)
    array([0., 0., 0., 0.])
    >>> lg.derivatives.jacobian_product(x, np.array([1.0, 1.0, -1.0, -1.0]), eps=3.0)
    array([ 0.5,  0.5, -0.5, -0.5])
    """
    _check(x, gain, tangent, "tangent")
    product = _product(x, tangent, eps=eps, placement=placement, centered=centered)
    return narrow(product if gain is None else widen(gain, product) * product, x)


@door
def jacobian_transpose_product(
    x: Array,
    cotangent: Array,
    gain: Array | None = None,
    *,
    eps: Carrier,
    placement: Placement = "inside",
    centered: bool = True,
) -> Array:
    """Gradient Jᵀc of c·LayerNorm(x) with respect to x, in O(d): the backward pass, ``torch.func.vjp``.

    The `cotangent` c is the gradient of a loss with respect to the output. Without the gain J is symmetric, so that Jᵀc
    = J₀(g ∘ c). The result is orthogonal to 1: the sum of the outputs of an ungained LayerNorm has gradient 0, which is
    not a bug. Returns the broadcast shape (..., d). Source: as :func:`jacobian_product`.

    >>> import numpy as np, lngeom as lg
    >>> lg.derivatives.jacobian_transpose_product(np.array([3.0, -3.0, 0.0]), np.array([1.0, 1.0, 1.0]), eps=3.0)
    array([0., 0., 0.])
    """
    _check(x, gain, cotangent, "cotangent")
    weighted = cotangent if gain is None else widen(cotangent) * widen(gain, widen(cotangent))
    return narrow(_product(x, weighted, eps=eps, placement=placement, centered=centered), x)


@door
def jacobian(
    x: Array, gain: Array | None = None, *, eps: Carrier, placement: Placement = "inside", centered: bool = True
) -> Array:
    """Jacobian matrix J[i, j] = ∂zᵢ/∂xⱼ of LayerNorm: J = G [Π − c yyᵀ/d]/D, dense.

    With y, D and c as in :func:`jacobian_product`; use that function for products. For ε inside the root this is
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


@door
def jacobian_singular_values(
    x: Array, *, eps: Carrier, placement: Placement = "inside", centered: bool = True
) -> Array:
    """Singular values of the Jacobian without gain, descending: 1/D (d − 2 times), 1/D shrunk, 0.

    The shrunk one belongs to the radial direction: ε/D³ for ε inside, ε/D² for ε outside. It is 0 at ε = 0, where
    LayerNorm has rank d − 2; the largest is √d/(‖x‖ sin θ) there, θ the angle between x and 1, and not bounded by any
    function of ‖x‖. RMSNorm has 1/D d − 1 times. With a gain use ``numpy.linalg.svdvals(jacobian(x, gain, eps=eps))``:
    for ε inside, D times the i-th lies between the i-th and (i + 2)-nd largest |g|, the (i + 1)-st for RMSNorm, by
    Weyl's inequalities. Returns shape (..., d). Source: Xiong et al., arXiv:2002.04745, Lemma 3, ‖J‖₂ = O(√d/‖x‖),
    which needs sin θ bounded below.

    >>> import numpy as np, lngeom as lg
    >>> lg.derivatives.jacobian_singular_values(np.array([3.0, -3.0, 0.0]), eps=3.0)
    array([0.33333333, 0.11111111, 0.        ])
    """
    check_vectors("x", x)
    xp, wide = namespace(x), widen(x)
    terms = normalized(wide, eps=eps, placement=placement, centered=centered)
    tangential = 1 / terms.divisor if terms.unit is None else terms.unit / terms.divisor
    radial = _radial(eps, tangential, placement)
    if terms.unit is not None:  # 1/D may leave the range of the dtype, where D belongs to a small row
        radial = xp.where(terms.unit > 1, _radial(terms.eps, 1 / terms.divisor, placement) * terms.unit, radial)
    zero = 0 * abs(terms.y[..., :1])  # NaN where the derivative does not exist
    d, constant = x.shape[-1], int(centered)
    counts = ((tangential + zero, max(0, d - 1 - constant)), (radial + zero, min(1, d - constant)), (zero, constant))
    parts = [xp.broadcast_to(value, (*value.shape[:-1], n)) for value, n in counts]
    return narrow(xp.concat(parts, axis=-1), x)


def _radial(eps: Carrier, tangential: Array, placement: Placement) -> Array:
    radial = eps * tangential * tangential  # in this order nothing leaves the range of the dtype
    return radial * tangential if placement == "inside" else radial
