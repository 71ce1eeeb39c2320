"""Moving the linear parts of a norm layer into its neighbours: centring writers, folding gain and bias into readers."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy

from .carriers import Array, check_vectors, detached, door, finfo, namespace, widen
from .errors import InputError

__all__ = ["FoldCertificate", "center_writer", "certify_centering", "certify_fold", "certify_rounding", "fold_affine"]

Layout = Literal["linear", "conv1d"]
"""Shape of a weight: ``"linear"`` is [out, in] as ``torch.nn.Linear``, ``"conv1d"`` [in, out] as GPT-2's ``Conv1D``."""

_UNIT, _LAST = 2.0**-53, 2.0**-1074
"""Unit roundoff of float64, and its smallest number."""


def _wide(weight: Array, layout: Layout) -> Array:
    """`weight` as [out, in] in float64."""
    check_vectors("weight", weight)
    if len(weight.shape) != 2:
        raise InputError(f"weight has shape {tuple(weight.shape)}: expected a matrix; fold one linear map at a time")
    xp = namespace(weight)
    wide = xp.astype(weight, xp.float64)
    return wide if layout == "linear" else xp.matrix_transpose(wide)


def _wide_vector(name: str, vector: Array | None, size: int, side: str) -> Array | None:
    if vector is None:
        return None
    check_vectors(name, vector)
    if tuple(vector.shape) != (size,):
        raise InputError(
            f"{name} has shape {tuple(vector.shape)}, but the map has {size} {side}s: {name} must have shape "
            f"({size},); a weight stored the other way round needs the other layout"
        )
    xp = namespace(vector)
    return xp.astype(vector, xp.float64)


def _stored(wide: Array | None, like: Array, layout: Layout = "linear") -> Array | None:
    """`wide` rounded once to the dtype of `like`, in its layout."""
    if wide is None:
        return None
    xp = namespace(wide)
    return xp.astype(wide if layout == "linear" else xp.matrix_transpose(wide), like.dtype)


def _centered(values: Array) -> tuple[Array, Array]:
    """`values` minus their mean over the outputs (axis 0), and a bound of the error made in float64."""
    xp = namespace(values)
    result = values - xp.mean(values, axis=0, keepdims=True)
    return result, _UNIT * ((values.shape[0] + 2) * xp.mean(xp.abs(values), axis=0, keepdims=True) + xp.abs(result))


@door
def center_writer(weight: Array, bias: Array | None = None, *, layout: Layout = "linear") -> tuple[Array, Array | None]:
    """Map x ↦ Π(Wx + b) as a weight ΠW and a bias Πb: a writer into the residual stream that leaves no mean there.

    If every writer is centred and every reader of the stream is a LayerNorm, no output of the network changes, and each
    LayerNorm equals the RMSNorm of the same ε, gain and bias. Dropout between writer and stream breaks this in
    training.

    `weight` W is (d, in), or (in, d) in the `layout` "conv1d" of GPT-2; an embedding table (vocabulary, d) is a writer
    in that layout. Returns weight and bias of the same shapes and dtypes, computed in float64 and rounded once; the
    bias is None if there was none. Source: Jiang et al., arXiv:2305.14858, section 3.2; ``center_writing_weights`` of
    TransformerLens.

    >>> import numpy as np, lngeom as lg
    >>> lg.folding.center_writer(np.array([[1.0, 4.0], [3.0, 0.0]]), np.array([1.0, 5.0]))
    (array([[-1.,  2.],
           [ 1., -2.]]), array([-2.,  2.]))
    """
    wide = _wide(weight, layout)
    offset = _wide_vector("bias", bias, wide.shape[0], "output")
    centered_bias = None if offset is None else _stored(_centered(offset)[0], bias)
    return _stored(_centered(wide)[0], weight, layout), centered_bias


