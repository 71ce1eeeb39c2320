"""Rows chosen against the bounds: a wrong kernel is accused there, a correct one is not."""

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
