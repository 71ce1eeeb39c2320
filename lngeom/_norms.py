"""LayerNorm and RMSNorm: the one definition that theorems, users and the measurement of models share."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ._errors import InputError
from ._projection import center, mean_square
from .carriers import Array, check_eps, check_parameter, check_vectors, in_range, namespace, narrow, widen

Placement = Literal["inside", "outside"]
"""Where ε enters the denominator: ``"inside"`` the root, √(σ² + ε), or ``"outside"`` it, σ + ε."""


def scale(mean_square: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""Denominator of a norm layer: √(m + ε) for ``"inside"``, √m + ε for ``"outside"``, m the mean square.

    With m = σ² this is what LayerNorm divides by (TransformerLens: ``hook_scale``), with m = ‖x‖²/d what
    RMSNorm divides by.

    Args:
        mean_square: m ≥ 0, real floating dtype.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}. √(m + ε) or √m + ε.

    Returns:
        array: Shape and dtype of `mean_square`.

    References:
        Inside the root: Ioffe and Szegedy, arXiv:1502.03167, algorithm 1. Both: code of Zhang and Sennrich,
        arXiv:1910.07467.

    >>> import numpy as np, lngeom as lg
    >>> lg.scale(np.array([4.0]), eps=1.0, placement="outside")
    array([3.])
    """
    check_eps(eps)
    xp = namespace(mean_square)
    if placement == "inside":
        return xp.sqrt(mean_square + eps)
    if placement == "outside":
        return xp.sqrt(mean_square) + eps
    msg = f'placement is {placement!r}: eps stands "inside" the root (PyTorch, Hugging Face) or "outside" it'
    raise InputError(msg)


def _affine(y: Array, gain: Array | None, bias: Array | None) -> Array:
    if gain is not None:
        y = y * widen(gain)
    if bias is not None:
        y = y + widen(bias)
    return y


class Normalized(NamedTuple):
    """y = v/D with v = Πx or x, D = √(m + ε) or √m + ε, m the mean square of v; of u·x, where `unit` is u, not None."""

    y: Array
    divisor: Array
    square: Array
    unit: Array | None


def normalized(x: Array, *, eps: Any, placement: Placement, centered: bool, axis: int = -1) -> Normalized:
    """Divide by the scale; y is that of x whatever the unit, D has its degree 1."""
    check_eps(eps)

    def compute(x: Array, eps: Any, unit: Array | None) -> tuple[tuple[Array, Array, Array], Array]:
        v = center(x, unit, axis)[1] if centered else x if unit is None else x * unit
        square = mean_square(v, axis)
        divisor = scale(square, eps=eps, placement=placement)
        return (v / divisor, divisor, square), divisor

    result, unit = in_range(compute, widen(x), eps, power=2 if placement == "inside" else 1, axis=axis)
    return Normalized(*result, unit)


