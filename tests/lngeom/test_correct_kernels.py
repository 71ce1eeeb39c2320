"""Correct kernels at rows chosen against them: fractions accuse none of them, and they accuse what is wrong."""

from collections.abc import Callable

import numpy as np
import pytest

from lngeom.rounding import Arithmetic, Definition, certainly_outside, rounded

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
        gain = F(2.0**-12 * rng.uniform(1, 2, d))
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


def reversed_merge(x: np.ndarray) -> np.ndarray:
    """The mean of all but the first merged into the first: the larger part into the smaller."""
    rest = x[1:].cumsum(dtype=F)[-1] / F(len(x) - 1)
    return x[0] + (rest - x[0]) * (F(len(x) - 1) / F(len(x)))


def weighted_merge(x: np.ndarray) -> np.ndarray:
    """(n_a c)m_a + (n_b c)m_b, c = fl(1/n), halves after halves: the form of PyTorch's kernel on a GPU."""
    if len(x) == 1:
        return x[0]
    half = len(x) // 2
    c = ONE / F(len(x))
    return F(half) * c * weighted_merge(x[:half]) + F(len(x) - half) * c * weighted_merge(x[half:])


@pytest.mark.parametrize("mean", [reversed_merge, weighted_merge])
@pytest.mark.parametrize("d", [19, 513, 1025])
def test_means_merged_in_either_form_are_accepted(mean: Callable[[np.ndarray], np.ndarray], d: int) -> None:
    rng, told = np.random.default_rng(d), []
    ones = np.ones(d)
    for trial in range(4):
        x = rng.uniform(-1, 1, (300 if d < 100 else 60, d)).astype(F)
        x[:, 0] = F(2.0) ** rng.integers(2, 8) * rng.uniform(1, 2, len(x)).astype(F)
        off = [abs(float(mean(row)) - row.astype(float).mean()) for row in x]
        row = x[int(np.argmax(off))]
        y = (row - mean(row)) * (ONE / np.sqrt(wide_variance(row)))
        told.append(accused(row, y, "float32", 0.0, ones, 0 * ones))
    assert not any(told)


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
    small = abs(y) < 2.0**-10
    assert small.sum() > 30
    assert accused(x, np.where(small, 0, y), dtype, 1e-5, gain, 0 * gain)
