"""The roots of the secular equation Σ wᵢ/(aᵢ² − λ) = 0, one in every gap between neighbouring poles aᵢ².

Every weight is a multiplicity, a positive integer. That makes each root well determined: its distance τ to the
nearer pole has, in the differences of poles, a relative condition number of at most 2√d (Cauchy-Schwarz), so τ is
computed to nearly full relative
accuracy as long as no pole difference is formed from rounded squares. Here aᵢ² − aₖ² = (aᵢ − aₖ)(aᵢ + aₖ), and the
unknown is τ = λ − aₖ² itself.

Each gap has its own unit of length, the power of two just below its upper pole aⱼ₊₁, and everything that belongs to
the gap (τ included) is in squares of that unit. Scaling by powers of two is exact, and no square leaves the range of
float64 where it matters, however large the ratio between gains is.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BLOCK = 1 << 17
"""Elements of a working block: 1 MiB of doubles, which stays in the second-level cache."""

# An iterate whose last step was below 2^-32 of itself is at the root: the iteration converges quadratically.
_SETTLED = 2.0**-32
_EPSILON = 2.0**-52
# Sweeps before the bracket is halved regardless; ordinary rows need three to six.
_PATIENCE = 16


def blocks(rows: int, columns: int) -> Iterator[Integers]:
    """Split range(rows) into consecutive runs whose blocks of `columns` columns have at most BLOCK elements."""
    run = max(1, BLOCK // max(1, columns))
    for start in range(0, rows, run):
        yield np.arange(start, min(start + run, rows))


def unit(poles: Floats, gap: Integers) -> Floats:
    """Reciprocal of the unit of length of each gap, a power of two: the scaled upper pole lies in [1, 2)."""
    _, exponent = np.frexp(poles[gap + 1])
    return np.ldexp(1.0, 1 - exponent)


def workspace(rows: int, columns: int, count: int = 2) -> Floats:
    """`count` blocks to compute in: fresh memory for every temporary would cost as much as the arithmetic."""
    return np.empty((count, min(rows, max(1, BLOCK // max(1, columns))), columns))


def differences(points: Floats, poles: Floats, gap: Integers, origin: Integers, work: Floats) -> Floats:
    """Rows (p² − a²) for all `points` p, a the `origin` pole of each row, in squared units of its gap.

    Relative error of each entry below 3.01·2⁻⁵³, from one subtraction, one addition and one product. An entry
    beyond 2¹⁰²⁴ becomes infinite: it belongs to a pole whose term in the secular equation is below 2⁻¹⁰²³. The
    result is in the first block of `work` (:func:`workspace`); the second is overwritten.
    """
    scale = unit(poles, gap)[:, None]
    center = poles[origin][:, None] * scale
    result, total = work[0, : gap.size], work[1, : gap.size]
    np.multiply(points, scale, out=total)
    np.subtract(total, center, out=result)
    total += center
    with np.errstate(over="ignore", under="ignore"):
        result *= total
    return result


class _Sums:
    """Sums over the poles below and above each gap, for rows whose gaps are consecutive or a subset of such."""

    def __init__(self, weights: Floats, gap: Integers) -> None:
        self._weights = weights
        self._first, self._last = int(gap[0]) + 1, int(gap[-1]) + 1
        self._below = np.arange(self._first, self._last) <= gap[:, None]

    def __call__(self, terms: Floats) -> tuple[Floats, Floats]:
        first, last, weights = self._first, self._last, self._weights
        below = terms[:, :first] @ weights[:first]
        above = terms[:, last:] @ weights[last:]
        if first < last:  # columns that are below the gap in some rows and above it in others
            mixed, between = terms[:, first:last], weights[first:last]
            part = np.where(self._below, mixed, 0.0) @ between
            below += part
            above += np.where(self._below, 0.0, mixed) @ between
        return below, above


def _step(
    difference: Floats, tau: Floats, sums: _Sums, ends: tuple[Floats, Floats], terms: Floats
) -> tuple[Floats, Floats]:
    """Value of the secular function at `tau`, and the step to the root of its rational model.

    The model has a pole at each end of the gap and agrees with the sums below and above in value and slope
    (the "middle way" of Li, LAPACK Working Note 89). Signs are such that it has one root inside the gap.
    Overwrites `terms`.
    """
    np.subtract(difference, tau[:, None], out=terms)
    np.reciprocal(terms, out=terms)
    below, above = sums(terms)
    with np.errstate(under="ignore"):
        np.multiply(terms, terms, out=terms)
    below_slope, above_slope = sums(terms)
    value = below + above
    left, right = ends[0] - tau, ends[1] - tau
    constant = value - below_slope * left - above_slope * right
    linear = (left + right) * value - left * right * (below_slope + above_slope)
    product = left * right * value
    root = np.sqrt(np.maximum(linear * linear - 4.0 * product * constant, 0.0))
    # The stable form of the smaller root of constant·η² − linear·η + product; linear > 0 inside a gap near the root.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = np.where(linear > 0.0, 2.0 * product / (linear + root), (linear - root) / (2.0 * constant))
    return value, step


def _solve_block(poles: Floats, weights: Floats, gap: Integers, work: Floats) -> tuple[Integers, Floats]:
    rows, terms = np.arange(gap.size), work[1, : gap.size]
    difference = differences(poles, poles, gap, gap, work)
    width = difference[rows, gap + 1]
    half = 0.5 * width
    value, step = _step(difference, half, _Sums(weights, gap), (np.zeros_like(width), width), terms)

    # The sign at the middle tells which pole is nearer; the root is then sought from there.
    upper = value < 0.0
    origin = np.where(upper, gap + 1, gap)
    difference = differences(poles, poles, gap, origin, work)
    low, high = np.where(upper, -half, 0.0), np.where(upper, 0.0, half)
    tau = np.where(upper, step - half, half + step)
    tau = np.where((tau > low) & (tau < high), tau, 0.5 * (low + high))

    result = tau.copy()
    sweep, active, sums = 0, rows, _Sums(weights, gap)
    while active.size:
        ends = difference[np.arange(active.size), gap], difference[np.arange(active.size), gap + 1]
        value, step = _step(difference, tau, sums, ends, terms)
        low, high = np.where(value < 0.0, tau, low), np.where(value < 0.0, high, tau)
        moved = tau + step
        near = np.abs(step) <= _SETTLED * np.abs(tau)
        inside = (moved > low) & (moved < high) & (sweep < _PATIENCE)
        moved = np.where(near | inside, moved, 0.5 * (low + high))
        settled = near | (high - low <= _EPSILON * np.minimum(np.abs(low), np.abs(high)))
        result[active] = moved
        sweep += 1
        if settled.any():
            keep = ~settled
            active, gap, tau, low, high = active[keep], gap[keep], moved[keep], low[keep], high[keep]
            if active.size:
                sums, remaining = _Sums(weights, gap), terms[: active.size]
                np.compress(keep, difference, axis=0, out=remaining)
                difference, terms = remaining, difference[: active.size]
        else:
            tau = moved
    return origin, result


def solve(poles: Floats, weights: Floats) -> tuple[Integers, Floats]:
    """Solve Σ wᵢ/(aᵢ² − λ) = 0 in every gap between the squares of ascending distinct `poles` aᵢ ≥ 0.

    Returns the index of the nearer pole and the offset τ = λ − a² from it, in squared units of the gap: two arrays of
    length p − 1. Time O(p²), memory O(p).
    """
    gaps = poles.size - 1
    origin, offset = np.empty(gaps, dtype=np.int64), np.empty(gaps)
    work = workspace(gaps, poles.size)
    for gap in blocks(gaps, poles.size):
        origin[gap], offset[gap] = _solve_block(poles, weights, gap, work)
    return origin, offset


def root(poles: Floats, gap: Integers, origin: Integers, offset: Floats) -> Floats:
    """Square roots √(a² + τ) of the roots, relative error below 3·2⁻⁵³ for the exact `offset` τ.

    |τ| is at most half of the gap, hence at most half of a² when τ < 0, and nothing cancels. Since √(a²) rounds to a,
    the result is on the right side of its pole after rounding too.
    """
    scale = unit(poles, gap)
    center = poles[origin] * scale
    return np.sqrt(center * center + offset) / scale
