import math
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.epsilon import relative_radius
from lngeom.norms import layer_rms_distance
from lngeom.rounding import error_bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_angle_from_three_numbers_is_right_to_the_root_of_the_roundoff(dtype: Any) -> None:
    unit = float(np.finfo(dtype).eps)
    for angle in (0.0, unit, unit**0.5, unit**0.25, 1.0, math.pi - unit**0.5, math.pi):
        # c is off by u; cos(θ + e) − cos θ ≥ e²/4 near 0 and π, so that e ≤ 2√u.
        numbers = [np.asarray(value, dtype) for value in (6 * math.cos(angle), 2.0, 3.0)]
        assert abs(float(lg.angles.angle_from_inner_product(*numbers)) - angle) <= 2 * (2 * unit) ** 0.5


@pytest.mark.parametrize("library", [np.asarray, torch.asarray])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_of_no_two_vectors_have_no_angle(library: Any, dtype: str) -> None:
    between = lg.angles.angle_from_inner_product
    one, root = library(np.ones(1, dtype)), float(np.finfo(dtype).eps) ** 0.5
    for inner in (5.0, -5.0, math.inf, math.nan, 1 + 4 * root):
        assert np.isnan(float(between(library(np.full(1, inner, dtype)), one, one)[0]))
    negative = (library(np.array(norms, dtype)) for norms in ([-1, 1, -1], [1, -1, -1]))
    assert np.isnan(np.asarray(between(one, *negative))).all()
    for sign, angle in ((1, 0.0), (-1, math.pi)):
        found = between(library(np.full(1, sign * (1 + root / 4), dtype)), one, one)
        assert float(found[0]) == np.promote_types(dtype, "float32").type(angle)
    assert np.isnan(np.asarray(lg.angles.angle_to_uniform(0 * library(np.ones((2, 3), dtype))))).all()


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero):RuntimeWarning")
@pytest.mark.parametrize("library", [np.asarray, torch.asarray])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("d", "c"), [(3, 3.7), (768, 100.1), (384, 3.7), (1023, 14.1), (2, 6e4)])
def test_a_constant_vector_whose_mean_rounds_is_constant(library: Any, dtype: str, d: int, c: float) -> None:
    # The mean of 14.1, 14.1, ... may be a neighbour of 14.1, and 1/√eps amplifies the difference.
    x = library(np.full(d, c, dtype))
    for eps in (1e-5, 1e-12, 1e-40):
        assert bool((lg.layer_norm(x, eps=eps) == 0).all())
        assert float(relative_radius(x, eps=eps)) == 0
        # LN(x) = 0, so that the distance is a component of RMS(x), with the mean, one sum more, in place of c.
        slack = 2 * float(error_bound(np.asarray(x), eps=eps, centered=False).max())
        stored = float(x[0])
        assert slack < 1 / 8
        assert float(layer_rms_distance(x, eps=eps)) == pytest.approx(stored / math.hypot(stored, eps**0.5), abs=slack)
    assert np.isnan(np.asarray(lg.layer_norm(x, eps=0.0), float)).all()
    assert np.isnan(np.asarray(lg.rms_norm(0 * x, eps=0.0), float)).all()
    assert np.isnan([float(relative_radius(x, eps=0.0)), float(layer_rms_distance(x, eps=0.0))]).all()
    assert bool((lg.project(x) == 0).all())
    assert bool((lg.projection.mean_vector(x) == x).all())
    assert float(lg.angles.angle_to_uniform(x)) == 0


def test_what_is_left_of_a_nearly_constant_row_is_exact() -> None:
    x = np.full(768, np.float32(100.1))
    x[::2] = np.nextafter(x[0], np.float32(200))
    ordinary = np.random.default_rng(0).normal(size=768).astype(np.float32)
    signs = np.where(np.arange(768) % 2, np.float32(-1), np.float32(1))
    assert np.array_equal(lg.layer_norm(np.stack([x, ordinary]), eps=0.0)[0], signs)
    tensor = torch.tensor(x, requires_grad=True)
    (gradient,) = torch.autograd.grad(lg.layer_norm(tensor, eps=1e-12)[0], tensor)
    cotangent = np.eye(1, 768, dtype=np.float32)[0]
    # Two ways, each a chain of at most six sums and 40 other operations; the differences from the mean are exact.
    slack = 2 * (6 * 768 + 40) * 2.0**-24 / math.sqrt(np.ptp(x).astype(float) ** 2 / 4 + 1e-12)
    assert np.allclose(gradient, lg.derivatives.jacobian_transpose_product(x, cotangent, eps=1e-12), rtol=0, atol=slack)
    assert not np.allclose(gradient, lg.project(cotangent) * float(gradient[0]), rtol=0, atol=slack)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_row_that_is_not_finite_spoils_no_other_row(bad: float) -> None:
    x = np.random.default_rng(4).normal(size=(3, 5))
    clean = lg.layer_norm(x, eps=1e-5)
    x[1, 2] = bad
    with np.errstate(invalid="ignore"):
        z = lg.layer_norm(x, eps=1e-5)
        assert np.isnan(z[1]).any()
    np.testing.assert_array_equal(z[[0, 2]], clean[[0, 2]])
