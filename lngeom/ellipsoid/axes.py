"""Principal axes of the output ellipsoid of LayerNorm and RMSNorm, and its dead direction, from the gain alone."""

import functools
import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from ..carriers import Array, check_gain, door, namespace, narrow, widen
from ..errors import InputError

Floats = NDArray[np.float64]
_SMALLEST, _LARGEST, _APART = 2.0**-511, 2.0**511, 2.0**200


def to_numpy(array: Array) -> Floats:
    """`array` of any library as a float64 NumPy array on the CPU, detached from automatic differentiation."""
    if isinstance(array, np.ndarray | np.generic):
        return np.array(array, dtype=np.float64)
    if hasattr(array, "detach"):  # PyTorch; float64 does not exist on every device, so to the CPU first
        return array.double().numpy(force=True)
    xp = namespace(array)
    return np.asarray(np.from_dlpack(xp.astype(array, xp.float64)), dtype=np.float64)


class PrincipalAxes(ABC):
    """Principal axes of an ellipsoid: lengths at once, directions when asked for; made by :func:`principal_axes`.

    Nothing of size d × d is stored unless ``directions`` is read. Results are float64 arrays of the library and on the
    device that the gain came from, without a gradient.
    """

    _lengths: Floats
    """Semi-axes, descending."""

    def __init__(self, gain: Array) -> None:
        check_gain(gain)
        self._like = gain
        self._gain = to_numpy(gain)
        self._size = np.abs(self._gain)
        nonzero = self._size[self._size > 0.0]
        if nonzero.size and not _SMALLEST <= nonzero.min() <= nonzero.max() <= min(_LARGEST, _APART * nonzero.min()):
            raise InputError(
                f"gain has nonzero magnitudes from {float(nonzero.min())!r} to {float(nonzero.max())!r}: their squares "
                "must neither overflow nor underflow (2^-511 to 2^511, and within a factor of 2^200 of each other); "
                "rescale the gain, the axes scale with it, or set the smallest magnitudes to 0"
            )

    @property
    def d(self) -> int:
        """Dimension of the space."""
        return self._gain.size

    @abstractmethod
    def _direction(self, position: int) -> Floats:
        """Unit direction of an axis, from 0."""

    def _here(self, result: Floats) -> Array:
        """`result` in the library and on the device of the gain."""
        if isinstance(self._like, np.ndarray):
            return result
        return namespace(self._like).asarray(result, device=self._like.device)

    def __len__(self) -> int:
        """Return m, the dimension of the ellipsoid."""
        return self._lengths.size

    def __repr__(self) -> str:
        lengths = self._lengths
        span = f", semi-axes {lengths[0]:.6g} to {lengths[-1]:.6g}" if lengths.size else ""
        return f"<{len(self)} principal axes in dimension {self.d}{span}>"

    @property
    def semi_axes(self) -> Array:
        """Lengths of the semi-axes, descending, shape (m,)."""
        return self._here(self._lengths.copy())

    @door
    def direction(self, i: int) -> Array:
        """Unit vector along axis `i`, shape (d,), in O(d) time."""
        if not -len(self) <= i < len(self):
            raise InputError(f"axis {i} does not exist: the ellipsoid has {len(self)} axes, from 0 (the longest)")
        return self._here(self._direction(i % len(self)))

    @functools.cached_property
    def directions(self) -> Array:
        """All unit directions as the columns of a (d, m) matrix, in the order of ``semi_axes``; signs carry no meaning.

        8·d·m bytes, computed in O(d²) time on first access and kept.
        """
        rows = np.empty((len(self), self.d))
        for position in range(len(self)):
            rows[position] = self._direction(position)
        return self._here(rows).T


