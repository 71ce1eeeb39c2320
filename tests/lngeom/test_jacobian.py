from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.derivatives import jacobian_product, jacobian_singular_values

from .functions import FUNCTIONS, data


@pytest.mark.parametrize("eps", [0.0, 1e-2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_finite_differences(name: str, eps: float) -> None:
    # Central differences of step h err by h²|f‴|/6 + 2⁻⁵²|f|/h, which for h³ = 2⁻⁵² is h²(|f‴|/6 + |f|). With σ above
    # ½ a third derivative gains at most four factors 1/σ: 16 times the 6 of 1/x, times the d = 4 terms of a sum.
    step = 2.0 ** (-52 / 3)
    slack = step**2 * 16 * 6 * 4
    function, arrays = FUNCTIONS[name], data(4, 2)
    if eps == 0 and (name == "invert" or name.endswith("outside")):
        return  # no value, or that inside

    def called(*values: torch.Tensor) -> Any:
        given = dict(zip(arrays, values, strict=True))
        return function.call({**given, "y": lg.project(given["y"])}, eps)  # a step leaves the hyperplane of y

    tensors = tuple(torch.tensor(value, requires_grad=True) for value in arrays.values())
    assert torch.autograd.gradcheck(called, tensors, eps=step, atol=slack, rtol=slack, fast_mode=True)


@pytest.mark.parametrize("placement", ["inside", "outside"])
def test_no_derivative_where_there_is_no_value(placement: Any) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        for result in (
            lg.jacobian(np.full(3, 2.0), eps=0.0, placement=placement),
            jacobian_product(np.full(3, 2.0), np.array([1.0, 2.0, 4.0]), eps=0.0, placement=placement),
            jacobian_singular_values(np.full(3, 2.0), eps=0.0, placement=placement),
        ):
            assert np.isnan(result).all()


def test_batches_broadcast() -> None:
    x = np.random.default_rng(9).normal(size=(3, 2, 5))
    t = np.random.default_rng(10).normal(size=5)
    gain = np.arange(1.0, 6.0)
    assert lg.jacobian(x, gain, eps=0.1).shape == (3, 2, 5, 5)
    for index in np.ndindex(3, 2):
        np.testing.assert_array_equal(lg.jacobian(x, gain, eps=0.1)[index], lg.jacobian(x[index], gain, eps=0.1))
        np.testing.assert_array_equal(
            jacobian_product(x, t, gain, eps=0.1)[index], jacobian_product(x[index], t, gain, eps=0.1)
        )


def test_no_singular_value_is_a_negative_zero() -> None:
    assert not np.signbit(lg.derivatives.jacobian_singular_values(np.array([1.0, 2.0]), eps=0.0)).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_along_the_radial_direction_the_error_is_small_beside_the_norm_of_the_jacobian(dtype: str) -> None:
    t = np.array([3.0, -3.0, 0.1], dtype)
    x = (1e5 * t).astype(dtype)
    product = lg.derivatives.jacobian_product(x, t, eps=1e-5)
    largest = lg.derivatives.jacobian_singular_values(x, eps=1e-5)[0]
    # t is the direction of x to half a unit, which J, of that norm, sends to 1e-16 of it; ten operations come on top.
    assert np.linalg.norm(product) <= 12 * np.finfo(dtype).eps * largest * np.linalg.norm(t)


@pytest.mark.parametrize("placement", ["inside", "outside"])
@pytest.mark.parametrize(("x", "centered"), [([1000.0, -1000.0], True), ([1000.0], False), ([0.0], False)])
def test_where_the_radial_direction_is_the_only_one_its_digits_are_there(
    x: list[float], centered: bool, placement: Any
) -> None:
    eps, size = 1e-12, abs(x[0])  # of both σ is |x₀|
    radial = eps / (size**2 + eps) ** 1.5 if placement == "inside" else eps / (size + eps) ** 2
    matrix = lg.jacobian(np.array(x), eps=eps, placement=placement, centered=centered)
    np.testing.assert_allclose(matrix, radial * (np.eye(len(x)) - centered * 0.5), rtol=2.0**-48)
    np.testing.assert_allclose(np.linalg.norm(matrix, 2), radial, rtol=2.0**-48)
