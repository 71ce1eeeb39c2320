"""Means over seeds with Student's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class SeedMean:
    """A geometric mean over seeds with its 95 % interval."""

    mean: float
    low: float
    high: float
    count: int

    def within(self, low: float, high: float) -> SeedMean:
        """The same interval, cut off at values that cannot be exceeded."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))


def geometric_mean(values: Sequence[float]) -> SeedMean:
    r"""Geometric mean of positive numbers and Student's 95 % interval of the mean of their logarithms.

    d·E[cos²θ] spans orders of magnitude, so seeds are compared by ratios. With n values of log-mean m and standard
    deviation s the interval is exp(m ± t s/√n), t the 97.5 % point of Student's distribution with n − 1 degrees of
    freedom; it is unbounded for one value.

    >>> interval = geometric_mean([0.5, 2.0])
    >>> round(interval.mean, 12), interval.count
    (1.0, 2)
    """
    logs = np.log(np.asarray(values, dtype=float))
    mean, count = float(logs.mean()), len(logs)
    if count < 2:
        return SeedMean(math.exp(mean), 0.0, math.inf, count)
    reach = float(stats.t.ppf(0.975, count - 1) * logs.std(ddof=1) / math.sqrt(count))
    return SeedMean(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), count)


def student_mean(values: Sequence[float]) -> SeedMean:
    """Arithmetic mean and Student's 95 % interval, for quantities of either sign."""
    numbers = np.asarray(values, dtype=float)
    mean, count = float(numbers.mean()), len(numbers)
    if count < 2:
        return SeedMean(mean, -math.inf, math.inf, count)
    reach = float(stats.t.ppf(0.975, count - 1) * numbers.std(ddof=1) / math.sqrt(count))
    return SeedMean(mean, mean - reach, mean + reach, count)
