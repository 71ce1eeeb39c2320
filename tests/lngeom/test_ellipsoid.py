import math

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import example, given, strategies as st
from hypothesis.extra import numpy as hnp

import lngeom as lg

U = 2.0**-53
GAINS = {
    "positive": [1.0, 2.0, 3.0, 0.5],
    "mixed signs": [-1.0, 0.3, 2.0, -0.7, 1.1],
    "ties": [2.0, -2.0, 2.0, 1.0],
    "constant": [1.0, 1.0, 1.0],
    "one zero": [1.0, 2.0, 0.0],
    "two zeros": [1.0, 0.0, 2.0, 0.0, -3.0],
    "three zeros": [0.0, 0.0, 1.0, 0.0],
    "all zero": [0.0, 0.0],
    "one": [3.0],
}
LIBRARIES = {"numpy": np.asarray, "torch": torch.asarray, "array_api_strict": array_api_strict.asarray}
FORMULAS = {True: lg.layer_norm, False: lg.rms_norm}


def made(name: str, *, centered: bool = True) -> tuple[lg.Ellipsoid, np.ndarray, np.ndarray]:
    gain = np.array(GAINS[name])
    bias = np.random.default_rng(7).standard_normal(gain.size)
    return lg.Ellipsoid(gain, bias, centered=centered), gain, bias


def dense_map(gain: np.ndarray, *, centered: bool) -> np.ndarray:
    """√d GΠ or √d G as a matrix: the ellipsoid is the image of the unit ball under it."""
    d = gain.size
    return math.sqrt(d) * gain[:, None] * (np.eye(d) - (1 / d if centered else 0.0))


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("name", GAINS)
def test_dimension_is_the_rank_of_the_map(name: str, centered: bool) -> None:
    ellipsoid, gain, bias = made(name, centered=centered)
    zeros = int(np.sum(gain == 0))
    assert ellipsoid.dimension == gain.size - (max(1, zeros) if centered else zeros)
    assert ellipsoid.solid == (zeros >= (2 if centered else 1))
    assert np.linalg.matrix_rank(dense_map(gain, centered=centered)) == ellipsoid.dimension
    assert np.array_equal(ellipsoid.center, bias)


@given(
    hnp.arrays(float, st.integers(1, 8), elements=st.sampled_from([0.0, 2.0**-190, 1e-3, -0.5, 1.0, 2.0, -30.0])),
    st.booleans(),
)
@example(gain=np.array([2.0**-190, 1.0, 1.0]), centered=True)  # the logarithm of the smallest gain cancels
def test_volume_is_that_of_a_ball_times_the_semi_axes(gain: np.ndarray, centered: bool) -> None:
    ellipsoid = lg.Ellipsoid(gain, centered=centered)
    m = ellipsoid.dimension
    ball = math.prod(2 * math.pi / k for k in range(m, 1, -2)) * (2 if m % 2 else 1)  # V_m = V_{m−2}·2π/m
    terms = [math.log(ball), *np.log(ellipsoid.semi_axes)]
    rounding = (gain.size + m) * U * (1 + sum(map(abs, terms)))
    assert abs(ellipsoid.log_volume - sum(terms)) <= 8 * rounding


@given(
    hnp.arrays(float, 6, elements=st.sampled_from([0.0, 1e-3, -0.5, 1.0, 2.0, -30.0])),
    hnp.arrays(float, 6, elements=st.floats(-100, 100)),
    hnp.arrays(float, (4, 6), elements=st.floats(-1e3, 1e3).filter(lambda v: abs(v) > 1e-3)),
    st.sampled_from([1e-12, 1e-5, 1.0]),
    st.booleans(),
    st.sampled_from([np.float64, np.float32, np.float16]),
)
def test_contains_every_output(
    gain: np.ndarray, bias: np.ndarray, x: np.ndarray, eps: float, centered: bool, dtype: type
) -> None:
    gain, bias, x = gain.astype(dtype), bias.astype(dtype), x.astype(dtype)
    ellipsoid = lg.Ellipsoid(gain, bias, centered=centered)
    z = FORMULAS[centered](x, gain, bias, eps=eps)
    default = 14 * float(np.finfo(np.float32 if dtype is np.float16 else dtype).eps)
    # The condition number ‖x‖/‖Πx‖ of centring, with the projection in float64; ε caps it at ‖x‖/√(dε).
    wide = x.astype(float)
    spread = np.linalg.norm(wide - wide.mean(axis=-1, keepdims=True), axis=-1)
    condition = np.linalg.norm(wide, axis=-1) / np.maximum(spread, math.sqrt(6 * eps)) if centered else np.ones(4)
    rounding = float(np.finfo(np.float16).eps) if dtype is np.float16 else 0.0
    for row, kappa in zip(z, condition, strict=True):
        assert ellipsoid.contains(row, rtol=default * max(1.0, float(kappa)) + rounding)


