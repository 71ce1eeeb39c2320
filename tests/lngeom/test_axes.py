import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import array_namespace, device

import lngeom as lg
from lngeom.ellipsoid import dead_direction, secular

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
    "huge range": np.logspace(-120, 0, 60),
    "both ends of the range": np.array([2.0**-511, 1.0, 2.0**511, 2.0**511 * (1 - U), 0.0, -(2.0**-510)]),
}


def resolution(d: int) -> float:
    """How far an offset from its nearer pole may be off, relatively.

    A value of the secular function is off by (9.1 + log₂ p) units of Σ|terms|, and Σ|terms| over slope times offset is
    at most 2√d (Cauchy-Schwarz); the iteration leaves a residual as large again.
    """
    return 4 * (10 + math.log2(d)) * d**0.5 * U


def sign(poles: np.ndarray, weights: np.ndarray, gap: int, origin: int, tau: float) -> int:
    """Sign of the secular function at `tau` in integer arithmetic; 0 if 256 bits do not decide it."""
    ratios = [float(pole).as_integer_ratio() for pole in poles]
    common = max(denominator for _, denominator in ratios)
    squares = [(numerator * (common // denominator)) ** 2 for numerator, denominator in ratios]
    numerator, denominator = tau.as_integer_ratio()
    scale, scale_denominator = float(secular.unit(poles, np.array([gap]))[0]).as_integer_ratio()
    # τ counts squared units of the gap: bring τ·common²/scale² and the squares to the same denominator.
    numerator *= (common * scale_denominator) ** 2
    denominator *= scale**2
    terms = [(square - squares[origin]) * denominator - numerator for square in squares]
    precision = 256 + min(abs(term) for term in terms).bit_length()
    total = sum((int(weight) << precision) // term for weight, term in zip(weights, terms, strict=True))
    # Each floor lost less than 1, so the value times 2^precision lies in [total, total + number of terms).
    return 1 if total > 0 else -1 if total + len(terms) <= 0 else 0


@pytest.mark.parametrize("name", GAINS)
def test_an_offset_is_right_to_its_resolution(name: str) -> None:
    poles, counts = np.unique(np.abs(GAINS[name]), return_counts=True)
    origin, offset = secular.solve(poles, counts.astype(float))
    width = resolution(GAINS[name].size)
    for gap, (nearest, tau) in enumerate(zip(origin, offset, strict=True)):
        low, high = sorted((float(tau * (1 - width)), float(tau * (1 + width))))
        assert sign(poles, counts, gap, int(nearest), low) < 0 < sign(poles, counts, gap, int(nearest), high)


@pytest.mark.parametrize("name", GAINS)
def test_number_and_order_of_axes(name: str) -> None:
    gain = GAINS[name]
    axes = lg.principal_axes(gain)
    zeros = int(np.sum(gain == 0))
    assert len(axes) == gain.size - max(1, zeros) == axes.semi_axes.size
    assert np.all(np.diff(axes.semi_axes) <= 0)
    # Interlacing in floating point too: between √d times neighbouring sorted magnitudes.
    bounds = math.sqrt(gain.size) * np.sort(np.abs(gain))[::-1]
    assert np.all(axes.semi_axes <= bounds[: len(axes)])
    assert np.all(axes.semi_axes >= bounds[1 : len(axes) + 1])
    assert np.all(axes.semi_axes > 0)


@pytest.mark.parametrize("name", GAINS)
def test_directions_are_orthonormal_eigenvectors(name: str) -> None:
    gain = GAINS[name] / np.max(np.abs(GAINS[name]))
    keep = (gain == 0) | (np.abs(gain) > 2.0**-500)  # the division leaves the range at one end
    gain = gain[keep]
    axes, d = lg.principal_axes(gain), gain.size
    directions, roots = axes.directions, (axes.semi_axes**2) / d
    assert directions.shape == (d, len(axes))
    # A component g/(g² − λ) carries the relative error of the offset λ − a² at most twofold (the nearer pole is at
    # most half a gap away) and a few roundings; ‖GΠG‖ <= 1. Sums of d terms add d·2⁻⁵³.
    component = 2 * resolution(d) + 16 * U
    product = (gain**2)[:, None] * directions - gain[:, None] * (gain @ directions) / d
    residual = np.linalg.norm(product - directions * roots, axis=0)
    assert np.all(residual <= 2 * (component + (d + 4) * U))
    gram = directions.T @ directions
    assert np.max(np.abs(gram - np.eye(len(axes)))) <= 2 * (component + (d + 4) * U)


@pytest.mark.parametrize("name", GAINS)
def test_lengths_are_invariant_bit_for_bit(name: str) -> None:
    gain = GAINS[name]
    lengths = lg.principal_axes(gain).semi_axes
    rng = generator()
    shuffled = rng.permutation(gain) * rng.choice([-1.0, 1.0], gain.size)
    assert np.array_equal(lg.principal_axes(shuffled).semi_axes, lengths)
    if name != "both ends of the range":
        assert np.array_equal(lg.principal_axes(gain * 2.0**-31).semi_axes, lengths * 2.0**-31)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("name", GAINS)
def test_a_direction_is_a_column_of_the_matrix(name: str, centered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secular, "BLOCK", 1 << 9)  # several blocks, the last one short
    axes = lg.principal_axes(GAINS[name], centered=centered)
    directions = axes.directions
    for i in (0, len(axes) // 2, len(axes) - 1, -1):
        assert np.array_equal(axes.direction(i), directions[:, i])


def test_lengths_take_linear_memory() -> None:
    d = 3000
    gain = generator().standard_normal(d)
    tracemalloc.start()
    axes = lg.principal_axes(gain)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Six working blocks and some fifty vectors of length d: 7.5 MB, where one matrix would take 72 MB.
    assert peak < 6 * 8 * secular.BLOCK + 50 * 8 * d
    assert len(axes) == d - 1


def test_coordinate_axes_of_rms_norm() -> None:
    gain = np.array([-2.0, 0.0, 1.0, 3.0])
    axes = lg.principal_axes(gain, centered=False)
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
