"""Mean of cos²θ with an interval that takes the tokens of one sequence as correlated."""

from __future__ import annotations

import numpy as np
import scipy.stats

CONFIDENCE = 0.95


def ratio_interval(
    sums: np.ndarray,
    sums_squared: np.ndarray,
    sums_tokens: np.ndarray,
    tokens: int,
    tokens_squared: int,
    sequences: int,
    *,
    floor: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Mean R = Σs_j/Σn_j over all tokens and its confidence interval, sequences j being the independent units.

    The variance of R is m/(m − 1) · Σ(s_j − R n_j)²/(Σn_j)² for m sequences (the ratio estimator of cluster sampling,
    which for sequences of one length is the variance of the mean of the batch means), and the interval is Student's
    with m − 1 degrees of freedom, cut off at `floor`.

    Args:
        sums, sums_squared, sums_tokens: Σs_j, Σs_j², Σs_j n_j with s_j the sum over sequence j.
        tokens, tokens_squared, sequences: Σn_j, Σn_j², m.
        floor: The least value that R can have: 0 for squares, -inf for differences.

    Returns:
        mean, low, high: arrays. NaN where there are no tokens; the interval of a single sequence is [floor, inf].

    References:
        W. G. Cochran, Sampling Techniques, 3rd ed., section 6.3 and equation 9A.

    >>> import numpy as np
    >>> from empirical.statistics import ratio_interval
    >>> sums = np.array([1.0, 2.0, 3.0])  # three sequences of one token each
    >>> mean, low, high = ratio_interval(sums.sum(), (sums**2).sum(), sums.sum(), 3, 3, 3)
    >>> float(mean), float(round(high - mean, 4))
    (2.0, 2.4841)
    """
    if tokens == 0:
        nothing = np.full(np.shape(sums), np.nan)
        return nothing, nothing, nothing
    mean = sums / tokens
    if sequences < 2:
        return mean, np.full_like(mean, floor), np.full_like(mean, np.inf)
    squares = np.maximum(sums_squared - 2 * mean * sums_tokens + mean * mean * tokens_squared, 0)
    error = np.sqrt(squares * sequences / (sequences - 1)) / tokens
    reach = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, sequences - 1) * error
    return mean, np.maximum(mean - reach, floor), mean + reach
