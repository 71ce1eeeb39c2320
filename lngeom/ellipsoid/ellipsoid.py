"""The ellipsoid that the outputs of LayerNorm or RMSNorm fill."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..carriers import Array, check_gain, check_parameter, check_vectors, door, dtype_name, finfo, namespace, widen
from ..errors import InputError
from ..projection import sized
from .axes import PrincipalAxes, dead_direction, principal_axes, to_numpy


class Ellipsoid:
    """Ellipsoid {b + g ∘ y : 1ᵀy = 0, ‖y‖ ≤ √d} of LayerNorm, or {b + g ∘ y : ‖y‖ ≤ √d} of RMSNorm.

    For ε > 0 outputs fill its interior, at relative radius σ/√(σ² + ε). At ε = 0 they fill its surface, unless too many
    gains are zero. With k zero gains it has dimension m = d − max(1, k) (RMSNorm: d − k): the output hyperplane has the
    normal α = 1/g when k = 0, and is spanned by the coordinates of nonzero gain when k ≥ 1. The gain has the range of
    :func:`lngeom.principal_axes`; in all methods z has shape (..., d) and the library of the gain.

    Attributes:
        gain, center: arrays, shape (d,). g and b.
        centered, d
        dimension: m.
        solid: Whether outputs fill it even at ε = 0, because some freedom of y is invisible: k ≥ 2 (RMSNorm: k ≥ 1).

    Source: Riechers, arXiv:2405.04134, for nonzero gains and ε > 0.

    >>> import numpy as np, lngeom as lg
    >>> gain, bias = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 0.0])
    >>> ellipsoid = lg.Ellipsoid(gain, bias)
    >>> ellipsoid
    <Ellipsoid of LayerNorm: dimension 2 in 3>
    >>> z = lg.layer_norm(np.array([4.0, -1.0, 0.0]), gain, bias, eps=0.0)
    >>> bool(ellipsoid.contains(z)), float(round(ellipsoid.relative_radius(z), 12))
    (True, 1.0)
    """

    @door
    def __init__(self, gain: Array, bias: Array | None = None, *, centered: bool = True) -> None:
        check_gain(gain)
        check_parameter("bias", bias, gain)
        if bias is not None:
            check_vectors("bias", bias)
        xp = namespace(gain, bias)
        if bias is not None and not bool(xp.all(xp.isfinite(bias))):
            msg = "bias holds a NaN or an infinity: the ellipsoid has no center; check how the checkpoint was loaded"
            raise InputError(msg)
        self.gain, self.centered = gain, centered
        self.center = xp.zeros_like(gain) if bias is None else bias
        self.d = int(gain.shape[0])
        self._zeros = int(xp.sum(xp.astype(gain == 0, xp.int64)))
        self.dimension = self.d - (max(1, self._zeros) if centered else self._zeros)
        self.solid = self._zeros >= (2 if centered else 1)

    def __repr__(self) -> str:
        norm = "LayerNorm" if self.centered else "RMSNorm"
        return f"<Ellipsoid of {norm}: dimension {self.dimension} in {self.d}>"

    @functools.cached_property
    def axes(self) -> PrincipalAxes:
        """Principal axes, as :func:`lngeom.principal_axes`; computed on first access."""
        return principal_axes(self.gain, centered=self.centered)

    @property
    def semi_axes(self) -> Array:
        """Semi-axes, descending, shape (m,), float64."""
        return self.axes.semi_axes

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the m-dimensional volume V = V_m √d^m ∏|g_i| √(‖α‖²/d), in O(d) without the axes.

        V_m is the volume of the unit ball, and α = 1/g. With k ≥ 1 zero gains the product is over the others, and the
        root is √(k/d); RMSNorm has no root. Of a point, m = 0, it is 0.
        """
        size, m = np.sort(np.abs(to_numpy(self.gain))), self.dimension
        seen, root = size[size > 0], 0.0
        if self.centered and self._zeros:
            root = math.log(self._zeros / self.d)
        elif self.centered:  # the smallest gain cancels: ∏|g_i| ‖α‖ = ∏|g_j| √(Σ(g₁/g_i)²), the product without it
            root, seen = math.log(np.sum((seen[0] / seen) ** 2) / self.d), seen[1:]
        return m / 2 * math.log(math.pi * self.d) - math.lgamma(m / 2 + 1) + float(np.sum(np.log(seen))) + root / 2

    @functools.cached_property
    def _lost(self) -> tuple[int | None, float]:
        """The coordinate of y that 1ᵀy = 0 gives better than z, if there is one; root mean square of the other b/g."""
        gain, center = (np.abs(to_numpy(array)) for array in (self.gain, self.center))
        with np.errstate(over="ignore"):
            ratio = np.divide(center, gain, out=np.zeros(self.d), where=gain > 0)
            last = int(np.argmax(ratio))
            others = np.delete(ratio, last)
            lost = self.centered and not self._zeros and bool(ratio[last] > np.sum(others + 1))
            left = np.square(others if lost else ratio)
        return (last if lost else None), math.sqrt(np.mean(left)) if left.size else 0.0

    def _from_others(self, values: Array, sign: int) -> Array:
        """`values` of y, or of its errors, with the lost coordinate replaced by `sign` times the sum of the others."""
        xp, lost = namespace(values), self._lost[0]
        if lost is None:
            return values
        at = xp.arange(self.d, device=values.device) == lost
        rest = xp.where(at, xp.zeros_like(values), values)
        return xp.where(at, sign * xp.sum(rest, axis=-1, keepdims=True), rest)

    def _check_decided(self, z: Array, rtol: float) -> None:
        """Raise where an error of `rtol` in z moves r by more than its fourth root."""
        if (left := self._lost[1]) * rtol > rtol**0.25:
            raise InputError(
                f"the root mean square of b/g is {left!r}: in {dtype_name(z)} the rounding of z is as large as what "
                "it tells of y; take outputs without bias, or of a wider dtype"
            )

    def _preimage(self, z: Array) -> tuple[Array, Array, Array]:
        """Displacement z − b, its preimage (z − b)/g with 0 where g = 0, and the mask of nonzero gains."""
        check_vectors("z", z)
        check_parameter("gain", self.gain, z)
        xp = namespace(z, self.gain)
        gain, moved = widen(self.gain), widen(z) - widen(self.center)
        seen = gain != 0
        return (moved, xp.where(seen, moved / xp.where(seen, gain, xp.ones_like(gain)), xp.zeros_like(moved)), seen)

    @door
    def relative_radius(self, z: Array) -> Array:
        """Relative radius r of z, shape (...), its Minkowski functional: 0 at the center, 1 on the surface.

        z lies in r times the ellipsoid. r = ‖y‖/√d with y = (z − b)/g where no gain is zero. With k ≥ 1 zero gains in
        LayerNorm the unseen components of y make its sum zero at the least norm: r² = (‖y_S‖² + (1ᵀy_S)²/k)/d. For
        outputs of LayerNorm it equals ``lngeom.epsilon.relative_radius(x, eps=eps)`` if k ≤ 1, and is at most that
        otherwise. What leaves the ellipsoid's flat where the gain is zero does not count; ``offset`` measures it.

        Rounding of z moves y_i by u|b_i/g_i|. Where that of one y_i exceeds all others together, 1ᵀy = 0 gives it from
        them. Raises InputError where the others move r by more than ⁴√u: three quarters of its digits are lost then.
        """
        y = self._preimage(z)[1]
        self._check_decided(z, float(finfo(z).eps) / 2)
        return self._radius(y)

    def _radius(self, y: Array) -> Array:
        xp, (y, unit) = namespace(y), sized(self._from_others(y, -1))
        square = xp.sum(y * y, axis=-1)
        if self.centered and self._zeros:
            square = square + xp.sum(y, axis=-1) ** 2 / self._zeros
        radius = xp.sqrt(square / self.d)
        return radius if unit is None else radius / unit[..., 0]

    @door
    def offset(self, z: Array) -> Array:
        """Euclidean distance of z from the flat the ellipsoid lies in, shape (...).

        |α·(z − b)|/‖α‖ for a LayerNorm with no zero gain, else the norm of z − b over the zero gains.
        """
        xp = namespace(z, self.gain)
        moved, _, seen = self._preimage(z)
        if self.centered and not self._zeros:
            return xp.abs(xp.sum(moved * widen(dead_direction(self.gain)), axis=-1))
        return _norm(xp.where(seen, xp.zeros_like(moved), moved))

    @door
    def contains(self, z: Array, *, rtol: float | None = None) -> Array:
        """Whether z lies in the closed ellipsoid up to rounding, bool of shape (...).

        z passes if it may be b + g ∘ (y + e) with y in the ball of the ellipsoid and |e_i| ≤ `rtol`·(|y_i| + |b_i/g_i|
        + 1). The relative radius may exceed 1 by ‖e‖/√d (times √(d/k) with k ≥ 1 zero gains), 1ᵀy/√d be as large as
        ‖e‖, and where g_i = 0 z_i may differ from b_i by `rtol`·|b_i|. The default (d + 8)·eps of the dtype of z (half
        precision: its eps plus (d + 8)·eps of float32) bounds the rounding of any LayerNorm or RMSNorm, in any order of
        summation, for inputs of condition number up to 2; multiply it by the condition number for others. With the
        default an InputError says, as in :meth:`relative_radius`, that a bias is too large beside the gain to decide.
        """
        xp = namespace(z, self.gain)
        moved, y, seen = self._preimage(z)
        finite = xp.isfinite(y)
        y = xp.where(finite, y, xp.zeros_like(y))
        if rtol is None:
            resolution = float(finfo(z).eps)
            half = "float16" in dtype_name(z)
            rtol = (self.d + 8) * (2.0**-23 if half else resolution) + (resolution if half else 0.0)
            self._check_decided(z, rtol)
        gain, center = widen(self.gain), xp.abs(widen(self.center))
        floor = xp.where(seen, center / xp.where(seen, xp.abs(gain), xp.ones_like(gain)) + 1.0, xp.zeros_like(gain))
        error = rtol * (xp.abs(y) + floor)
        slack, stretch = _norm(error), math.sqrt(self.d / self._zeros) if self.centered and self._zeros else 1.0
        reach = stretch * _norm(self._from_others(error, 1))
        inside = self._radius(y) <= 1.0 + reach / math.sqrt(self.d)
        inside &= xp.all(finite & (seen | (xp.abs(moved) <= rtol * center)), axis=-1)
        if self.centered and not self._zeros:
            inside &= xp.abs(xp.sum(y, axis=-1)) <= math.sqrt(self.d) * slack
        return inside


def _norm(v: Array) -> Array:
    """‖v‖ of each row, whatever its size."""
    xp, (own, unit) = namespace(v), sized(v)
    norm = xp.sqrt(xp.sum(own * own, axis=-1))
    return norm if unit is None else norm / unit[..., 0]
