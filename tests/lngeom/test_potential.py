"""The potential and its gradient, and the Lipschitz constant: attained, and never exceeded."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import lngeom as lg
from lngeom.derivatives import lipschitz_constant

U = 2.0**-53
PLACEMENTS: Any = ("inside", "outside")
CASES = [(placement, centered) for placement in PLACEMENTS for centered in (True, False)]


@pytest.mark.parametrize("centered", [True, False])
def test_standardize_is_the_gradient_of_the_potential(centered: bool) -> None:
    x = torch.tensor(np.random.default_rng(20).normal(0.7, 1.5, 20))
    gradient = torch.func.grad(lambda v: lg.derivatives.potential(v, eps=1e-2, centered=centered))(x)
    exact = lg.standardize(x, eps=1e-2) if centered else lg.rms_norm(x, eps=1e-2)
    # Two chains of at most four sums over d components and 20 other operations, amplified by κ.
    slack = 2 * (4 * 20 + 20) * U * float(lg.projection.condition_number(x)) * float(torch.max(torch.abs(exact)))
    assert torch.all(torch.abs(gradient - exact) <= slack)


@pytest.mark.parametrize(("placement", "centered"), CASES)
@pytest.mark.parametrize("gain", [[1.0, 2.0], [3.0, -1.0, 0.5], [0.0, 0.0, 2.0, 1.0], [5.0], [0.0, 0.0]])
def test_lipschitz_constant_is_the_norm_at_a_constant_vector(gain: list[float], placement: Any, centered: bool) -> None:
    g = np.array(gain)
    got = lipschitz_constant(g, eps=1e-4, placement=placement, centered=centered)
    how: dict[str, Any] = {"eps": 1e-4, "placement": placement, "centered": centered}
    attained = np.linalg.norm(lg.jacobian(np.zeros(g.size), g, **how), 2)
    # The backward error of LAPACK's SVD is a low multiple of d·2⁻⁵²‖J‖, on top of a dozen roundings of each entry.
    assert got == pytest.approx(attained, rel=8 * g.size * 2 * U, abs=0)
    assert isinstance(got, float)


@given(st.integers(2, 12), st.sampled_from([1e-5, 1e-2, 1.0]), st.integers(0, 10**6))
def test_no_pair_of_vectors_moves_apart_faster(d: int, eps: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gain, x = rng.normal(size=d), rng.normal(1.0, 10.0 ** rng.uniform(-4, 1), d)
    other = x + rng.normal(size=d) * 10.0 ** rng.uniform(-4, 1)
    moved = np.linalg.norm(lg.layer_norm(x, gain, eps=eps) - lg.layer_norm(other, gain, eps=eps))
    bound = lipschitz_constant(gain, eps=eps) * np.linalg.norm(x - other)
    rounding = sum(np.linalg.norm(lg.rounding.error_bound(v, gain, eps=eps)) for v in (x, other))
    assert moved <= bound * (1 + 40 * d * U) + rounding


def test_eps_zero_and_layers_that_are_constant() -> None:
    assert lipschitz_constant(np.ones(3), eps=0.0) == math.inf
    assert lipschitz_constant(np.zeros(3), eps=0.0) == 0.0
    assert lipschitz_constant(np.ones(1), eps=1e-5) == 0.0
    assert lipschitz_constant(torch.ones(3, requires_grad=True), eps=1e-5) == pytest.approx(1e5**0.5, rel=16 * U, abs=0)
