"""Boxes of inputs, and the smallest boxes that hold the outputs of LayerNorm."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .carriers import check_eps
from .errors import InputError
from .norms import standardize

__all__ = ["enclosure"]

Floats = NDArray[np.float64]


def enclosure(low: ArrayLike, high: ArrayLike, *, eps: float) -> tuple[Floats, Floats]:
    """Bounds of each component of LayerNorm without gain over a box: low ≤ x ≤ high, componentwise.

    y_j rises with x_j, as ∂y_j/∂x_j = (1 − (1 + y_j²)/d)/s ≥ 0, so that x_j is that of `high` at the upper end. There
    1/y_j² + 1 = (‖r‖²/d + ε)/(Σr_i/d)² for r_i = x_j − x_i, a quasiconvex function where Σr_i > 0: its minimum has x_i
    = τ cut to [low_i, high_i] for one number τ, which is found in O(d log d) for each component. The lower end is that
    of −x. An upper end ≥ 0 and a lower end ≤ 0 are therefore the extreme values themselves, in float64 up to rounding;
    an end of the other sign (all of the box on one side of the mean) is a bound by interval arithmetic, not always
    attained. `low` and `high` have shape (d,), `eps` > 0. Returns two arrays of shape (d,). Source: elementary.

    >>> import numpy as np, lngeom as lg
    >>> low, high = lg.enclosure(np.array([-1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.5]), eps=1.0)
    >>> low.round(4), high.round(4)
    (array([-0.889 , -0.4629, -0.603 ]), array([0.603 , 0.7746, 0.5657]))
    """
    check_eps(eps)
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if low.ndim != 1 or low.shape != high.shape or not np.all(low <= high) or not np.isfinite([low, high]).all():
        raise InputError(f"low has shape {low.shape}, high {high.shape}: a box has finite ends low <= high, shape (d,)")
    if not isinstance(eps, int | float) or eps == 0:
        raise InputError(
            f"eps is {eps!r}: over a box that holds a constant vector only eps > 0 has bounds; give a number"
        )
    return -_upper(-high, -low, eps), _upper(low, high, eps)


def _upper(low: Floats, high: Floats, eps: float) -> Floats:
    """Upper end of every component."""
    d, ends = low.size, np.unique([low, high])
    furthest = np.maximum(high - low.mean(), high.mean() - low)  # of a component from the mean
    upper = np.empty(d)
    for j, top in enumerate(high):
        gap = top - (low.sum() - low[j] + top) / d
        if gap <= 0:
            upper[j] = gap / np.sqrt(np.mean(furthest**2) + eps)
        else:
            x = np.clip(_best(ends[ends < top], low, high, j, eps), low, high)
            x[j] = top
            upper[j] = standardize(x, eps=eps)[j]
    return upper


def _best(ends: Floats, low: Floats, high: Floats, j: int, eps: float) -> float:
    """The number τ to which the other components are cut.

    The optimum is where Σ r_i λ = Σ r_i² + dε for λ = high_j − τ: the difference is −Σr_i² − dε at λ = 0, and positive
    for a large λ. Between two ends it is linear, and of a pseudoconvex function any such point is the minimum.
    """
    top = high[j]

    def rest(tau: float) -> float:
        r = top - np.clip(tau, low, high)
        r[j] = 0
        return (top - tau) * r.sum() - r @ r - low.size * eps

    first, last = -1, ends.size
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if rest(float(ends[middle])) >= 0 else (first, middle)
    below = ends[first] if first >= 0 else -np.inf
    above = ends[last] if last < ends.size else top
    r = top - np.where(high <= below, high, low)
    r[((low < above) & (high > below)) | (np.arange(low.size) == j)] = 0  # free: r_i = λ on both sides
    return float(top - (r @ r + low.size * eps) / r.sum())