@pytest.mark.parametrize("name", ["positive", "mixed signs", "ties", "one zero", "two zeros"])
def test_contains_rejects_points_outside(name: str) -> None:
    ellipsoid, gain, bias = made(name)
    inside = lg.layer_norm(np.random.default_rng(0).standard_normal((50, gain.size)), gain, bias, eps=0.5)
    surface = bias + (inside - bias) / ellipsoid.relative_radius(inside)[:, None]
    assert np.all(ellipsoid.contains(surface))
    # 1e-12 is 300 times the tolerance of (d + 8)·2⁻⁵² and below any other scale here.
    assert not np.any(ellipsoid.contains(bias + (surface - bias) * (1 + 1e-12)))
    assert np.all(ellipsoid.contains(bias + (surface - bias) * (1 - 1e-12)))
    assert not np.any(ellipsoid.contains(bias + 0.5 * (surface - bias) + 1e-10 * lg.ellipsoid.dead_direction(gain)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("name", GAINS)
def test_contains_no_row_that_is_not_finite(name: str, *, centered: bool) -> None:
    ellipsoid, gain, _ = made(name, centered=centered)
    for one in (ellipsoid, lg.Ellipsoid(gain, centered=centered)):
        rows = np.where(np.eye(gain.size, dtype=bool), [[[np.inf]], [[-np.inf]], [[np.nan]]], one.center)
        assert not one.contains(rows).any()
        assert not one.contains(np.where(np.arange(gain.size) % 2, -np.inf, np.inf))
    tiny = lg.Ellipsoid(gain * 1e-8, centered=centered)
    with np.errstate(over="ignore"):
        assert not tiny.contains(np.where(gain, 1e305, 1.0))


def test_contains_allows_what_its_bound_says_where_a_gain_is_zero() -> None:
    ellipsoid, rtol = lg.Ellipsoid(np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])), 1e-3
    furthest = np.array([1.0, *[3**-0.5 + rtol * (3**-0.5 + 1)] * 3])  # y = 1/√3 there has relative radius 1
    unseen = np.array([rtol, 0.0, 0.0, 0.0])  # may be off by rtol |b|
    assert ellipsoid.contains(furthest, rtol=rtol)
    assert ellipsoid.contains(furthest + unseen / 2, rtol=rtol)
    assert not ellipsoid.contains(furthest + unseen * 2, rtol=rtol)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", GAINS)
def test_relative_radius_is_that_of_the_input(name: str, library: str, centered: bool) -> None:
    _, gain, bias = made(name)
    convert, eps = LIBRARIES[library], 0.5
    x = np.random.default_rng(1).standard_normal((30, gain.size))
    ellipsoid = lg.Ellipsoid(convert(gain), convert(bias), centered=centered)
    z = FORMULAS[centered](convert(x), convert(gain), convert(bias), eps=eps)
    square = np.mean((x - (x.mean(-1, keepdims=True) if centered else 0)) ** 2, axis=-1)
    expected = np.sqrt(square / (square + eps))
    radius = np.asarray(ellipsoid.relative_radius(z))
    # z − b loses b/g units of y at most; |b| < 3 and |g| >= 0.3 here, sums of at most 5 terms.
    tolerance = 64 * U
    if ellipsoid.solid:
        assert np.all(radius <= expected + tolerance)
        if gain.size > 1 and ellipsoid.dimension:
            assert np.min(expected - radius) < 0.1 < np.max(expected - radius)
    elif ellipsoid.dimension:
        np.testing.assert_allclose(radius, expected, atol=tolerance)
        if centered:
            np.testing.assert_allclose(
                radius, np.asarray(lg.epsilon.relative_radius(convert(x), eps=eps)), atol=tolerance
            )
    assert np.all(np.asarray(ellipsoid.offset(z)) <= tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("others", [(1.0, 1.0, 1.0), (1.0, 2.0, 3.0)])
def test_a_gain_that_is_small_beside_its_bias_hides_no_point(others: tuple[float, ...], dtype: type) -> None:
    """1ᵀy = 0 gives the coordinate that z has lost, down to the smallest gain; of 200 points each one is told."""
    y = lg.standardize(np.random.default_rng(0).standard_normal((200, 4)), eps=0.0)
    for exponent in np.linspace(np.finfo(dtype).minexp, 0, 25).astype(int):
        gain, bias = np.array([2.0**exponent, *others], dtype), np.ones(4, dtype)
        ellipsoid = lg.Ellipsoid(gain, bias)
        for radius in (0.95, 1.05):
            z = (radius * y * gain.astype(float) + 1).astype(dtype)
            np.testing.assert_allclose(ellipsoid.relative_radius(z), radius, rtol=64 * np.finfo(dtype).eps)
            assert np.all(ellipsoid.contains(z) == (radius < 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_gains_that_are_small_beside_their_biases_are_refused(dtype: type) -> None:
    small = float(np.finfo(dtype).eps)
    gain, bias = np.array([small, small, 1, 1], dtype), np.ones(4, dtype)
    for centered in (True, False):
        ellipsoid = lg.Ellipsoid(gain, bias, centered=centered)
        for ask in (ellipsoid.relative_radius, ellipsoid.contains):
            with pytest.raises(lg.errors.InputError, match="root mean square of b/g"):
                ask(bias)
