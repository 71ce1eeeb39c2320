"""The two-parameter family: no correct kernel leaves it in any order of summation, and little else is in it."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from empirical.models import behaviour, probes
from experiments.correct_kernels import MOMENTS, outputs
from lngeom.rounding import REAL, Arithmetic, Definition, Sample, certainly_outside, rounded

TORCH = {n: getattr(torch, n) for n in ("float64", "float32", "bfloat16", "float16")}
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}


@pytest.mark.parametrize("algorithm", MOMENTS)
def test_no_order_of_summation_is_rejected(algorithm: str) -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 17, 64, 300):
        for shift in (0.0, 3.0, 1e3, 1e5):
            x = (rng.normal(size=(24, d)) + shift).astype(np.float32)
            x[::5] *= np.float32(1e-4)
            ascending = np.argsort(x, axis=-1)
            alternating = np.argsort(np.argsort(ascending, axis=-1) % 2, axis=-1, kind="stable")
            for order in (ascending, ascending[:, ::-1], rng.permuted(ascending, axis=-1), alternating):
                rows, one = np.take_along_axis(x, order, -1), np.ones(d, np.float32)
                allowed = lg.tolerance(rows, eps=1e-5)
                for form, y in outputs(rows, one, 0 * one, MOMENTS[algorithm]):
                    assert allowed.accepts(y), (d, shift, form)


def rounding(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """fl(a + b) − (a + b), exact by the algorithm of Knuth."""
    total = a + b
    part = total - a
    return -((a - (total - part)) + (b - part))


def adversarial(dtype: str, order: str, d: int) -> np.ndarray:
    """A row with μ/σ near 10⁴ whose sums round upward: each next component is the best of 64, or each level of the tree
    keeps the better half of its pairs. Half formats have only such rows of two neighbours, summed exactly."""
    rng, step = np.random.default_rng(1), 2 * ROUNDOFF[dtype]
    if dtype in ("bfloat16", "float16"):
        row = np.full(d, 2 - 4 * step, dtype=np.float32)
        row[rng.permutation(d)[: max(1, round(d * (2e-4 / step) ** 2))]] += step
        return row

    def drawn(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) + 1e4).astype(dtype)

    if order == "sequential":
        row = drawn(d)
        total = row[0]
        for k in range(1, d):
            choice = drawn(64)
            row[k] = choice[rounding(np.full_like(choice, total), choice).argmax()]
            total = total + row[k]
        return row
    groups = drawn(d * d, 1)
    total = groups[:, 0]
    while len(groups) > 1:
        best = np.argsort(-rounding(total[::2], total[1::2]), kind="stable")[: len(groups) // 4]
        total = (total[::2] + total[1::2])[best]
        groups = groups.reshape(len(groups) // 2, -1)[best]
    return groups[0]


@pytest.mark.parametrize("order", ["sequential", "pairwise"])
@pytest.mark.parametrize("dtype", TORCH)
def test_a_declared_order_is_within_ten_times_of_what_a_search_finds(dtype: str, order: Any) -> None:
    """μ/σ near 10⁴ at d = 1024; sums of half formats are kept in float32."""
    d = 1024
    x = adversarial(dtype, order, d)[None]
    kappa = float(lg.projection.condition_number(x.astype(np.float64))[0])
    assert 5e3 < kappa < 2e4
    sums = {
        "sequential": lambda terms: terms.cumsum(-1, dtype=terms.dtype)[:, -1:],
        "pairwise": lambda terms: terms if terms.shape[-1] == 1 else sums["pairwise"](terms[:, ::2] + terms[:, 1::2]),
    }
    one = x.dtype.type(1)
    centered = x - sums[order](x) / (d * one)
    got = rounded(centered / np.sqrt(sums[order](centered * centered) / (d * one) + one * 1e-5), dtype)
    allowed = lg.tolerance(x, eps=1e-5, algorithm="two-pass", order=order, dtype=dtype)
    assert allowed.accepts(got)
    exact = lg.layer_norm(x.astype(np.longdouble), eps=1e-5)  # rounds 2⁻¹¹ of float64
    width = np.maximum(allowed.box[1] - exact, exact - allowed.box[0])
    assert width.max() <= 10 * abs(got - exact).max()


@pytest.mark.parametrize("dtype", TORCH)
def test_torch_is_accepted_and_its_neighbours_are_not(dtype: str) -> None:
    generator = torch.Generator().manual_seed(5)
    x, gain, bias = (torch.randn(*shape, generator=generator).to(TORCH[dtype]) for shape in ((20, 64), (64,), (64,)))
    functional = torch.nn.functional
    allowed = lg.tolerance(x, gain, bias, eps=1e-5)
    assert allowed.accepts(functional.layer_norm(x, (64,), gain, bias, 1e-5))
    assert allowed.adversarial
    c, v = x.double() - x.double().mean(-1, keepdim=True), x.double().var(-1, keepdim=True)
    assert not allowed.accepts((c / torch.sqrt(v + 1e-5) * gain.double() + bias.double()).to(TORCH[dtype]))
    root_mean_square = lg.tolerance(x, gain, eps=1e-6, kind="rmsnorm", dtype=TORCH[dtype])
    assert root_mean_square.accepts(functional.rms_norm(x, (64,), gain, 1e-6))
    assert not root_mean_square.accepts(functional.rms_norm(x, (64,), gain, 1e-2))


@pytest.mark.parametrize("dtype", TORCH)
def test_fractions_accuse_what_the_family_does_not_hold(dtype: str) -> None:
    """Outputs up to two tolerances off: floats and fractions agree at every row."""
    rng, seen = np.random.default_rng(11), set()
    for d, centered in itertools.product((1, 2, 17), (True, False)):
        gain, bias = rng.normal(size=(2, d)).astype(REAL)
        layer = Definition(centered, gain, bias, 1e-5)
        x = rounded(rng.normal(size=(8, d)) + 10.0 ** rng.uniform(-3, 2, (8, 1)), dtype).astype(float)
        family = layer.family(Sample(x), Arithmetic.of(dtype))
        exact = layer.output(Sample(x))
        off = family.tolerance(exact) * rng.uniform(-2, 2, x.shape)
        got = rounded(exact + off, dtype).astype(float)
        for row, y, ratio in zip(x, got, family.fit(got).ratio.max(axis=-1), strict=True):
            outside = certainly_outside(row, y, layer, Arithmetic.of(dtype))
            assert outside == (ratio > 1)
            seen.add(outside)
    assert seen == {True, False}


def test_declared_algorithms_are_told_apart() -> None:
    x = (np.random.default_rng(2).normal(size=(30, 64)) + 3e3).astype(np.float32)
    mean = x.cumsum(-1)[:, -1:] / np.float32(64)
    variance = (x * x).cumsum(-1)[:, -1:] / np.float32(64) - mean * mean
    got = (x - mean) / np.sqrt(np.maximum(variance, 0) + np.float32(1e-5))
    assert not lg.tolerance(x, eps=1e-5).accepts(got)
    assert lg.tolerance(x, eps=1e-5, algorithm="one-pass").accepts(got)
    wide = lg.tolerance(x, eps=1e-5, algorithm="two-pass")
    likely = lg.tolerance(x, eps=1e-5, algorithm="two-pass", confidence=3.0)
    exactly = lg.tolerance(x, eps=1e-5, algorithm="two-pass", accumulate="float64")
    assert (exactly.alpha < likely.alpha).all()
    assert (likely.alpha < wide.alpha).all()
    assert not likely.adversarial
    half = np.float16(1) * x[:, :16].astype(np.float16) - np.float16(3000)
    low = (half - half.mean(-1, keepdims=True)) / half.std(-1, keepdims=True)
    assert lg.tolerance(half, eps=0.0, accumulate="float16").accepts(low)


@pytest.mark.parametrize("dtype", TORCH)
@pytest.mark.parametrize("eps", [1e-5, 1e-6])
def test_a_norm_is_read_off_its_outputs(dtype: str, eps: float) -> None:
    """Components of 64 are fitted on 48 rows: ε is known to 64 roundings, gain and bias to as many."""
    x = torch.tensor(probes(64, dtype)).to(TORCH[dtype])
    generator = torch.Generator().manual_seed(3)
    gain, bias = (torch.randn(64, generator=generator).to(TORCH[dtype]) for _ in range(2))
    functional, u = torch.nn.functional, ROUNDOFF[dtype]
    outputs = {
        "layernorm": functional.layer_norm(x, (64,), gain, bias, eps),
        "rmsnorm": functional.rms_norm(x, (64,), 1 + gain, eps),
    }
    for kind, got in outputs.items():
        reading = behaviour(x.double().numpy(), got.double().numpy(), u)
        assert reading is not None
        assert (reading.kind, reading.placement) == (kind, "inside")
        assert reading.eps is not None
        assert abs(reading.eps / eps - 1) < 64 * u
        right = gain if kind == "layernorm" else 1 + gain
        assert abs(reading.gain - right.double().numpy()).max() < 64 * u
    for other in (x, torch.relu(x), torch.softmax(x, -1), x / 2 + bias):
        assert behaviour(x.double().numpy(), other.double().numpy(), u) is None