@door
def fold_affine(
    weight: Array,
    bias: Array | None = None,
    *,
    gain: Array | None = None,
    norm_bias: Array | None = None,
    layout: Layout = "linear",
) -> tuple[Array, Array | None]:
    """Map y ↦ W(g ∘ y + β) + b as a weight W diag(g) and a bias b + Wβ, so that the norm before it needs neither.

    `weight` W is (out, d), or (d, out) in the `layout` "conv1d", `bias` b (out,), `gain` g and `norm_bias` β (d,). A
    weight tied to another layer must be copied first. Returns weight and bias as :func:`center_writer` does; the bias
    is None if neither the map nor the norm has one. Source: Ashkboos et al., arXiv:2401.15024, section 3; ``fold_ln``
    of TransformerLens.

    >>> import numpy as np, lngeom as lg
    >>> lg.folding.fold_affine(np.array([[1.0, 4.0]]), gain=np.array([2.0, 3.0]), norm_bias=np.array([1.0, 1.0]))
    (array([[ 2., 12.]]), array([5.]))
    """
    target, _, folded_bias, _ = _folded(weight, bias, gain, norm_bias, layout)
    return _stored(target, weight, layout), _stored(folded_bias, bias if bias is not None else weight)


def _folded(
    weight: Array, bias: Array | None, gain: Array | None, norm_bias: Array | None, layout: Layout
) -> tuple[Array, Array, Array | None, Array | None]:
    """Folded weight [out, in] and bias in float64, each followed by a bound of the error made in float64."""
    wide = _wide(weight, layout)
    outputs, inputs = wide.shape
    g = _wide_vector("gain", gain, inputs, "input")
    beta = _wide_vector("norm_bias", norm_bias, inputs, "input")
    b = _wide_vector("bias", bias, outputs, "output")
    xp = namespace(wide)
    product = wide if g is None else wide * g
    error = xp.zeros_like(product) if g is None else _UNIT * xp.abs(product) + _LAST
    if beta is None:
        return product, error, b, None if b is None else xp.zeros_like(b)
    total, size = wide @ beta, xp.abs(wide) @ xp.abs(beta)
    if b is not None:
        total, size = total + b, size + xp.abs(b)
    return product, error, total, (inputs + 2) * (_UNIT * size + _LAST)


@dataclass(frozen=True)
class FoldCertificate:
    """How far a folded map is from the exact fold; made by :func:`certify_fold` and :func:`certify_centering`.

    `worst` is the largest |entry − exact entry| over the bound of that entry, one rounding to the stored dtype plus
    twice the error of a float64 computation.
    """

    worst: float

    @property
    def exact(self) -> bool:
        """Whether every entry is the exact fold's, rounded once, up to the error of a float64 computation."""
        return self.worst <= 1


def _compare(got: Array, exact: Array, error: Array) -> float:
    """Largest error of `got`, in units of its bound; NaN counts as infinite."""
    got, exact, error = detached(got), widen(detached(exact)), widen(detached(error))
    check_vectors("what was stored", got)
    if not tuple(got.shape) == tuple(exact.shape) == tuple(error.shape) or 0 in got.shape:
        shapes = ", ".join(str(tuple(array.shape)) for array in (got, exact, error))
        raise InputError(f"stored, exact and error have shapes {shapes}: compare numbers, in arrays of one shape")
    xp = namespace(got, exact, error)
    with numpy.errstate(over="ignore", invalid="ignore"):
        worst = float(xp.max(_rounding(got, exact, error)))
    return math.inf if math.isnan(worst) else worst


def _rounding(stored: Array, exact: Array, error: Array) -> Array:
    """At most 1 where `stored` is `exact`, known up to `error`, rounded to nearest, ties to even.

    The distance over that to the midpoint of `stored` and its neighbour on the side of `exact`, which below a power of
    two is half as far. Libraries round float64 to a half format through float32: half the last place of that is added.
    """
    xp, kind = namespace(stored, exact, error), finfo(stored)
    wide, normal, eps = xp.astype(stored, xp.float64), float(kind.smallest_normal), float(kind.eps)
    size, unit = xp.abs(wide), 2.0**-64
    ordinary = xp.where(size > 1, size * unit, size)
    split = (2.0**52 + 1) * ordinary
    power = xp.abs(split - (1 - 2.0**-53) * split)  # Rump: the power of two at or below it
    power = xp.where(size > 1, power / unit, power)
    power = xp.where(size >= normal, power, xp.full_like(power, normal))
    distance, spacing = xp.abs(wide - exact), eps * power
    below = (size == power) & (power > normal) & (xp.abs(exact) < size)
    gap = xp.where(below, spacing / 2, spacing)
    tie = (2 * distance == gap) & (error == 0) & (size / spacing % 2 == 1)
    through = 1 + (float(xp.finfo(xp.float32).eps) / eps if kind.bits < 32 else 0.0)
    ratio = 2 * distance / (gap * through + 4 * error)
    return xp.where(tie | xp.isinf(error), xp.full_like(ratio, 1 + _UNIT * 2), ratio)


