"""Causes that are fitted to outputs, not listed: which rows, which components, which power, which sums."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from empirical.check import check
from tests.kernels.derived import kernel, plain

EPS = np.float32(1e-5)
Rows = Any


def _of(statistics: Callable[[Rows], Rows]) -> Callable[..., Rows]:
    """An RMSNorm with a mean square of its own."""
    return lambda x, weight: x / np.sqrt(statistics(x) + EPS) * weight


def _square(x: Rows) -> Rows:
    return (x * x).mean(-1, keepdims=True)


def _by_block(x: Rows) -> Rows:
    return np.repeat((x * x).reshape(*x.shape[:-1], -1, 8).mean(-1), 8, axis=-1)


def _half(weight: Rows, instead: float) -> Rows:
    return np.where(np.arange(len(weight)) % 32 >= 16, np.float32(instead), weight)


FITTED: dict[str, tuple[Callable[..., Rows], str]] = {
    "neighbour": (
        _of(lambda x: np.roll(_square(x), 1, 0) if x.ndim == 2 else _square(x)),
        "other rows.*: statistics of row i - 1",
    ),
    "part": (_of(lambda x: _square(x[..., 8:24])), "part of the row: components 8 to 23 of 64$"),
    "lanes": (
        _of(lambda x: _square(x) - (x[..., 31::32] ** 2).sum(-1, keepdims=True) / 64),
        "0 to 30 of each 32 of 64, divisor d",
    ),
    "twice": (_of(lambda x: _square(x) + x[..., 3:4] ** 2 / 64), "component 3 counted 2 times in the statistics"),
    "blocks": (_of(_by_block), "each block of 8 components by itself"),
    "power": (
        lambda x, weight: x / (_square(x) + EPS) ** np.float32(0.75) * weight,
        "power 0.75 of .variance . eps. instead",
    ),
    "gain 1": (
        lambda x, weight: x / np.sqrt(_square(x) + EPS) * _half(weight, 1),
        "components 16 to 31 of each 32 without the gain",
    ),
    "gain 0": (
        lambda x, weight: x / np.sqrt(_square(x) + EPS) * _half(weight, 0),
        "components 16 to 31 of each 32 with gain 0",
    ),
    "axis": (
        lambda x, weight: x / np.sqrt((x * x).mean(min(1, x.ndim - 1), keepdims=True) + EPS) * weight,
        "wrong axis .axis 1 instead of the last",
    ),
    "eps": (lambda x, weight: x * (1 / np.sqrt(_square(x)) + EPS) * weight, "eps added to the reciprocal of the root"),
    "root of d": (lambda x, weight: x * 8 / np.sqrt(_square(x) + EPS) * weight, r"multiplied by sqrt\(d\)"),
    "no name": (
        lambda x, weight: x / np.sqrt(_square(x) + EPS) * (weight + _half(0 * weight, 1) * np.sin(x)),
        r"components 16 to 31 of each 32 wrong",
    ),
    "no bfloat16": (lambda x, weight: x / np.sqrt(_square(x)) + EPS * weight, "^(?!.*bfloat16)"),
    "mixed": (_of(lambda x: (_square(x) + _square(x)[::-1]) / 2), "depends on the other rows"),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_outputs_show_is_named(name: str) -> None:
    kernel, told = FITTED[name]
    finding = check(kernel, kind="rmsnorm", eps=1e-5, d=64)
    assert re.search(told, finding.cause or ""), finding


def _rms(x: Rows, weight: Rows, eps: float = 1e-5) -> Rows:
    return x / np.sqrt(_square(x) + np.float32(eps)) * weight


@pytest.mark.parametrize(
    ("target", "told", "options"),
    [
        (_rms, "^w used for 1 . w", {"spec": "gemma"}),
        (lambda x, residual, weight: (_rms(x, weight), x + residual), "^residual not added before the norm", {}),
        (lambda x, residual, weight: (_rms(residual, weight), x + residual), "^residual normalized alone", {}),
        (lambda x, weight: _rms(x, weight, float(np.float16(1e-8))), "eps missing, or 0 as a number of", {"eps": 1e-8}),
        (lambda x, weight: _rms(x, weight) / np.float32(x.shape[-1]), "^normalized value multiplied by 1/d", {}),
    ],
)
def test_what_is_usual_in_public_is_named(target: Any, told: str, options: dict[str, Any]) -> None:
    finding = check(target, **{"kind": "rmsnorm", "eps": 1e-5, "d": 24} | options)
    assert re.search(told, finding.cause or ""), finding


def _products(y: Any, n: Any, axes: Any) -> Any:
    return (y * n).sum(axes)


@pytest.mark.parametrize(
    ("sums", "told"),
    [
        ((lambda y, n, axes: y.sum(axes), _products), "d/dgain, d/dbias: these two exchanged"),
        ((lambda y, n, axes: (y * n).reshape(-1, 16)[:2].sum(0),), "d/dgain summed over the first 2 of . rows alone"),
        ((lambda y, n, axes: torch.roll((y * n).sum(axes), 1),), "d/dgain shifted by 1 components"),
        ((_products, lambda y, n, axes: y.mean(axes)), "d/dbias divided by the number of rows"),
        ((lambda y, n, axes: _products(y, n, axes) * (torch.arange(16) < 8),), "d/dgain components 8 to 15 zero"),
    ],
)
def test_sums_of_a_backward_pass_are_named(sums: Any, told: str) -> None:
    finding = check(kernel(plain, *sums), kind="layernorm", eps=1e-5, d=16, backward=True)
    assert re.search(told, finding.cause or ""), finding


def test_a_sum_without_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="in float32 sums of more than 2097151 terms may lose every digit"):
        check(lambda x: x / np.sqrt(_square(x) + EPS), kind="rmsnorm", eps=1e-5, d=1 << 21)
