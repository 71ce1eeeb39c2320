"""The closed-form Jacobian against automatic differentiation, finite differences, dense algebra, and wrong variants."""

from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.derivatives import jacobian_product, jacobian_singular_values

from .functions import FUNCTIONS, data

U = 2.0**-53
PLACEMENTS: Any = ("inside", "outside")
CASES = [(placement, centered) for placement in PLACEMENTS for centered in (True, False)]
DIMENSIONS = [1, 2, 3, 8, 33]


def tolerance(x: Any, *, centered: bool, scale: float = 1.0) -> float:
    """Bound of the error of one entry of a Jacobian of norm `scale`, or of one unit product with it.

    Any way of computing it (ours, or PyTorch's backward pass through the formula) is a chain of at most six sums over
    d components and 40 other operations, so that relative to the norm of J no entry is off by more than
    (6d + 40)·2⁻⁵³·κ, κ = ‖x‖/‖Πx‖ the amplification by the one subtraction that cancels; doubled for two ways.
    """
    rows = np.asarray(x).reshape(-1, np.shape(x)[-1])
    condition = float(np.max(lg.projection.condition_number(rows))) if centered else 1.0
    return 2 * (6 * rows.shape[-1] + 40) * U * condition * scale


def sample(d: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(d)
    x, gain, bias = rng.normal(0.7, 1.5, d), rng.normal(1.0, 0.7, d), rng.normal(size=d)
    return torch.tensor(x), torch.tensor(gain), torch.tensor(bias)


def norm_of(x: torch.Tensor, gain: torch.Tensor, *, eps: float, placement: Any, centered: bool) -> float:
    """Upper bound of ‖J‖₂."""
    centre = lg.project(x) if centered else x
    return float(torch.abs(gain).max() / lg.norms.scale(torch.mean(centre**2), eps=eps, placement=placement))


@pytest.mark.parametrize("eps", [0.0, 1e-2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_finite_differences(name: str, eps: float) -> None:
    # gradcheck compares with central differences of step h = 1e-6: their error is h²·|f'''|/6 plus 2⁻⁵²|f|/h.
    # With x of order one and σ above 0.5 both are below 1e-8 times a constant of the functions here below 100.
    function, arrays = FUNCTIONS[name], data(4, 2)
    if eps == 0 and (function.degree is None or name.endswith("outside")):
        return  # no value, or that inside

    def called(*values: torch.Tensor) -> Any:
        given = dict(zip(arrays, values, strict=True))
        return function.call({**given, "y": lg.project(given["y"])}, eps)  # a step leaves the hyperplane of y

    tensors = tuple(torch.tensor(value, requires_grad=True) for value in arrays.values())
    assert torch.autograd.gradcheck(called, tensors, eps=1e-6, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_derivative_where_there_is_no_value(placement: Any) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        for result in (
            lg.jacobian(np.full(3, 2.0), eps=0.0, placement=placement),
            jacobian_product(np.full(3, 2.0), np.array([1.0, 2.0, 4.0]), eps=0.0, placement=placement),
            jacobian_singular_values(np.full(3, 2.0), eps=0.0, placement=placement),
        ):
            assert np.isnan(result).all()


@pytest.mark.parametrize(("placement", "centered"), CASES)
@pytest.mark.parametrize("eps", [0.0, 1e-3, 2.0])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_singular_values_are_those_of_the_dense_matrix(d: int, eps: float, placement: Any, centered: bool) -> None:
    if d == 1 and centered and eps == 0:
        return  # no value and no derivative, as tested above
    x = sample(d)[0].numpy()
    how: dict[str, Any] = {"eps": eps, "placement": placement, "centered": centered}
    values = jacobian_singular_values(x, **how)
    assert values.shape == (d,)
    assert np.all(np.diff(values) <= 0)
    dense = np.linalg.svdvals(lg.jacobian(x, **how))
    # Singular values move by at most the norm of the error of the matrix (Weyl), itself at most d times an entry's;
    # the decomposition adds a few d units.
    norm = norm_of(torch.tensor(x), torch.ones(1), **how)
    slack = (d + 1) * tolerance(x, centered=centered and d > 1, scale=norm)
    assert np.all(np.abs(values - dense) <= slack)


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


@pytest.mark.parametrize("library", [np.asarray, torch.asarray])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("placement", ["inside", "outside"])
def test_the_secant_is_exact_between_any_two_vectors(placement: Any, centered: bool, library: Any) -> None:
    rng, eps, d = np.random.default_rng(0), 1e-2, 7
    x, z = rng.normal(size=(2, 500, d)) * 10.0 ** rng.integers(-3, 3, size=(2, 500, 1)) + rng.normal(size=(2, 500, 1))
    gain, norm = rng.normal(size=d), lg.layer_norm if centered else lg.rms_norm
    how: dict[str, Any] = {"eps": eps, "placement": placement}
    z[0], x[1], z[1] = x[0], 3.0, 5.0
    moved = np.asarray(norm(library(x), library(gain), **how) - norm(library(z), library(gain), **how))
    matrix = np.asarray(lg.secant(library(x), library(z), library(gain), centered=centered, **how))
    # Some 20 roundings of outputs of size √d, and of M (x − z), whose sums have d terms.
    unit, reach = 2.0**-53, np.abs(matrix) @ (np.abs(x) + np.abs(z))[..., None]
    limit = 40 * d * unit * (np.abs(gain) * d**0.5 + reach[..., 0])
    assert np.all(np.abs((matrix @ (x - z)[..., None])[..., 0] - moved) <= limit)
    jacobian = lg.jacobian(x[0], gain, centered=centered, **how)
    np.testing.assert_allclose(matrix[0], jacobian, rtol=0, atol=64 * unit * np.abs(jacobian).max())
    plain = np.asarray(lg.secant(library(x), library(z), centered=centered, **how))
    np.testing.assert_allclose(plain, np.swapaxes(plain, -1, -2), rtol=0, atol=64 * unit * np.abs(plain).max())
    assert np.linalg.eigvalsh(plain).min() >= -64 * d * unit * np.abs(plain).max()


@pytest.mark.parametrize("centered", [True, False])
def test_standardize_is_the_gradient_of_the_potential(centered: bool) -> None:
    x = torch.tensor(np.random.default_rng(20).normal(0.7, 1.5, 20))
    gradient = torch.func.grad(lambda v: lg.derivatives.potential(v, eps=1e-2, centered=centered))(x)
    exact = lg.standardize(x, eps=1e-2) if centered else lg.rms_norm(x, eps=1e-2)
    # Two chains of at most four sums over d components and 20 other operations, amplified by κ.
    slack = 2 * (4 * 20 + 20) * U * float(lg.projection.condition_number(x)) * float(torch.max(torch.abs(exact)))
    assert torch.all(torch.abs(gradient - exact) <= slack)
