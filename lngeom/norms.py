"""LayerNorm and RMSNorm: the one definition that theorems, users and the measurement of models share."""

from typing import Literal, NamedTuple

from .carriers import (
    Array,
    Carrier,
    anchored,
    beside,
    check_eps,
    check_parameter,
    check_vectors,
    detached,
    door,
    dtype_name,
    in_range,
    namespace,
    narrow,
    widen,
)
from .projection import center, mean_square, spread

__all__ = ["layer_norm", "layer_rms_distance", "layer_rms_distance_from_moments", "rms_norm", "scale", "standardize"]

Placement = Literal["inside", "outside"]
"""Where ε enters the denominator: ``"inside"`` the root, √(σ² + ε), or ``"outside"`` it, σ + ε."""


@door
def scale(mean_square: Array, *, eps: Carrier, placement: Placement = "inside") -> Array:
    """Denominator of a norm layer: √(m + ε) for ε inside the root, √m + ε outside it, m the `mean_square`.

    With m = σ² this is what LayerNorm divides by (TransformerLens: ``hook_scale``), with m = ‖x‖²/d what RMSNorm does.
    Returns the shape of m. Source: Ioffe and Szegedy, arXiv:1502.03167, algorithm 1, for the first; code of Zhang and
    Sennrich, arXiv:1910.07467, for both.

    >>> import numpy as np, lngeom as lg
    >>> lg.norms.scale(np.array([4.0]), eps=1.0, placement="outside")
    array([3.])
    """
    check_eps(eps, mean_square)
    wide = widen(mean_square)
    eps = beside(eps, wide)
    floats = hasattr(wide, "dtype") and dtype_name(wide) in ("float64", "float32")
    if placement == "outside" or not floats or not isinstance(eps, int | float):
        return _denominator(wide, eps, placement)
    # A sum beyond the range of the dtype, or among its subnormal numbers, is taken in a unit.
    xp, info, one = namespace(wide), namespace(wide).finfo(wide.dtype), namespace(wide).ones_like(wide)
    least, half = float(info.smallest_normal) / float(info.eps), detached(wide) / 2 + eps / 2
    u, added = (
        xp.where(half < least, up * one, xp.where(half > float(info.max) / 4, down * one, same * one))
        for up, down, same in ((2.0**64, 0.5, 1.0), (min(eps, 2 * least) * 2.0**128, eps / 4, eps))
    )
    return xp.sqrt(wide * u * u + added) / u


def _denominator(mean_square: Array, eps: Carrier, placement: Placement) -> Array:
    xp = namespace(mean_square)
    return xp.sqrt(mean_square + eps) if placement == "inside" else xp.sqrt(mean_square) + eps


def _affine(y: Array, gain: Array | None, bias: Array | None) -> Array:
    if gain is not None:
        y = y * beside(gain, y)
    if bias is not None:
        y = y + beside(bias, y)
    return y


class Normalized(NamedTuple):
    """A vector v = Πx or x and its mean square m, to be divided by D; both for u·x where the unit u is not None."""

    v: Array
    square: Array
    eps: Carrier
    unit: Array | None
    placement: Placement

    @property
    def divisor(self) -> Array:
        """D = √(m + ε) or √m + ε."""
        return _denominator(self.square, self.eps, self.placement)

    @property
    def y(self) -> Array:
        """The normalized vector v/D, whatever the unit."""
        return self.v / self.divisor


def normalized(x: Array, *, eps: Carrier, placement: Placement, centered: bool) -> Normalized:
    """The part of a norm layer before gain and bias, for vectors of every size."""
    check_eps(eps, x)

    def compute(x: Array, unit: Array | None) -> tuple[Array, Array]:
        v = center(x, unit)[1] if centered else x if unit is None else x * unit
        return v, mean_square(v)

    power = 2 if placement == "inside" else 1
    wide = anchored(widen(x))[0] if centered else widen(x)
    return Normalized(*in_range(compute, wide, beside(eps, wide), power=power), placement)


@door
def layer_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, *, eps: Carrier, placement: Placement = "inside"
) -> Array:
    """Layer normalization z = g ∘ (x − μ1)/√(σ² + ε) + b, with μ, σ² the mean and population variance of x.

    Returns the shape and dtype of `x`. Pass the layer's own ε, since defaults differ between libraries.
    Source: Ba et al., arXiv:1607.06450, eqs. 3 and 4; Gupta et al., arXiv:2409.12951, eqs. 1 to 4. It is
    ``torch.nn.functional.layer_norm(x, (d,), gain, bias, eps)``.

    >>> import numpy as np, lngeom as lg
    >>> lg.layer_norm(np.array([1.0, 3.0]), np.array([2.0, 5.0]), eps=0.0)
    array([-2.,  5.])
    """
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    check_parameter("bias", bias, x)
    y = normalized(x, eps=eps, placement=placement, centered=True).y
    return narrow(_affine(y, gain, bias), x)