@door
def certify_rounding(stored: Array, exact: Array, error: Array) -> FoldCertificate:
    """Certificate that `stored` is `exact`, known in float64 up to `error`, rounded once to its dtype.

    Returns the certificate, as of a weight without bias; all three arrays have one shape.

    Source: This project; a number rounded to nearest lies no farther than the midpoints with its neighbours.
    """
    xp = namespace(error)
    if not bool(xp.all((error >= 0) & xp.isfinite(error))):
        msg = "error holds a number that is negative or not finite: it bounds how far `exact` may be off"
        raise InputError(f"{msg}; give finite bounds >= 0")
    return FoldCertificate(_compare(stored, exact, error))


def _fold_certificate(got: tuple[Array, Array | None], exact: tuple[Array, ...], layout: Layout) -> FoldCertificate:
    weight, bias = got
    matrix, error, vector, vector_error = exact
    oriented = weight if layout == "linear" else namespace(weight).matrix_transpose(weight)
    if tuple(oriented.shape) != tuple(matrix.shape) or (bias is None) != (vector is None):
        has = "no bias" if bias is None else "a bias"
        needs = "none" if vector is None else "one"
        raise InputError(
            f"the folded map has a weight of shape {tuple(weight.shape)} and {has}; the exact one has shape "
            f"{tuple(matrix.shape)} as [out, in] and {needs}: compare maps of the same shape and layout"
        )
    worst = _compare(oriented, matrix, error)
    return FoldCertificate(worst if bias is None else max(worst, _compare(bias, vector, vector_error)))


@door
def certify_centering(
    weight: Array, bias: Array | None, centered_weight: Array, centered_bias: Array | None, *, layout: Layout = "linear"
) -> FoldCertificate:
    """Certificate that `centered_weight` and `centered_bias`, made by whatever tool, are ΠW and Πb up to rounding.

    `weight`, `bias` and `layout` are the original map, as in :func:`center_writer`. Returns a FoldCertificate. Source:
    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2, for the error of the means.

    >>> import numpy as np, lngeom as lg
    >>> weight = np.array([[0.1, 0.2], [0.4, 0.8]], dtype=np.float32)
    >>> lg.folding.certify_centering(weight, None, *lg.folding.center_writer(weight)).exact
    True
    >>> lg.folding.certify_centering(weight, None, weight, None).exact
    False
    """
    wide = _wide(weight, layout)
    vector = _wide_vector("bias", bias, wide.shape[0], "output")
    both = (None, None) if vector is None else _centered(vector)
    return _fold_certificate((centered_weight, centered_bias), (*_centered(wide), *both), layout)


@door
def certify_fold(
    weight: Array,
    bias: Array | None,
    folded_weight: Array,
    folded_bias: Array | None,
    *,
    gain: Array | None = None,
    norm_bias: Array | None = None,
    layout: Layout = "linear",
) -> FoldCertificate:
    """Certificate that `folded_weight` and `folded_bias`, made by whatever tool, are W diag(g) and b + Wβ.

    `weight`, `bias`, `gain`, `norm_bias` and `layout` are the original map, as in :func:`fold_affine`. Returns a
    FoldCertificate. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.

    >>> import numpy as np, lngeom as lg
    >>> weight, gain = np.array([[0.1, 0.4]]), np.array([0.3, 0.7])
    >>> lg.folding.certify_fold(weight, None, *lg.folding.fold_affine(weight, gain=gain), gain=gain).exact
    True
    """
    return _fold_certificate((folded_weight, folded_bias), _folded(weight, bias, gain, norm_bias, layout), layout)