def layer_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, *, eps: Any, placement: Placement = "inside"
) -> Array:
    r"""Layer normalization z = g ∘ (x − μ1)/√(σ² + ε) + b, with μ, σ² the mean and population variance of x.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32 and rounded once.
        gain, bias: arrays, shape (d,). g and b; absent means 1 and 0.
        eps: ε ≥ 0. There is no default: libraries differ, and the layer's own value belongs here.
        placement: {"inside", "outside"}. √(σ² + ε) as PyTorch and Hugging Face, or σ + ε.

    Returns:
        array, shape (..., d): Same dtype as `x`. With ε = 0 a vector whose components are all equal has σ = 0 and no
            normalization: its row is NaN. A row with a NaN or an infinity becomes NaN; other rows are untouched.
            Rows whose squares leave the range of the dtype are multiplied by a power of two first.

    References:
        Ba et al., arXiv:1607.06450, eqs. 3 and 4; Gupta et al., arXiv:2409.12951, eqs. 1 to 4. Equivalent to
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


def standardize(x: Array, *, eps: Any, placement: Placement = "inside") -> Array:
    r"""Standardized vector y = (x − μ1)/√(σ² + ε), LayerNorm before gain and bias.

    At ε = 0 this is √d Πx/‖Πx‖: project off 1, normalize, scale by √d. TransformerLens calls it
    ``hook_normalized``. For every ε > 0 it maps onto the open ball of radius √d in 1^⊥.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32 and rounded once.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}. √(σ² + ε) or σ + ε.

    Returns:
        array, shape (..., d): Same dtype as `x`; NaN where σ = 0 and ε = 0.

    References:
        Gupta et al., arXiv:2409.12951, eqs. 4 and 9; Riechers, arXiv:2405.04134, eq. 5.

    >>> import numpy as np, lngeom as lg
    >>> y = lg.standardize(np.array([1.0, 2.0, 6.0]), eps=0.0)
    >>> float(round(np.linalg.norm(y) ** 2, 12))
    3.0
    """
    return layer_norm(x, eps=eps, placement=placement)


def rms_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, *, eps: Any, placement: Placement = "inside"
) -> Array:
    r"""Root-mean-square normalization z = g ∘ x/√(‖x‖²/d + ε) + b: LayerNorm without the mean subtraction.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32 and rounded once.
        gain, bias: arrays, shape (d,). g and b; absent means 1 and 0. Common layers have no bias.
        eps: ε ≥ 0.
        placement: {"inside", "outside"}. √(‖x‖²/d + ε), or ‖x‖/√d + ε as in the PyTorch code of the reference.

    Returns:
        array, shape (..., d): Same dtype as `x`. With ε = 0 the row of the zero vector is NaN.

    References:
        Zhang and Sennrich, arXiv:1910.07467, eq. 4. Equivalent to ``torch.nn.functional.rms_norm(x, (d,), gain, eps)``
        and to Hugging Face's ``LlamaRMSNorm``.

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
    x: Array,
    gain: Array | None = None,
    bias: Array | None = None,
    *,
    eps: Any,
    mean: Array | None = None,
    variance: Array | None = None,
    placement: Placement = "inside",
) -> Array:
    r"""Batch normalization z = g ∘ (x − m)/√(v + ε) + b, with one mean m_i and variance v_i per component.

    Given `mean` and `variance` (running or population statistics, as at inference) this is an affine map of each
    vector, invertible where no gain is zero. Without them m and v are the statistics of the n vectors in the batch
    (population variance, divisor n, as in training); the batch is then normalized column by column as LayerNorm
    normalizes a vector, and shift and scale of each column are lost just the same.

    Args:
        x: array, shape (..., d), or (..., n, d) without `mean` and `variance`. Real floating dtype; float16 and
            bfloat16 are computed in float32 and rounded once. A term of the proof kernel stands for one vector when
            statistics are given, and for one column of the batch when not.
        gain, bias: arrays, shape (d,). g and b; absent means 1 and 0.
        eps: ε ≥ 0.
        mean, variance: arrays, shape (d,). m and v ≥ 0; both or neither.
        placement: {"inside", "outside"}. √(v + ε) or √v + ε.

    Returns:
        array, shape of `x`: Same dtype as `x`; NaN in components with v_i = 0 if ε = 0.

    Raises:
        InputError: Wrong shape or dtype, one of `mean` and `variance` without the other, no batch axis to take
            statistics over, ε negative or not finite, unknown placement.

    References:
        Ioffe and Szegedy, arXiv:1502.03167, algorithms 1 and 2; Gupta et al., arXiv:2409.12951, section 2.3.
        Equivalent to ``torch.nn.functional.batch_norm(x, mean, variance, gain, bias, eps=eps)``.

    >>> import numpy as np, lngeom as lg
    >>> batch = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> lg.batch_norm(batch, eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> lg.batch_norm(batch[0], eps=0.0, mean=np.array([0.0, 4.0]), variance=np.array([1.0, 9.0]))
    array([1., 2.])
    """
    check_vectors("x", x)
    for name, parameter in (("gain", gain), ("bias", bias), ("mean", mean), ("variance", variance)):
        check_parameter(name, parameter, x)
    if (mean is None) != (variance is None):
        given, missing = ("variance", "mean") if mean is None else ("mean", "variance")
        msg = f"{given} is given and {missing} is not: pass both fixed statistics, or none to use those of the batch"
        raise InputError(msg)
    if mean is None:
        y = normalized(x, eps=eps, placement=placement, centered=True, axis=_batch_axis(x)).y
        return narrow(_affine(y, gain, bias), x)
    deviation = (widen(x) - widen(mean)) / scale(widen(variance), eps=eps, placement=placement)
    return narrow(_affine(deviation, gain, bias), x)


def _batch_axis(x: Array) -> int:
    """Axis of the n vectors of a batch (..., n, d); a carrier without a shape is one column of the batch."""
    if not hasattr(x, "shape"):
        return -1
    if len(x.shape) < 2 or x.shape[-2] == 0:
        msg = (
            f"x has shape {tuple(x.shape)}: batch statistics need a batch of n >= 1 vectors, shape (..., n, d); "
            "or pass mean and variance"
        )
        raise InputError(msg)
    return -2
