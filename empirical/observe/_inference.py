"""Intervals: of a mean whose tokens are correlated within documents, and of a trend whose errors are along a series."""

import math
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95


def student(freedom: int, level: float = CONFIDENCE) -> float:
    """Half the length of Student's interval with so many degrees of freedom, in standard errors."""
    from scipy.special import stdtrit  # as long to load as NumPy, and not needed to show a finished run

    return float(stdtrit(freedom, (1 + level) / 2))


def ratio_interval(sums: np.ndarray, tokens: np.ndarray, *, floor: float = 0.0) -> tuple[float, float, float]:
    r"""Mean R = Σs_j/Σn_j over all tokens and its confidence interval, documents j being the independent units.

    The variance of R is m/(m − 1) · Σ(s_j − R n_j)²/(Σn_j)² for m documents (the ratio estimator of cluster sampling,
    which for documents of one length is the variance of the mean of their means), and the interval is Student's with
    m − 1 degrees of freedom, cut off at `floor`.

    Args:
        sums, tokens: arrays, shape (documents,). s_j, the sum over document j, and n_j, its tokens; documents
            without tokens do not count.
        floor: The least value that R can have: 0 for squares, -inf for differences.

    Returns:
        mean, low, high: float. NaN where there are no tokens; the interval of a single document is [floor, inf].

    References:
        Cochran, Sampling Techniques, 3rd ed., section 6.3 and equation 9A.

    >>> import numpy as np
    >>> from empirical.observe import ratio_interval
    >>> mean, low, high = ratio_interval(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 1]))
    >>> mean, round(high - mean, 4)
    (2.0, 2.4841)
    """
    there = tokens > 0
    sums, tokens = sums[there], tokens[there]
    total, count = int(tokens.sum()), len(tokens)
    if count == 0:
        return math.nan, math.nan, math.nan
    mean = float(sums.sum()) / total
    if count == 1:
        return mean, floor, math.inf
    squares = float(((sums - mean * tokens) ** 2).sum())
    error = math.sqrt(squares * count / (count - 1)) / total
    reach = student(count - 1) * error
    return mean, max(mean - reach, floor), mean + reach


CORRELATIONS = np.linspace(0, 1, 201)
"""Values of ρ that stand for all."""


class Trend(NamedTuple):
    """A line for each ρ, arrays of the shape of the correlations."""

    slope: np.ndarray
    reach: np.ndarray
    squares: np.ndarray

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the hull."""
        return float((self.slope - self.reach).min()), float((self.slope + self.reach).max())


def trend(x: np.ndarray, y: np.ndarray, correlations: np.ndarray = CORRELATIONS) -> Trend:
    """Slope, half the 95 % interval and whitened residual sum of squares of y against x, for each ρ.

    The errors are taken as Gaussian and autoregressive of first order, e_l = ρ·e_{l-1} + white noise. For a given ρ the
    whitening of Prais and Winsten makes them independent and equal in variance, so that Student's interval with n - 2
    degrees of freedom is exact. ρ is not known: the hull of the intervals of all ρ from 0 to 1 covers the slope with at
    least 95 %, whatever ρ is.

    Args:
        x, y: float64, (n,). At least two points; the x are not all equal. Two points leave no degree of freedom: the
            interval is infinite.
        correlations: float64, (R,). Values of ρ in [0, 1].

    References:
        S. J. Prais and C. B. Winsten, Cowles Commission Discussion Paper 383 (1954).
    """
    constant, rising, values = (_whitened(v, correlations) for v in (np.ones_like(x), x, y - y[0]))
    length = np.sqrt((constant * constant).sum(1, keepdims=True))
    # At ρ = 1 the differences of the constant vanish, and nothing is left to project out.
    unit = np.divide(constant, length, out=np.zeros_like(constant), where=length > 0)
    rising, values = (v - unit * (unit * v).sum(1, keepdims=True) for v in (rising, values))
    steepness = (rising * rising).sum(1)
    slope = (rising * values).sum(1) / steepness
    squares = ((values - slope[:, None] * rising) ** 2).sum(1)
    free = len(x) - 2
    if free == 0:
        return Trend(slope, np.full_like(slope, math.inf), np.zeros_like(slope))
    error = np.sqrt(squares / free / steepness)
    return Trend(slope, student(free) * error, squares)


def _whitened(values: np.ndarray, correlations: np.ndarray) -> np.ndarray:
    """Independent errors of equal variance for each ρ, shape (R, n)."""
    first = np.sqrt(1 - correlations**2) * values[0]
    return np.column_stack([first, values[1:] - correlations[:, None] * values[:-1]])
