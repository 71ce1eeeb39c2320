"""The all-ones vector 1, the moments of a vector, and the projection Π = I − 11ᵀ/d off the all-ones vector."""

from .carriers import (
    Array,
    Carrier,
    anchored,
    beside,
    check_parameter,
    check_vectors,
    door,
    in_range,
    mean_in_range,
    namespace,
    narrow,
    widen,
)

__all__ = ["centered_inner_product", "condition_number", "mean_vector", "moments", "project"]


@door
def moments(x: Array) -> tuple[Array, Array]:
    """Mean μ = 1ᵀx/d and population variance σ² = ‖x − μ1‖²/d of the components of each vector.

    LayerNorm is computed from these two numbers; the divisor is d, not d − 1. The variance is computed from
    the centred vector, because mean x² − μ² loses all digits where x is nearly parallel to 1. Returns two arrays
    of shape (..., 1). Source: Gupta et al., arXiv:2409.12951, eqs. 1 and 3.

    >>> import numpy as np, lngeom as lg
    >>> lg.moments(np.array([1.0, 3.0]))
    (array([2.]), array([1.]))
    """
    check_vectors("x", x)
    mean, variance, u = scaled_moments(x)
    return (mean, variance) if u is None else (mean / u, variance / u / u)


def scaled_moments(x: Array) -> tuple[Array, Array, Array | None]:
    """Mean and variance of u·x, and the unit u of each row (:func:`lngeom.carriers.in_range`)."""
    (mean, _), variance, _, unit = in_range(spread, widen(x))
    return mean, variance, unit


def spread(x: Array, unit: Array | None) -> tuple[tuple[Array, Array], Array]:
    """Mean and deviation of u·x, and the mean square of the deviation."""
    moved, anchor = anchored(x)
    mean, deviation = center(moved, unit)
    if anchor is not None:
        mean = mean + (anchor if unit is None else anchor * unit)
    return (mean, deviation), mean_square(deviation)


def center(x: Array, unit: Array | None = None) -> tuple[Array, Array]:
    """Mean of u·x, and deviation of u·x from it; u, the unit of a row, is 1 for None."""
    mean = mean_in_range(x, unit)
    return mean, (x if unit is None else x * unit) - mean


def mean_square(v: Array) -> Array:
    """Mean of the squares: the variance of x if v is its deviation from the mean."""
    return namespace(v).mean(v * v, axis=-1, keepdims=True)


@door
def project(x: Array, direction: Array | None = None) -> Array:
    """Centred vector Πx = x − μ1 = (I − 11ᵀ/d) x, the orthogonal projection of x onto the hyperplane 1^⊥.

    A `direction` u, shape (d,), is projected off instead of 1: x − u(u·x)/(u·u), NaN for u = 0; RMSNorm of it is
    *u-Norm*. Returns the shape and dtype of `x`. Source: Gupta et al., arXiv:2409.12951, eq. 8; Riechers,
    arXiv:2405.04134, Π = I − 1̂1̂ᵀ.

    >>> import numpy as np, lngeom as lg
    >>> lg.project(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """
    check_vectors("x", x)
    check_parameter("direction", direction, x)
    xp, wide = namespace(x), widen(x)
    if direction is None:
        return narrow(_split(wide)[1], x)
    (u, _), (wide, unit) = sized(beside(direction, wide)), sized(wide)
    along = xp.sum(u * wide, axis=-1, keepdims=True) / xp.sum(u * u, axis=-1, keepdims=True)
    off = wide - along * u
    return narrow(off if unit is None else off / unit, x)


def sized(x: Array) -> tuple[Array, Array | None]:
    """Each row times its unit, so that its squares are in range; and that unit."""

    def compute(x: Array, unit: Array | None) -> tuple[Array, Array]:
        sized = x if unit is None else x * unit
        return sized, mean_square(sized)

    sized, _, _, unit = in_range(compute, x)
    return sized, unit


@door
def mean_vector(x: Array) -> Array:
    """Mean vector μ1 = (x·1̂)1̂, the part of x along the all-ones vector; its norm is |x·1̂| = |μ|√d.

    Returns the shape and dtype of `x` = ``mean_vector(x) + project(x)``. Source: Gupta et al., arXiv:2409.12951, eqs. 2
    and 7 (eqs. 5 and 6 drop the absolute value of the norm).

    >>> import numpy as np, lngeom as lg
    >>> lg.projection.mean_vector(np.array([1.0, 2.0, 6.0]))
    array([3., 3., 3.])
    """
    check_vectors("x", x)
    wide = widen(x)
    return narrow(_split(wide)[0] * namespace(x).ones_like(wide), x)


def _split(x: Array) -> tuple[Array, Array]:
    """Mean of each row and deviation from it, whatever the size of the sum."""

    def compute(x: Array, unit: Array | None) -> tuple[tuple[Array, Array], Array]:
        mean, deviation = center(x, unit)
        return (mean, deviation), mean * mean

    moved, anchor = anchored(x)
    # Beside an eps of 1 no mean is too small, and only rows get a unit whose sum or mean square is too large.
    (mean, deviation), _, _, unit = in_range(compute, moved, 1.0)
    if unit is not None:
        mean, deviation = mean / unit, deviation / unit
    return mean if anchor is None else mean + anchor, deviation


@door
def centered_inner_product(inner: Array, mean: Array, other: Array, d: Carrier) -> Array:
    """Inner product (x − μ1)·z = x·z − dμν of a centred vector with another one, ν the mean of z.

    LayerNorm turns x into the direction of x − μ1; gain and bias turn it further by the angle between x − μ1 and z.
    `inner` is x·z, `mean` and `other` are μ and ν, of shapes that broadcast, and `d` is the dimension. Returns numbers
    of that shape. Source: theorem ``projection.inner_product``.

    >>> import numpy as np, lngeom as lg
    >>> x, z = np.array([1.0, 2.0, 6.0]), np.array([0.0, 1.0, 2.0])
    >>> float(lg.projection.centered_inner_product(x @ z, x.mean(), z.mean(), 3)), float(lg.project(x) @ z)
    (5.0, 5.0)
    """
    return widen(inner) - d * widen(mean) * widen(other)


@door
def condition_number(x: Array) -> Array:
    """Condition number κ = ‖x‖/‖Πx‖ = √(1 + (μ/σ)²) = 1/sin θ of LayerNorm at each vector x.

    A relative change of size δ < 1/κ in x turns the direction of its LayerNorm by an angle of sine at most κδ; RMSNorm
    has κ = 1. Returns shape (...): inf for a constant vector, NaN for the zero vector; where κ is large it is as
    accurate as :func:`lngeom.angles.angle_to_uniform` near 0. Source: N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 1.9, for the variance.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.projection.condition_number(np.array([99.0, 101.0])))
    100.00499987500625
    """
    check_vectors("x", x)
    mean, variance, _ = scaled_moments(x)
    xp = namespace(mean)
    ratio = mean / xp.sqrt(variance)
    return xp.sqrt(1 + ratio * ratio)[..., 0]
