"""Fibers: what a norm forgets, decided up to rounding; and the inverse on the ball."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lngeom as lg
from lngeom.fibers import same_fiber
from lngeom.projection import condition_number
from lngeom.rounding import error_bound

SEEDS = st.integers(0, 10**6)
DTYPES = st.sampled_from([np.float64, np.float32, np.float16])


def sample(seed: int, dtype: Any = np.float64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(rng.normal(), 1.0, int(rng.integers(2, 50))).astype(dtype)


@given(SEEDS, DTYPES, st.floats(-30, 30))
def test_shifts_stay_in_the_fiber(seed: int, dtype: Any, shift: float) -> None:
    x = sample(seed, dtype)
    moved = x + dtype(shift)  # one rounding for the shift, one for each sum
    for eps in (0.0, 1e-5):
        assert same_fiber(x, moved, eps=eps, roundings=2)


@given(SEEDS, DTYPES, st.floats(0.125, 30))
def test_positive_factors_stay_in_the_fiber_at_eps_zero_only(seed: int, dtype: Any, factor: float) -> None:
    x = sample(seed, dtype)
    scaled = x * dtype(factor)
    assert same_fiber(x, scaled, eps=0.0, roundings=2)
    condition = float(condition_number(x.astype(float)))
    if 32 * float(np.finfo(dtype).eps) * condition < 1:  # a direction known to less than its opposite
        assert not same_fiber(x, -scaled, eps=0.0)
    # Told apart as long as the factor is further from 1 than rounding can bring it, amplified by κ.
    resolution = 40 * float(np.finfo(dtype).eps) * condition * (1 + factor)
    if abs(factor - 1) > resolution:
        assert not same_fiber(x, scaled, eps=1e-5)


@given(SEEDS)
def test_rms_norm_sees_shifts_and_forgets_lengths_at_eps_zero(seed: int) -> None:
    x = sample(seed)
    assert same_fiber(x, 4 * x, eps=0.0, centered=False)
    assert not same_fiber(x, x + 1, eps=0.0, centered=False) or np.ptp(x) == 0
    assert same_fiber(x, x, eps=1e-5, centered=False)
    assert not same_fiber(x, 4 * x, eps=1e-5, centered=False)


def test_vectors_without_direction_have_no_fiber_at_eps_zero() -> None:
    constant = np.full(3, 2.0)
    assert not same_fiber(constant, constant, eps=0.0)
    assert same_fiber(constant, np.full(3, 5.0), eps=1e-5)


def test_batches_broadcast() -> None:
    x = np.random.default_rng(1).normal(size=(4, 3, 6))
    same = same_fiber(x, x[0] + 1, eps=1e-5)
    assert same.shape == (4, 3)
    assert same[0].all()
    assert not same[1:].any()


@pytest.mark.parametrize(
    ("eps", "centered", "dimension", "text"),
    [
        (0.0, True, 2, "{s·Πx + t·1 : t real, s > 0} in R^3"),
        (1e-5, True, 1, "{Πx + t·1 : t real} in R^3"),
        (0.0, False, 1, "{s·x : s > 0} in R^3"),
        (1e-5, False, 0, "{x} in R^3"),
    ],
)
def test_description(eps: float, centered: bool, dimension: int, text: str) -> None:
    x = np.array([1.0, 2.0, 6.0])
    fiber = lg.fibers.fiber(x, eps=eps, centered=centered)
    assert (fiber.dimension, str(fiber)) == (dimension, text)
    # The rank of the map and the dimension of its fibers add up to d.
    rank = np.linalg.matrix_rank(lg.jacobian(x, eps=eps, centered=centered))
    assert rank + dimension == 3
    shift, factor = (7.0 if centered else 0.0), (2.0 if eps == 0 else 1.0)
    point = fiber.point(shift=shift, factor=factor)
    assert fiber.contains(point)
    assert fiber.contains(np.stack([x, point, -x])).tolist() == [True, True, False]
    norm = lg.layer_norm if centered else lg.rms_norm
    # Either output is off by its own bound, and the point by 3 roundings, which the norm amplifies by √d/‖Πx‖ at most.
    moved = 3 * 3**0.5 * (float(condition_number(point)) if centered else 1.0)
    bounds = [error_bound(v, eps=eps, centered=centered) for v in (x, point)]
    assert np.all(np.abs(norm(point, eps=eps) - norm(x, eps=eps)) <= sum(bounds) + moved * 2.0**-53)
