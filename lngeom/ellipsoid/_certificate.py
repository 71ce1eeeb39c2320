"""Rigorous enclosures of the roots that :mod:`lngeom.ellipsoid._secular` computes, after the fact.

The secular function f(τ) = Σ wᵢ/(aᵢ² − a² − τ) increases on each gap, so f(τ₋) ≤ 0 ≤ f(τ₊) proves that its root
lies in [τ₋, τ₊]. The two signs are decided in floating point where the value exceeds a bound of its rounding error,
and in integers elsewhere. How the root was found plays no part.
"""

from dataclasses import dataclass, field

import numpy as np

from ..errors import LngeomError
from ._secular import Floats, Integers, blocks, differences, unit, workspace

_U = 2.0**-53
# A first enclosure tried in integers, in units of 2^-53 of the offset.
_FIRST_UNITS = 8
# An enclosure may reach this far into its gap, measured from the nearer pole, where the root itself is within 1/2.
_REACH = 0.75


@dataclass(frozen=True)
class Certificate:
    """Proved enclosures of the semi-axes of one ellipsoid, in their order; made by :meth:`PrincipalAxes.certificate`.

    `lower` and `upper`, shape (m,), hold the exact semi-axes of the given float64 gain between them, the factor 1 ±
    2⁻⁴⁹ of rounding included. `offset_width` (m,) is the relative half-width of the enclosure of |λ − a²|, the distance
    of the squared semi-axis over d to the nearest squared gain a², on which the accuracy of the directions rests; it is
    0 where gains are tied, and the semi-axis is √d a. `exact` counts the roots decided in integer arithmetic.

    >>> import numpy as np, lngeom as lg
    >>> axes = lg.principal_axes(np.array([3.0, -1.0, 2.0]))
    >>> certificate = axes.certificate()
    >>> bool(np.all((certificate.lower <= axes.semi_axes) & (axes.semi_axes <= certificate.upper)))
    True
    """

    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    offset_width: Floats = field(repr=False)
    exact: int


def _folded(terms: Floats) -> Floats:
    """Row sums by halving, in place: no element passes through more than ⌈log₂ n⌉ additions."""
    columns = terms.shape[1]
    while columns > 1:
        half = (columns + 1) // 2
        terms[:, : columns - half] += terms[:, half:columns]
        columns = half
    return terms[:, 0]


def _value(
    difference: Floats, tau: Floats, width: Floats, weights: Floats, work: Floats
) -> tuple[Floats, Floats, Floats]:
    """f(τ) in floating point, a bound of its rounding error, and the slope (approximate).

    Overwrites the second and third block of `work`.

    A term is off by at most (3.01ρ + 3.01)·u relatively: 3.01u from the difference aᵢ² − a², amplified by
    ρ = max |aᵢ² − a²|/|aᵢ² − a² − τ| ≤ width/(width − |τ|) for |τ| up to _REACH·width, and one rounding each for
    subtraction, reciprocal and weight. The halving sum adds ⌈log₂ p⌉ u. Terms lost to underflow are below 2⁻¹⁰²⁰ of
    the largest one. Rounding of the bound itself and products of errors are within the spare 1 % for p below 2⁴⁰.
    """
    terms, size = work[1, : tau.size], work[2, : tau.size]
    np.subtract(difference, tau[:, None], out=terms)
    np.reciprocal(terms, out=terms)
    np.abs(terms, out=size)
    total = size @ weights
    with np.errstate(under="ignore"):
        np.multiply(terms, terms, out=size)
    slope = size @ weights
    terms *= weights
    amplification = width / np.maximum(width - np.abs(tau), (1.0 - _REACH) * width)
    depth = int(weights.size - 1).bit_length()
    bound = 1.01 * _U * (3.01 * amplification + 3.01 + depth) * total
    return _folded(terms).copy(), bound, slope


