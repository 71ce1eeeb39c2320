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


def test_no_singular_value_is_a_negative_zero() -> None:
    assert not np.signbit(lg.derivatives.jacobian_singular_values(np.array([1.0, 2.0]), eps=0.0)).any()


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
