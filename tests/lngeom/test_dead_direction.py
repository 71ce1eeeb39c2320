"""The dead direction: no output varies along it, for every gain, eps and law of inputs."""

import math

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.ellipsoid import dead_direction

U = 2.0**-53


def generator() -> np.random.Generator:
    return np.random.default_rng(20241)


GAINS = {
    "mixed signs": generator().standard_normal(200),
    "ties": generator().integers(1, 5, 40).astype(float),
    "all equal": np.full(12, -0.7),
    "one zero": np.append(generator().standard_normal(30), 0.0),
    "several zeros": generator().integers(-2, 3, 50).astype(float),
    "all zero": np.zeros(3),
    "huge range": np.logspace(-120, 0, 60),
    "both ends of the range": np.array([2.0**-511, 1.0, -(2.0**511)]),
}


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("eps", [0.0, 1e-5])
def test_dead_direction_sees_no_output(name: str, eps: float) -> None:
    gain = GAINS[name]
    normal = dead_direction(gain)
    d = gain.size
    x = generator().standard_normal((20, d))
    z = lg.layer_norm(x, gain, eps=eps)
    # n·(g∘y) = s·1ᵀy with s = 1/‖α‖ (0 with zero gains). y is off by at most κ(d + 8) units of its norm √d, and
    # the products and the sum by d units more of Σ|n g y| = s Σ|y| <= s d.
    condition = np.linalg.norm(x, axis=-1) / np.linalg.norm(lg.project(x), axis=-1)
    scale = np.sum(np.abs(normal * gain)) / d
    assert np.all(np.abs(z @ normal) <= scale * d * (2 * d + 16) * U * condition)
    assert math.isclose(np.linalg.norm(normal), 1.0, rel_tol=(d + 4) * U)


def test_dead_direction_of_zero_gains_is_the_limit() -> None:
    limit = dead_direction(np.array([3.0, 0.0, -1.0, 0.0]))
    # A root and a quotient, 2u, against a power, right to 2u.
    np.testing.assert_allclose(limit, [0.0, 0.5**0.5, 0.0, 0.5**0.5], rtol=4 * U)
    # α/‖α‖ differs from its limit by the ratio of gains, 1e-9, to first order.
    near = dead_direction(np.array([3.0, 1e-9, -1.0, 1e-9]))
    assert np.max(np.abs(near - limit)) <= 2e-9
    assert dead_direction(np.zeros(4)).tolist() == [0.5] * 4


def test_dead_direction_is_differentiable() -> None:
    gain = torch.tensor([0.7, -1.3, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(dead_direction, (gain,))


def test_dead_direction_survives_extreme_gains() -> None:
    assert dead_direction(np.array([1e-300, 1e300])).tolist() == [1.0, 0.0]
    with pytest.raises(lg.errors.InputError, match="NaN"):
        dead_direction(np.array([np.nan]))