def sign(poles: Floats, weights: Floats, gap: int, origin: int, tau: float) -> int:
    """Sign of the secular function at `tau` in integer arithmetic; 0 if 256 bits do not decide it."""
    ratios = [float(pole).as_integer_ratio() for pole in poles]
    common = max(denominator for _, denominator in ratios)
    squares = [(numerator * (common // denominator)) ** 2 for numerator, denominator in ratios]
    numerator, denominator = tau.as_integer_ratio()
    scale, scale_denominator = float(unit(poles, np.array([gap]))[0]).as_integer_ratio()
    # τ counts squared units of the gap: bring τ·common²/scale² and the squares to the same denominator.
    numerator *= (common * scale_denominator) ** 2
    denominator *= scale**2
    center = squares[origin] * denominator + numerator
    terms = [square * denominator - center for square in squares]
    precision = 256 + min(abs(term) for term in terms).bit_length()
    total = sum((int(weight) << precision) // term for weight, term in zip(weights, terms, strict=True))
    # Each floor lost less than 1, so the value times 2^precision lies in [total, total + number of terms).
    if total > 0:
        return 1
    return -1 if total + len(terms) <= 0 else 0


def _enclose_exactly(poles: Floats, weights: Floats, gap: int, origin: int, tau: float) -> tuple[float, float]:
    """Two floats near `tau` at which the secular function is not positive and not negative."""
    a, b = poles[gap : gap + 2] * unit(poles, np.array([gap]))
    side, units = 1.0 if origin == gap else -1.0, _FIRST_UNITS
    in_gap = 0.0 < side * tau < _REACH / 1.25 * (b - a) * (b + a)  # then so is all that is tried below
    while in_gap and units * _U <= 0.25:
        low, high = sorted((tau * (1 - units * _U), tau * (1 + units * _U)))
        if sign(poles, weights, gap, origin, low) < 0 < sign(poles, weights, gap, origin, high):
            return low, high
        units *= 2
    raise LngeomError(
        f"the root between the gains {float(poles[gap])!r} and {float(poles[gap + 1])!r} is not within a quarter of "
        f"the computed offset {tau!r} from gain number {origin}: the computed axes are wrong; please report these gains"
    )


def enclose(
    poles: Floats, weights: Floats, origin: Integers, offset: Floats, *, exact: bool = False
) -> tuple[Floats, Floats, int]:
    """Lower and upper bounds of every offset (:func:`lngeom.ellipsoid._secular.solve`) and how many took integers.

    With `exact` every sign is decided in integers: tighter, and about a hundred times slower.
    """
    low, high = offset.copy(), offset.copy()
    undecided = np.ones(offset.size, dtype=bool)
    if not exact:
        work = workspace(offset.size, poles.size, 3)
        for gap in blocks(offset.size, poles.size):
            rows, center = np.arange(gap.size), offset[gap]
            difference = differences(poles, poles, gap, origin[gap], work)
            width = difference[rows, gap + 1] - difference[rows, gap]
            value, bound, slope = _value(difference, center, width, weights, work)
            # Far enough for the value to overcome twice its error bound (there it is a little larger), by slope.
            reach = (1.25 * np.abs(value) + 2.5 * bound) / slope + 2 * _U * np.abs(center)
            below, above = center - reach, center + reach
            low[gap], high[gap] = below, above
            side = np.where(origin[gap] == gap, 1.0, -1.0)  # the gap lies above a lower pole, below an upper one
            proved = np.minimum(side * below, side * above) > 0.0
            proved &= np.maximum(side * below, side * above) < _REACH * width
            for end, direction in ((below, -1.0), (above, 1.0)):
                point = np.where(proved, end, center)
                value, bound, _ = _value(difference, point, width, weights, work)
                proved &= direction * value > bound
            undecided[gap] = ~proved
    for gap in np.flatnonzero(undecided):
        low[gap], high[gap] = _enclose_exactly(poles, weights, int(gap), int(origin[gap]), float(offset[gap]))
    return low, high, int(undecided.sum())
