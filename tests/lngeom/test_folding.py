import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lngeom.folding import center_writer, certify_centering, certify_fold, certify_rounding, fold_affine

LAYOUTS: Any = ("linear", "conv1d")
DTYPES = [np.float64, np.float32, np.float16]


def sample(dtype: Any = np.float64, outputs: int = 6, inputs: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(outputs)
    shapes = {"weight": (outputs, inputs), "bias": outputs, "gain": inputs, "norm_bias": inputs}
    return {name: rng.normal(0.5, 1.0, shape).astype(dtype) for name, shape in shapes.items()}


def stored(weight: Any, layout: str) -> Any:
    return weight if layout == "linear" else weight.T.copy()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_folds_are_certified_in_every_layout_and_dtype(dtype: Any, layout: Any) -> None:
    p = sample(dtype)
    original = stored(p["weight"], layout), p["bias"]
    affine: dict[str, Any] = {"gain": p["gain"], "norm_bias": p["norm_bias"], "layout": layout}
    assert certify_fold(*original, *fold_affine(*original, **affine), **affine).exact
    assert certify_centering(*original, *center_writer(*original, layout=layout), layout=layout).exact


WRONG: dict[str, Callable[[dict[str, np.ndarray]], tuple[Any, Any]]] = {
    "gain on the outputs": lambda p: (p["weight"][:4] * p["gain"][:, None], p["bias"][:4]),
    "bias not folded": lambda p: (p["weight"][:4] * p["gain"], p["bias"][:4]),
    "bias folded with the gained weight": lambda p: (
        p["weight"][:4] * p["gain"],
        p["bias"][:4] + p["weight"][:4] * p["gain"] @ p["norm_bias"],
    ),
    "gain minus one stored": lambda p: (
        p["weight"][:4] * (1 + p["gain"]),
        p["bias"][:4] + p["weight"][:4] @ p["norm_bias"],
    ),
    "a NaN": lambda p: (p["weight"][:4] * math.nan, p["bias"][:4] + p["weight"][:4] @ p["norm_bias"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_certificate_refuses_wrong_folds(wrong: str) -> None:
    p = sample()
    square = p["weight"][:4], p["bias"][:4]  # square, so that no shape gives the mistake away
    weight, bias = WRONG[wrong](p)
    assert not certify_fold(*square, weight, bias, gain=p["gain"], norm_bias=p["norm_bias"]).exact


def test_the_bound_of_a_folded_bias_has_the_derived_constants() -> None:
    """Half a last place, 4u of a number from 4 to 8, and twice the error of float64, (n + 2)u Σ|w||β| for n inputs."""
    n, u = 6, 2.0**-53
    weight, beta = np.ones((1, n)), np.ones(n)
    folded, bias = fold_affine(weight, norm_bias=beta)
    assert bias is not None
    error = (n + 2) * u * n
    certificate = certify_fold(weight, None, folded, bias + 32 * u, norm_bias=beta)
    # The sum is n exactly and the change a multiple of its last place; what is left are a few roundings of a quotient.
    assert abs(certificate.worst * (4 * u + 2 * error) / (32 * u) - 1) < 16 * u


def test_certificate_refuses_wrong_centring() -> None:
    p = sample()
    weight, bias = p["weight"], p["bias"]
    along_inputs = weight - weight.mean(axis=1, keepdims=True)
    assert not certify_centering(weight, bias, along_inputs, bias - bias.mean()).exact
    assert not certify_centering(weight, bias, center_writer(weight)[0], bias).exact
    nudged = center_writer(weight)[0]
    nudged[2, 1] = np.nextafter(np.nextafter(nudged[2, 1], 9), 9) + 64 * np.spacing(1.0)
    assert not certify_centering(weight, None, nudged, None).exact


def rounds(stored: torch.Tensor, exact: torch.Tensor) -> list[bool]:
    pairs = zip(stored.reshape(-1, 1, 1), exact.reshape(-1, 1, 1), strict=True)
    return [certify_rounding(each, true, torch.zeros_like(true)).exact for each, true in pairs]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_number_is_rounded_to_its_nearest_neighbour_ties_to_even(dtype: torch.dtype) -> None:
    """At powers of two, among subnormal numbers and at both ends of the range, PyTorch's rounding and no other."""
    info = torch.finfo(dtype)
    low, high = (math.frexp(size)[1] - 1 for size in (info.tiny * info.eps, info.max))
    ends, middle = [low, low + 1, high], math.frexp(info.tiny)[1]
    powers = 2.0 ** torch.tensor([*ends, middle - 1, middle, -7, 0], dtype=torch.float64)
    number = torch.cat([powers, -powers[1:], torch.nextafter(powers[1:].to(dtype), torch.zeros(1).to(dtype)).double()])
    for toward in (math.inf, 0.0):
        other = torch.nextafter(number.to(dtype), torch.tensor(toward, dtype=dtype)).double()
        for share in (0.0, 0.25, 0.5, 0.75):  # of the way, exact in float64
            exact = number + share * (other - number)
            right = exact.to(dtype)
            wrong = torch.where(right == number, other, number).to(dtype)
            assert all(rounds(right, exact))
            assert not any(rounds(wrong, exact))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_no_zeros_are_the_fold_of_numbers(dtype: Any) -> None:
    weight = np.full((2, 4), 8 * np.finfo(dtype).smallest_subnormal, dtype)
    assert not certify_fold(weight, None, 0 * weight, None, gain=np.ones(4, dtype)).exact
    weight[0] = 0
    assert not certify_centering(weight, None, 0 * weight, None).exact
    assert not certify_rounding(0 * weight, weight.astype(float), 0 * weight.astype(float)).exact


def test_folds_of_parameters_keep_their_gradient() -> None:
    linear, norm = torch.nn.Linear(4, 6), torch.nn.LayerNorm(4)
    weight, bias = fold_affine(linear.weight, linear.bias, gain=norm.weight, norm_bias=norm.bias)
    assert weight.requires_grad
    assert certify_fold(linear.weight, linear.bias, weight, bias, gain=norm.weight, norm_bias=norm.bias).exact
    assert certify_centering(linear.weight, linear.bias, *center_writer(linear.weight, linear.bias)).exact