@door
def standardize(x: Array, *, eps: Carrier, placement: Placement = "inside") -> Array:
    """Standardized vector y = (x − μ1)/√(σ² + ε), LayerNorm before gain and bias.

    TransformerLens: ``hook_normalized``. At ε = 0 this is √d Πx/‖Πx‖: project off 1, normalize, scale by √d. For every
    ε > 0 it maps onto the open ball of radius √d in 1^⊥. Returns the shape and dtype of `x`. Source: Gupta et al.,
    arXiv:2409.12951, eqs. 4 and 9; Riechers, arXiv:2405.04134, eq. 5.

    >>> import numpy as np, lngeom as lg
    >>> float(round(np.linalg.norm(lg.standardize(np.array([1.0, 2.0, 6.0]), eps=0.0)) ** 2, 12))
    3.0
    """
    return layer_norm(x, eps=eps, placement=placement)


@door
def rms_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, *, eps: Carrier, placement: Placement = "inside"
) -> Array:
    """Root-mean-square normalization z = g ∘ x/√(‖x‖²/d + ε) + b: LayerNorm without the mean subtraction.

    Common layers have no bias; the authors' PyTorch code has ε outside the root. Returns the shape and dtype of `x`.
    Source: Zhang and Sennrich, arXiv:1910.07467, eq. 4. It is ``torch.nn.functional.rms_norm(x, (d,), gain, eps)`` and
    Hugging Face's ``LlamaRMSNorm``.

    >>> import numpy as np, lngeom as lg
    >>> lg.rms_norm(np.array([7.0, 1.0]), eps=0.0)
    array([1.4, 0.2])
    """
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    check_parameter("bias", bias, x)
    y = normalized(x, eps=eps, placement=placement, centered=False).y
    return narrow(_affine(y, gain, bias), x)


def batch_norm(
    x: Carrier,
    gain: Carrier | None = None,
    bias: Carrier | None = None,
    *,
    eps: Carrier,
    mean: Carrier,
    variance: Carrier,
) -> Carrier:
    """Batch normalization with fixed statistics, z = g ∘ (x − m)/√(v + ε) + b, a formula for terms and intervals.

    Source: Ioffe and Szegedy, arXiv:1502.03167, algorithm 2; Gupta et al., arXiv:2409.12951, section 2.3.
    """
    divisor = scale(variance, eps=eps)
    return _affine((x - mean) / divisor, gain, bias)


@door
def layer_rms_distance(x: Array, *, eps: Carrier) -> Array:
    """Distance ‖LN(x) − RMS(x)‖/√d of the two outputs before gain and bias: the root mean square per component.

    At ε = 0 it is 2 sin(|90° − θ|/2) with θ the angle of x to 1: 0 for vectors orthogonal to 1, below √2 for all. Both
    layers have the same ε. Returns shape (...). Source: theorems ``rmsnorm.distance`` and
    ``rmsnorm.distance_with_eps``; the comparison is from Gupta et al., arXiv:2409.12951, section 3.2.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 7.0])
    >>> float(lg.norms.layer_rms_distance(x, eps=7.0))  # σ² = 9, μ = 4
    0.7404423483061554
    >>> y, z = lg.layer_norm(x, eps=7.0), lg.rms_norm(x, eps=7.0)
    >>> bool(np.isclose(np.linalg.norm(y - z) / np.sqrt(2), lg.norms.layer_rms_distance(x, eps=7.0)))
    True
    """
    check_vectors("x", x)
    check_eps(eps, x)
    (mean, _), variance, eps, _ = in_range(spread, widen(x), eps, also=lambda both: both[0] * both[0])
    return layer_rms_distance_from_moments(mean, variance, eps=eps)[..., 0]


@door
def layer_rms_distance_from_moments(mean: Array, variance: Array, *, eps: Carrier) -> Array:
    """Distance ‖LN(x) − RMS(x)‖/√d of a vector whose components have `mean` μ and `variance` σ².

    With s = √(σ² + ε) and r = √(μ² + σ² + ε) it is (|μ|/r) √(1 + (μσ/(s(r + s)))²): LN(x) − RMS(x) is the sum of the
    orthogonal (1/s − 1/r)(x − μ1) and −(μ/r)1, and 1/s − 1/r is μ²/(s r (r + s)), without a difference. Returns the
    broadcast shape; NaN where σ² = 0 at ε = 0. Source: theorem ``rmsnorm.distance_with_eps``.
    """
    xp, mean, variance = namespace(mean, variance), widen(mean), widen(variance)
    layer = scale(variance, eps=eps)
    # No square of the mean, where that leaves the range of the dtype.
    arrays = hasattr(mean, "shape")
    rms = xp.hypot(mean, layer) if arrays else scale(mean * mean + variance, eps=eps)
    stretch = mean / (rms + layer) * (scale(variance, eps=0) / layer)
    size = xp.abs(mean) if arrays else scale(mean * mean, eps=0)
    return size / rms * xp.sqrt(1 + stretch * stretch)
