import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import array_namespace, device

import lngeom as lg
from lngeom.ellipsoid import dead_direction

U = 2.0**-53


def generator() -> np.random.Generator:
    return np.random.default_rng(20241)


def clusters() -> np.ndarray:
    centers = np.repeat(10.0 ** np.arange(-6, 4), 8)
    return centers * (1 + 1e-9 * generator().standard_normal(centers.size))


GAINS = {
    "positive": 1 + 0.3 * generator().random(60),
    "mixed signs": generator().standard_normal(200),
    "float32": generator().standard_normal(90).astype(np.float32).astype(float),
    "ties": generator().integers(1, 5, 40).astype(float) * generator().choice([-1.0, 1.0], 40),
    "all equal": np.full(12, -0.7),
    "two": np.array([1.0, 2.0]),
    "one zero": np.append(generator().standard_normal(30), 0.0),
    "several zeros and ties": generator().integers(-2, 3, 50).astype(float),
    "one nonzero": np.array([0.0, 0.0, 3.0, 0.0]),
    "clusters": clusters(),
    "adjacent floats": 1 + np.arange(50) * 2.0**-52,
    "huge range": np.logspace(-60, 0, 60),
    "large": 2.0**511 * np.array([2.0**-200, 2.0**-90, 1.0, 1 - U, 0.0, -(2.0**-199)]),
    "small": 2.0**-511 * np.array([2.0**200, 2.0**99, 1.0, 1 + 2 * U, 0.0, -(2.0**198)]),
}


def resolution(d: int) -> float:
    """How far the difference of a root and a pole may be off, relatively.

    dlasd4 stops where the value of the secular function is below ten roundings of the sum of all |terms| and one of
    each partial sum, and the sum of |terms| over slope times difference is at most 2√d (Cauchy-Schwarz).
    """
    return 2 * (10 + d) * d**0.5 * U