class CenteredAxes(PrincipalAxes):
    """Axes of the ellipsoid of LayerNorm, {g ∘ y : 1ᵀy = 0, ‖y‖ ≤ √d}."""

    def __init__(self, gain: Array) -> None:
        super().__init__(gain)
        # Axes belong to the distinct magnitudes ("poles" aⱼ, ascending). A pole of multiplicity m is itself m − 1
        # times the length of an axis, unless it is 0; below each pole but the first lies the root of its gap.
        poles, self._pole_of, weights = np.unique(self._size, return_inverse=True, return_counts=True)
        # In units of a power of two, so that the lengths of a gain scaled by one are scaled, bit for bit.
        exponent = int(np.frexp(poles[-1])[1])
        self._poles, self._scaled = np.ldexp(poles, -exponent), np.ldexp(self._gain, -exponent)
        self._weights = weights.astype(np.float64)
        # Descending order: pole by pole, first its tied axes (member t = ..., 2, 1), then the root below (member 0).
        many, count = self.d - (int(weights[0]) if poles[0] == 0.0 else 1), weights[::-1]
        self._pole = np.repeat(np.arange(poles.size)[::-1], count)[:many]
        self._member = (np.repeat(np.cumsum(count), count) - np.arange(1, self.d + 1))[:many]
        roots = np.array([self._root(gap)[1] for gap in range(self._poles.size - 1)])
        below = np.concatenate(([0.0], np.clip(roots, self._poles[:-1], self._poles[1:])))
        lengths = np.where(self._member == 0, below[self._pole], self._poles[self._pole])
        self._lengths = math.sqrt(self.d) * np.ldexp(lengths, exponent)

    @functools.cached_property
    def _equation(self) -> tuple[Floats, Floats, float]:
        """The secular equation times a² − λ, a the largest pole: 1 + ρ Σ zᵢ²/(aᵢ² − λ) = 0 of the poles aᵢ below."""
        below, largest = self._poles[:-1], self._poles[-1]
        z = np.sqrt(self._weights[:-1] * (largest - below) * (largest + below))
        length = float(np.linalg.norm(z)) or 1.0
        return below, z / length, length * length / self.d

    def _root(self, gap: int) -> tuple[Floats, float, Floats]:
        """The root between two neighbouring poles, between its differences from and sums with the poles below."""
        from scipy.linalg.lapack import dlasd4  # pyright: ignore[reportAttributeAccessIssue] - slow to import

        below, z, rho = self._equation
        return dlasd4(gap, below, z, rho=rho)[:3]

    def _direction(self, position: int) -> Floats:
        pole, t = int(self._pole[position]), int(self._member[position])
        if t == 0:
            minus, _, plus = self._root(pole - 1)
            terms = np.empty(self._poles.size)
            np.multiply(minus, plus, out=terms[:-1])
            if pole == self._poles.size - 1:  # where a − √λ would cancel, from the equation; a single term may be −1
                terms = -abs(terms)
                terms[-1] = -self._weights[-1] / np.sum(self._weights[:-1] / terms[:-1])
            else:
                less = self._poles[-1] - self._poles[-2]
                terms[-1] = (less + minus[-1]) * (less + plus[-1])
            vector = self._scaled / terms[self._pole_of]
            return vector / math.sqrt(vector @ vector)
        # Helmert contrast of the tied gains: orthogonal to the gain within the group and to the other contrasts.
        result = np.zeros(self.d)
        tied = np.flatnonzero(self._pole_of == pole)[: t + 1]
        contrast = np.full(t + 1, 1.0 / math.sqrt(t * (t + 1.0)))
        contrast[t] = -t * contrast[t]
        result[tied] = np.sign(self._gain[tied]) * contrast
        return result


class CoordinateAxes(PrincipalAxes):
    """Axes of the ellipsoid of RMSNorm, {g ∘ y : ‖y‖ ≤ √d}: the coordinate axes of the nonzero gains."""

    def __init__(self, gain: Array) -> None:
        super().__init__(gain)
        descending = np.argsort(-self._size, kind="stable")
        self._coordinate = descending[self._size[descending] > 0.0]
        self._lengths = math.sqrt(self.d) * self._size[self._coordinate]

    def _direction(self, position: int) -> Floats:
        return (np.arange(self.d) == self._coordinate[position]).astype(np.float64)


