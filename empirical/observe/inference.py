"""Intervals of a mean whose tokens are correlated within documents."""

import math

import numpy as np

CONFIDENCE = 0.95


def student(freedom: int, level: float = CONFIDENCE) -> float:
    """Half the length of Student's interval with so many degrees of freedom, in standard errors."""
    from scipy.special import stdtrit  # as long to load as NumPy

    return float(stdtrit(freedom, (1 + level) / 2))


def false_alarms(count: int) -> float:
    """How many of so many intervals miss the true value on average, whether or not they are independent."""
    return count * (1 - CONFIDENCE)


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
    >>> from lngeom.empirical.observe import ratio_interval
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
    reach = _reach(sums - mean * tokens, total)
    return mean, max(mean - reach, floor), mean + reach


def centred_interval(squares: np.ndarray, sums: np.ndarray, tokens: np.ndarray) -> tuple[float, float, float]:
    """The mean square around the mean over all tokens, from the sums of squares and of values by document.

    The interval is that of a ratio for the squares of x − m, with the mean m as if it were known (delta method).
    """
    mean = sums.sum() / max(tokens.sum(), 1)
    return ratio_interval(squares - 2 * mean * sums + mean**2 * tokens, tokens)


def _reach(deviations: np.ndarray, total: float) -> float:
    """Half the length of the interval of a ratio, from the deviation s_j − R n_j of each document."""
    count = len(deviations)
    return student(count - 1) * math.sqrt(float((deviations**2).sum()) * count / (count - 1)) / total


def paired_reach(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float | None:
    """Half the length of the interval of a difference of two means over the same documents, their sums and tokens.

    None for a single document. What the documents have in common cancels, as in Student's test of pairs.
    """
    there = (one[1] > 0) & (other[1] > 0)
    if there.sum() < 2:
        return None
    (a, n), (b, k) = ((sums[there], tokens[there]) for sums, tokens in (one, other))
    return _reach((a - a.sum() / n.sum() * n) / n.sum() - (b - b.sum() / k.sum() * k) / k.sum(), 1)