def sign(poles: np.ndarray, weights: np.ndarray, root: float) -> int:
    """Sign of the secular function at `root`² in integer arithmetic; 0 if 256 bits do not decide it."""
    ratios = [float(number).as_integer_ratio() for number in (root, *poles)]
    common = max(denominator for _, denominator in ratios)
    square, *squares = [(numerator * (common // denominator)) ** 2 for numerator, denominator in ratios]
    terms = [pole - square for pole in squares]
    precision = 256 + max(abs(term) for term in terms).bit_length()
    total = sum((int(weight) << precision) // term for weight, term in zip(weights, terms, strict=True))
    # Each floor lost less than 1, so the value times 2^precision lies in [total, total + number of terms).
    return 1 if total > 0 else -1 if total + len(terms) <= 0 else 0


@pytest.mark.parametrize("name", GAINS)
def test_a_root_is_right_to_its_condition(name: str) -> None:
    axes: Any = lg.principal_axes(GAINS[name])
    poles, counts = np.unique(np.abs(GAINS[name]), return_counts=True)
    roots = (axes.semi_axes / math.sqrt(axes.d))[axes._member == 0][::-1]
    width = 4 * axes.d**0.5 * U
    for low, high, root in zip(poles[:-1], poles[1:], roots, strict=True):
        below, above = (float(root * (1 + off)) for off in (-width, width))
        assert below <= low or sign(poles, counts, below) < 0
        assert above >= high or sign(poles, counts, above) > 0


@pytest.mark.parametrize("name", GAINS)
def test_number_and_order_of_axes(name: str) -> None:
    gain = GAINS[name]
    axes = lg.principal_axes(gain)
    assert len(axes) == gain.size - max(1, int(np.sum(gain == 0))) == axes.semi_axes.size
    assert np.all(np.diff(axes.semi_axes) <= 0)
    # Interlacing in floating point too: between √d times neighbouring sorted magnitudes.
    bounds = math.sqrt(gain.size) * np.sort(np.abs(gain))[::-1]
    assert np.all(axes.semi_axes <= bounds[: len(axes)])
    assert np.all(axes.semi_axes >= bounds[1 : len(axes) + 1])
    assert np.all(axes.semi_axes > 0)


@pytest.mark.parametrize("name", GAINS)
def test_directions_are_orthonormal_eigenvectors(name: str) -> None:
    gain = GAINS[name] / np.max(np.abs(GAINS[name]))
    axes, d = lg.principal_axes(gain), gain.size
    directions, roots = axes.directions, (axes.semi_axes**2) / d
    assert directions.shape == (d, len(axes))
    # A component g/(g² − λ) carries the relative error of the offset λ − a² at most twofold (the nearer pole is at
    # most half a gap away) and a few roundings; ‖GΠG‖ <= 1. Sums of d terms add d·2⁻⁵³.
    component = 2 * resolution(d) + 16 * U
    product = (gain**2)[:, None] * directions - gain[:, None] * (gain @ directions) / d
    assert np.all(np.linalg.norm(product - directions * roots, axis=0) <= 2 * (component + (d + 4) * U))
    gram = directions.T @ directions
    assert np.max(np.abs(gram - np.eye(len(axes)))) <= 2 * (component + (d + 4) * U)


@pytest.mark.parametrize("name", GAINS)
def test_lengths_are_invariant_bit_for_bit(name: str) -> None:
    gain = GAINS[name]
    lengths = lg.principal_axes(gain).semi_axes
    rng = generator()
    shuffled = rng.permutation(gain) * rng.choice([-1.0, 1.0], gain.size)
    assert np.array_equal(lg.principal_axes(shuffled).semi_axes, lengths)
    scale = 2.0**31 if name == "small" else 2.0**-31
    assert np.array_equal(lg.principal_axes(gain * scale).semi_axes, lengths * scale)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("name", GAINS)
def test_a_direction_is_a_column_of_the_matrix(name: str, centered: bool) -> None:
    axes = lg.principal_axes(GAINS[name], centered=centered)
    directions = axes.directions
    for i in (0, len(axes) // 2, len(axes) - 1, -1):
        assert np.array_equal(axes.direction(i), directions[:, i])


def test_coordinate_axes_of_rms_norm() -> None:
    axes = lg.principal_axes(np.array([-2.0, 0.0, 1.0, 3.0]), centered=False)
    assert axes.semi_axes.tolist() == [6.0, 4.0, 2.0]
    assert axes.directions.T.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]


def test_no_axes_without_extent() -> None:
    for gain in ([5.0], [0.0], [0.0, 0.0, 0.0]):
        axes = lg.principal_axes(np.array(gain))
        assert len(axes) == 0
        assert axes.directions.shape == (len(gain), 0)
        assert repr(axes) == f"<0 principal axes in dimension {len(gain)}>"


CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device")]


@pytest.mark.parametrize(
    "make",
    [
        *(lambda v, d=d: torch.nn.Parameter(torch.tensor(v, dtype=d)) for d in (torch.float64, torch.bfloat16)),
        pytest.param(lambda v: torch.tensor(v, device="cuda", dtype=torch.float32), marks=CUDA),
        lambda v: array_api_strict.asarray(v, dtype=array_api_strict.float32),
    ],
    ids=["torch-float64", "torch-bfloat16", "cuda-float32", "strict-float32"],
)
def test_gains_of_other_libraries(make: Callable[[list[float]], Any]) -> None:
    values = [3.0, -1.0, 2.0, 2.0, 0.0]
    gain, plain = make(values), np.array(values)
    axes, reference = lg.principal_axes(gain), lg.principal_axes(plain)
    for value, expected in ((axes.semi_axes, reference.semi_axes), (axes.directions, reference.directions)):
        assert array_namespace(value) is array_namespace(gain)
        assert (device(value), str(value.dtype)[-7:]) == (device(gain), "float64")
        assert not getattr(value, "requires_grad", False)
        assert np.array_equal(np.from_dlpack(value.cpu() if isinstance(value, torch.Tensor) else value), expected)


def test_dead_direction_of_zero_gains_is_the_limit() -> None:
    limit = dead_direction(np.array([3.0, 0.0, -1.0, 0.0]))
    # A root and a quotient, 2u, against a power, right to 2u.
    np.testing.assert_allclose(limit, [0.0, 0.5**0.5, 0.0, 0.5**0.5], rtol=4 * U)
    # α/‖α‖ differs from its limit by the ratio of gains, 1e-9, to first order.
    near = dead_direction(np.array([3.0, 1e-9, -1.0, 1e-9]))
    assert np.max(np.abs(near - limit)) <= 2e-9
    assert dead_direction(np.zeros(4)).tolist() == [0.5] * 4


def test_dead_direction_survives_extreme_gains() -> None:
    assert dead_direction(np.array([1e-300, 1e300])).tolist() == [1.0, 0.0]
    with pytest.raises(lg.errors.InputError, match="NaN"):
        dead_direction(np.array([np.nan]))
