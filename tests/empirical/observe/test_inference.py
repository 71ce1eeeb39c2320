import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from lngeom.empirical import observe
from lngeom.empirical.observe import random_directions, ratio_interval

D, COUNT = 576, 64
COVERAGE = {2: (0.894, 0.758), 5: (0.842, 0.633), 25: (0.902, 0.789), 86: (0.918, 0.876)}
"""Share of intervals that contain the mean, and the variance, by documents; docs/guides/sweep.md cites it."""


def test_where_one_coordinate_carries_a_state_flat_directions_are_all_alike_and_isotropic_ones_are_not() -> None:
    x = np.zeros(D)
    x[7] = 1.0
    flat = D * (observe.sign_directions(D, COUNT, 0) @ x) ** 2
    assert flat == pytest.approx(np.ones(COUNT), rel=4 * np.finfo(float).eps)
    below = scipy.stats.beta(1 / 2, (D - 1) / 2).cdf(1 / D)
    assert round(below, 4) == 0.6823
    places = (D * random_directions(D, COUNT, 0) ** 2 < 1).sum(0)  # the rank of 1, for each place of the coordinate
    error = np.sqrt(COUNT * below * (1 - below) / D)
    assert abs(places.mean() - COUNT * below) < scipy.stats.norm.isf(1e-6) * error


def test_over_all_sign_vectors_the_energy_has_mean_1_and_a_variance_that_one_coordinate_takes_away() -> None:
    for x in ((1, 0, 0, 0, 0), (3, 1, 0, -1, 0), (1, 2, 3, 4, 5)):
        energies = [
            Fraction(sum(map(int.__mul__, s, x)) ** 2, sum(a * a for a in x))
            for s in itertools.product((1, -1), repeat=5)
        ]
        mean = sum(energies) / len(energies)
        share = Fraction(sum(a**4 for a in x), sum(a * a for a in x) ** 2)
        assert mean == 1
        assert sum((e - mean) ** 2 for e in energies) / len(energies) == 2 * (1 - share)


@pytest.mark.parametrize("documents", COVERAGE)
def test_coverage_with_documents_of_unequal_length(documents: int) -> None:
    rng, repetitions = np.random.default_rng(documents), 2000
    tokens = 1 + rng.lognormal(6, 1, (repetitions, documents)).astype(np.int64)
    sums = rng.gamma(4, 1 / 4, tokens.shape) * rng.chisquare(tokens)  # a level of each document, mean 1; χ²₁ a token
    ends = [ratio_interval(*each)[1:] for each in zip(sums, tokens, strict=True)]
    assert round(np.mean([low <= 1 <= high for low, high in ends]), 3) == COVERAGE[documents][0]
    rng = np.random.default_rng(documents)
    tokens = 1 + rng.lognormal(6, 1, (repetitions, documents)).astype(np.int64)
    level = 1 + rng.standard_normal(tokens.shape) / 2  # of each document; around it, variance 1 a token
    noise = np.sqrt(tokens) * rng.standard_normal(tokens.shape)
    squares = (level + noise / tokens) ** 2 * tokens + rng.chisquare(np.maximum(tokens - 1, 1))
    ends = [observe.centred_interval(*each)[1:] for each in zip(squares, tokens * level + noise, tokens, strict=True)]
    assert round(np.mean([low <= 1 + 1 / 4 <= high for low, high in ends]), 3) == COVERAGE[documents][1]


def test_an_interval_of_pairs_is_that_of_students_test_of_pairs() -> None:
    rng = np.random.default_rng(0)
    common, tokens = rng.gamma(4, 100, 9), np.full(9, 100)
    one, other = (common + rng.standard_normal(9) for _ in range(2))
    interval = scipy.stats.ttest_rel(one / 100, other / 100).confidence_interval(0.95)
    reach = observe.paired_reach((one, tokens), (other, tokens))
    assert reach == pytest.approx((interval.high - interval.low) / 2)
    apart = [ratio_interval(each, tokens) for each in (one, other)]
    assert reach is not None
    assert 10 * reach < max(high - mean for mean, _, high in apart)
    assert observe.paired_reach((one[:1], tokens[:1]), (other[:1], tokens[:1])) is None


def test_false_alarms_are_expected_at_the_level_of_the_intervals() -> None:
    assert observe.false_alarms(122) == pytest.approx(6.1)