@door
def principal_axes(gain: Array, *, centered: bool = True) -> PrincipalAxes:
    """Semi-axes and directions of the ellipsoid that LayerNorm with this gain fills: the SVD of √d GΠ in O(d²).

    The squared semi-axes over d are the eigenvalues λ of GΠG = G² − ggᵀ/d, G = diag(g). Those that are not equal to a
    tied g_i² are the roots of Σ 1/(g_i² − λ) = 0, the critical points of ∏(λ − g_i²): one strictly between any two
    neighbouring distinct g_i². Directions are v_i ∝ g_i/(g_i² − λ). This holds for every gain. With k zeros the
    smallest root has the pole 0 of weight k below it, and the axes are those of the inverse of diag(g_S⁻²) + αα^T/k, α
    = 1/g_S, on the support S of the gain; the published formula for zero gains drops the second term. For RMSNorm the
    axes are the coordinate axes, with semi-axes √d|g_i|.

    Each length is computed by LAPACK's dlasd4 to nearly full relative accuracy, also where lengths differ by tens of
    orders of magnitude or lie close together, which a dense eigensolver cannot do. Nonzero gains may have magnitudes
    from 2⁻⁵¹¹ to 2⁵¹¹, within a factor of 2²⁰⁰ of each other.

    Returns PrincipalAxes with ``.semi_axes`` (m,) descending, m = d − max(1, k) for k zero gains (RMSNorm: d − k);
    ``.direction(i)`` (d,) in O(d); ``.directions`` (d, m).

    Source: Riechers, arXiv:2405.04134 (semi-axes √(N/λ) of Π₂G⁻²Π₂, nonzero gains); Golub, SIAM Review 15 (1973),
    section 5, for the secular equation; Li, LAPACK Working Note 89, for dlasd4.

    >>> import numpy as np, lngeom as lg
    >>> axes = lg.principal_axes(np.array([3.0, -1.0, 2.0]))
    >>> axes
    <2 principal axes in dimension 3, semi-axes 4.58258 to 2.64575>
    >>> axes.semi_axes, axes.direction(0).round(3)
    (array([4.58257569, 2.64575131]), array([ 0.909,  0.101, -0.404]))
    """
    return CenteredAxes(gain) if centered else CoordinateAxes(gain)


@door
def dead_direction(gain: Array) -> Array:
    """Unit vector n with n·(z − b) = 0 for every output z of a LayerNorm with this gain and bias b.

    n = α/‖α‖ with α_i = 1/g_i where no gain is zero: α·(g ∘ y) = 1·y = 0, so that cov(z) n = 0 for every distribution
    of inputs. With k ≥ 1 zero gains every vector on them is dead; n = 1_Z/√k is returned, the limit as these gains tend
    to zero together. Returns shape (d,), in the dtype of
    `gain`. Source: Riechers, arXiv:2405.04134, Π₂ = I − αα^T/(α^Tα); the zero-gain case follows from z_i = b_i there.

    >>> import numpy as np, lngeom as lg
    >>> gain = np.array([3.0, 4.0])
    >>> lg.ellipsoid.dead_direction(gain)
    array([0.8, 0.6])
    >>> bool(abs(lg.ellipsoid.dead_direction(gain) @ lg.layer_norm(np.array([5.0, 1.0]), gain, eps=1e-5)) < 1e-15)
    True
    """
    check_gain(gain)
    xp, wide = namespace(gain), widen(gain)
    zero = wide == 0
    # Scaled so that the largest component is ±1: the norm neither overflows nor underflows.
    alpha = xp.astype(zero, wide.dtype) if bool(xp.any(zero)) else xp.min(xp.abs(wide)) / wide
    return narrow(alpha / xp.sqrt(xp.sum(alpha * alpha)), gain)
