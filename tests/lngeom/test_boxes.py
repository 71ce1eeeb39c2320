"""The bounds of LayerNorm over a box: never exceeded, attained, and refused where there are none."""

import numpy as np
import pytest
from scipy.optimize import minimize

import lngeom as lg

# Some 40 roundings of numbers up to √d, amplified by the condition number of the boxes drawn, at most 10.
ROUNDING = 400 * 2.0**-53


def value(x: np.ndarray, j: int, sign: int, eps: float) -> tuple[float, np.ndarray]:
    """What is minimized, and its gradient."""
    return -sign * float(lg.standardize(x, eps=eps)[j]), -sign * lg.jacobian(x, eps=eps)[j]


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_attained_and_never_exceeded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, eps = int(rng.integers(1, 7)), float(10.0 ** rng.integers(-6, 1))
    middle, half = rng.normal(size=d) * rng.choice([0, 1, 3]), rng.uniform(0, 1, d) * rng.choice([0.1, 1, 5])
    low, high = middle - half, middle + half
    least, most = lg.enclosure(low, high, eps=eps)
    inside = rng.uniform(low, high, size=(2000, d))
    corners = np.where(rng.random((500, d)) < 0.5, low, high)
    y = lg.standardize(np.concatenate([inside, corners]), eps=eps)
    assert np.all(y <= most + ROUNDING * np.sqrt(d))
    assert np.all(y >= least - ROUNDING * np.sqrt(d))
    for j in range(d):
        for sign, end in ((1, most[j]), (-1, -least[j])):
            starts = [*inside[:3], low, high]
            bounds = list(zip(low, high, strict=True))
            done = [minimize(value, x, args=(j, sign, eps), jac=True, bounds=bounds) for x in starts]
            best = max(-float(result.fun) for result in done)
            assert best <= end + ROUNDING * np.sqrt(d)
            if end > 0:  # the search stops where the gradient is 1e-5
                assert best >= end - 1e-4


def test_a_point_is_enclosed_by_its_output() -> None:
    x = np.array([3.0, -1.0, 0.5, 7.0])
    y = lg.standardize(x, eps=1e-5)
    least, most = lg.enclosure(x, x, eps=1e-5)
    # On the side of the other sign interval arithmetic is exact at a point too.
    np.testing.assert_allclose(least, y, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(most, y, rtol=0, atol=ROUNDING)


def test_it_is_tighter_than_interval_arithmetic() -> None:
    x = np.random.default_rng(0).normal(size=256)
    least, most = lg.enclosure(x - 0.1, x + 0.1, eps=1e-5)
    deviation = x - x.mean()
    ends = deviation - 0.2, deviation + 0.2
    smallest, largest = (
        np.sqrt(np.mean(np.maximum(np.abs(deviation) + 0.2 * sign, 0) ** 2) + 1e-5) for sign in (-1, 1)
    )
    lower, upper = (end / np.where((end > 0) == up, smallest, largest) for up, end in enumerate(ends))
    assert np.all((lower <= least) & (most <= upper))
    assert np.mean(most - least) < np.mean(upper - lower)
