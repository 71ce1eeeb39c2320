"""The angle of a vector with the uniform vector, between vectors, and of a random vector with any direction."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .carriers import Array, check_vectors, door, dtype_name, finfo, float64, namespace, widen
from .errors import InputError
from .projection import scaled_moments

__all__ = ["IsotropicAngle", "angle_from_inner_product", "angle_from_moments", "angle_to_uniform"]

# scipy.special and scipy.stats are imported where they are used: they would double the import time of the library.


@door
def angle_to_uniform(x: Array) -> Array:
    """Angle θ between x and the uniform vector 1, as atan2(σ, μ), from 0 to π.

    Since x·1 = dμ and ‖x‖² = d(μ² + σ²), cos θ = μ/√(μ² + σ²) and sin θ = σ/√(μ² + σ²). The arc tangent keeps its
    relative accuracy at every angle, where an arc cosine loses it near 0 and π. Returns shape (...); NaN for the
    zero vector, which has no angle. Source: Gupta et al., arXiv:2409.12951, sections 2.1 (θ_x1) and 3.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angles.angle_to_uniform(np.array([1.0, -1.0]))))
    90.0
    """
    check_vectors("x", x)
    mean, variance, _ = scaled_moments(x)
    angle, xp = angle_from_moments(mean, variance), namespace(mean)
    return xp.where((mean == 0) & (variance == 0), xp.full_like(angle, math.nan), angle)[..., 0]


@door
def angle_from_moments(mean: Array, variance: Array) -> Array:
    """Angle atan2(σ, μ) with the uniform vector 1 of a vector whose components have `mean` μ and `variance` σ².

    The second half of :func:`angle_to_uniform`, for callers that need the moments as well. Returns the
    broadcast shape; NaN where a variance is negative, and 0 where both are 0. Source: Gupta et al.,
    arXiv:2409.12951, section 2.1.
    """
    xp = namespace(mean, variance)
    return xp.atan2(xp.sqrt(widen(variance)), widen(mean))


@door
def angle_from_inner_product(inner: Array, norm: Array, other: Array) -> Array:
    """Angle θ between two vectors of given inner product and norms, as atan2(√(1 − c²), c) with c = x·z/(‖x‖‖z‖).

    `inner` is x·z, `norm` and `other` are ‖x‖ and ‖z‖, of shapes that broadcast. Returns radians from 0 to π: 0 or π
    where rounding leaves c outside [−1, 1]; NaN where a norm is 0, and where |c| exceeds 1 by more than the root of the
    epsilon of a dtype, half of all digits, so that the numbers belong to no two vectors. Small angles are lost:
    rounding the three numbers moves an angle near 0 or π by up to the root of the unit roundoff, 1e-8 in float64.
    Source: theorem ``angles.between``.

    >>> import numpy as np, lngeom as lg
    >>> float(np.degrees(lg.angles.angle_from_inner_product(np.array(-2.0), np.array(2.0), np.array(2.0))).round(9))
    120.0
    """
    xp = namespace(inner, norm, other)
    cosine = widen(inner) / widen(norm) / widen(other)  # the product of the norms may leave the range
    given = [array for array in (inner, norm, other, cosine) if "float" in dtype_name(array)]
    excess, slack = abs(cosine) - 1, max(float(finfo(array).eps) for array in given) ** 0.5
    cosine = xp.where(excess <= slack, cosine, xp.full_like(cosine, math.nan))
    return angle_from_moments(cosine, xp.clip(1 - cosine * cosine, 0, None))


@dataclass(frozen=True)
class IsotropicAngle:
    """Law of the angle θ between any fixed direction and an isotropic random vector of R^d, in radians, `d` ≥ 2.

    The density is proportional to sin^(d−2) θ on [0, π]; cos² θ ~ Beta(1/2, (d − 1)/2), of mean exactly 1/d. The mean
    angle is π/2 and its variance exactly ψ₁(d/2)/2, ψ₁ the trigamma function: the standard deviation is 1/√d to leading
    order. The mean angle π/2 alone shows no orthogonality (±1 with equal chance has it too); d·E[cos² θ] = 1 is the
    test. Its functions take numbers or arrays and return float64 of the same shape. Source: Muirhead, Aspects of
    Multivariate Statistical Theory (1982), theorem 1.5.7; compare Gupta et al., arXiv:2409.12951,
    section 3.

    >>> import numpy as np, lngeom as lg
    >>> null = lg.angles.IsotropicAngle(4096)
    >>> np.degrees([null.mean(), null.std()]).round(4)
    array([90.    ,  0.8954])
    >>> float(null.cdf(np.radians(87.92)).round(3))
    0.01
    """

    d: int

    def __post_init__(self) -> None:
        if isinstance(self.d, bool) or not isinstance(self.d, int) or not 2 <= self.d <= 2**53:
            raise InputError(f"d is {self.d!r}: an angle needs a dimension that is an integer >= 2, at most 2^53")

    @property
    def _b(self) -> float:
        return (self.d - 1) / 2

    def cdf(self, angle: ArrayLike) -> NDArray[np.float64]:
        """Probability of an angle of at most `angle`, to full relative accuracy also in the lower tail."""
        from scipy.special import betainc

        theta = np.clip(float64("angle", angle), 0.0, math.pi)
        # Half the probability of the cap of that size and its mirror image; sin² and cos² are accurate on their sides.
        below = 0.5 * betainc(self._b, 0.5, np.sin(np.minimum(theta, math.pi - theta)) ** 2)
        return np.where(theta <= math.pi / 2, below, 1.0 - below)[()]

    def mean(self) -> float:
        """Mean angle, π/2 exactly."""
        return math.pi / 2

    def var(self) -> float:
        """Variance of the angle in square radians, ψ₁(d/2)/2."""
        from scipy.special import zeta

        return 0.5 * float(zeta(2, self.d / 2))  # the Hurwitz zeta function at 2 is the trigamma function

    def std(self) -> float:
        """Standard deviation of the angle in radians."""
        return math.sqrt(self.var())
