"""Correct kernels at rows chosen against them: fractions accuse none of them, and they accuse what is wrong."""

import numpy as np
import pytest

from lngeom.rounding import Arithmetic, Definition, certainly_outside, rounded, tolerance

F = np.float32
ONE = F(1)


def statistics(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and reciprocal root in float32, two passes, one term after another."""
    d = F(len(x))
    mean = x.cumsum(dtype=F)[-1] / d
    return mean, ONE / np.sqrt(((x - mean) ** 2).cumsum(dtype=F)[-1] / d + F(eps))


def accused(x: np.ndarray, y: np.ndarray, dtype: str, eps: float, gain: np.ndarray, bias: np.ndarray) -> bool:
    layer = Definition(centered=True, gain=gain.astype(np.longdouble), bias=bias.astype(np.longdouble), eps=eps)
    return certainly_outside(x.astype(float).tolist(), y.astype(float).tolist(), layer, Arithmetic.of(dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_bias_folded_into_the_mean_rounds_twice(dtype: str) -> None:
    """x(gr) + (b − m(gr)), as Keras and ``tf.nn.batch_normalization`` compute it, with biases next to rounding ties."""
    d, step = 64, 2.0 ** {"bfloat16": -8, "float16": -11}[dtype]
    told = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rounded(rng.normal(size=d) + 3, dtype).astype(F)
        gain = (2.0**-12 * rng.uniform(1, 2, d)).astype(F)
        mean, r = statistics(x, 1e-3)
        scale = r * gain
        exact = gain.astype(float) * (x.astype(float) - x.astype(float).mean()) * float(r)
        # Of many biases near a tie the one whose two roundings carry the output farthest across it.
        ties = 1 + step * (2 * rng.integers(8, 48, (4096, d)) + 1)
        bias = (ties - exact + rng.uniform(-3, 3, ties.shape) * 2.0**-24).astype(F)
        got = x * scale + (bias - mean * scale)
        beyond = (ties - (exact + bias.astype(float))) * np.where(got >= ties, 1, 0)
        best = np.take_along_axis(bias, beyond.argmax(0)[None], 0)[0]
        y = rounded(x * scale + (best - mean * scale), dtype).astype(float)
        told.append(accused(x, y, dtype, 1e-3, gain, best))
    assert not any(told)


def wide_variance(x: np.ndarray) -> np.ndarray:
    """The variance of a row in float64, rounded."""
    return x.astype(float).var().astype(F)


@pytest.mark.parametrize("d", [513, 1025])
def test_larger_part_merged_into_the_smaller(d: int) -> None:
    """m_a + (m_b − m_a)n_b/n with n_b = d − 1: of many outliers the one at which three roundings add up."""
    rng, told = np.random.default_rng(d), []
    for _ in range(3):
        rest = (rng.uniform(-1, 1, d - 1) * 2.0**-10).astype(F)
        mean = rest.cumsum(dtype=F)[-1] / F(d - 1)
        first = rng.uniform(1, 1.2, 100_000).astype(F)
        merged = first + (mean - first) * (F(d - 1) / F(d))
        worst = np.argmax(abs(merged - (first.astype(float) + rest.astype(float).sum()) / d))
        x = np.concatenate([first[[worst]], rest])
        y = (x - merged[worst]) * (ONE / np.sqrt(wide_variance(x)))
        told.append(accused(x, y, "float32", 0.0, np.ones(d), np.zeros(d)))
    assert not any(told)


def weighted(x: np.ndarray) -> np.ndarray:
    """(n_a c)m_a + (n_b c)m_b, c = 1/n, one term after another: the form in which PyTorch's kernel on a GPU merges."""
    mean = x[:, 0]
    for k in range(1, x.shape[-1]):
        c = ONE / F(k + 1)
        mean = F(k) * c * mean + c * x[:, k]
    return mean


def test_weighted_merges_stay_within_the_error_of_the_mean() -> None:
    """Rows improved one component at a time, until the roundings of all merges have one sign."""
    for d in (10, 19, 29):
        rng, rows = np.random.default_rng(d), np.arange(500)
        x = rng.uniform(1, 1.3, (500, d)).astype(F)
        off = abs(weighted(x) - x.astype(float).mean(-1))
        for _ in range(600):
            other = x.copy()
            other[rows, rng.integers(0, d, 500)] = rng.uniform(1, 1.3, 500).astype(F)
            farther = abs(weighted(other) - other.astype(float).mean(-1))
            better = farther > off
            x[better], off[better] = other[better], farther[better]
        assert (off <= tolerance(x, eps=0.0).alpha).all()


def test_gain_before_the_scale_may_underflow() -> None:
    """(c g)r with ε = 0: the product is subnormal, and the scale makes what it lost large again."""
    rng, ones = np.random.default_rng(0), np.zeros(16)
    for _ in range(5):
        x = F(2.0**-30) * rng.uniform(1, 2, 16).astype(F)
        gain = F(2.0**-100) * rng.uniform(1, 2, 16).astype(F)
        mean, r = statistics(x, 0.0)
        y = x * gain * r - mean * gain * r
        assert not accused(x, y, "float32", 0.0, gain, ones)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_output_that_is_set_to_zero_is_accused(dtype: str) -> None:
    """Numbers near 2⁻¹⁰ are far from 0, though half a unit of 1 is more."""
    rng = np.random.default_rng(0)
    x = rounded(rng.normal(size=64), dtype).astype(F)
    gain = np.full(64, 2.0**-10, dtype=F)
    mean, r = statistics(x, 1e-5)
    y = rounded((x - mean) * r * gain, dtype).astype(float)
    assert not accused(x, y, dtype, 1e-5, gain, 0 * gain)
    small = abs(y) < 2.0 ** {"bfloat16": -9.5, "float16": -12.5}[dtype]
    assert small.sum() > 3
    assert accused(x, np.where(small, 0, y), dtype, 1e-5, gain, 0 * gain)


def test_massive_component_does_not_hide_the_others_from_floats() -> None:
    """RMSNorm in float64, term after term: small components tell the scale to more digits than p itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 200)) * 10.0 ** rng.uniform(-2, 0, (2000, 1))
    x[:, 0] = 10.0 ** rng.uniform(4, 5, 2000)
    y = x * (1 / np.sqrt((x * x).cumsum(-1)[:, -1:] / 200 + 1e-5))
    assert tolerance(x, eps=1e-5, kind="rmsnorm").accepts(y)
