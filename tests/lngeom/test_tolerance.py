import itertools

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.behaviours import behaviour, probes
from lngeom.rounding import FORMATS, REAL, Arithmetic, Definition, Sample, certainly_outside, rounded
from tests.kernels.correct import MOMENTS, outputs

TORCH = {n: getattr(torch, n) for n in ("float64", "float32", "bfloat16", "float16")}


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


@pytest.mark.parametrize(
    ("deviation", "eps", "seen"), [(1e3, 1e-5, False), (32, 1e-2, True), (1e-3, 1e-14, False), (1e-2, 1e-8, True)]
)
def test_eps_outside_the_root_is_seen_unless_its_shares_of_deviation_and_variance_are_below_the_roundoff(
    deviation: float, eps: float, seen: bool
) -> None:
    x = (deviation * np.random.default_rng(0).normal(size=(4, 64))).astype(np.float32)
    y = lg.layer_norm(x.astype(float), eps=eps, placement="outside").astype(np.float32)
    assert bool(lg.tolerance(x, eps=eps).accepts(y)) != seen
    assert (max(eps / deviation, eps / deviation**2) > 2.0**-24) == seen


@pytest.mark.parametrize("dtype", TORCH)
def test_torch_is_accepted_and_its_neighbours_are_not(dtype: str) -> None:
    generator = torch.Generator().manual_seed(5)
    x, gain, bias = (torch.randn(*shape, generator=generator).to(TORCH[dtype]) for shape in ((20, 64), (64,), (64,)))
    functional = torch.nn.functional
    allowed = lg.tolerance(x, gain, bias, eps=1e-5)
    assert allowed.accepts(functional.layer_norm(x, (64,), gain, bias, 1e-5))
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
    assert (lg.tolerance(x, eps=1e-5, algorithm="two-pass", accumulate="float64").alpha < wide.alpha).all()
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
    functional, u = torch.nn.functional, float(FORMATS[dtype].roundoff)
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


F = np.float32


def statistics(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and reciprocal root in float32, two passes, one term after another."""
    d = F(len(x))
    mean = x.cumsum(dtype=F)[-1] / d
    return mean, F(1) / np.sqrt(((x - mean) ** 2).cumsum(dtype=F)[-1] / d + F(eps))


def accused(x: np.ndarray, y: np.ndarray, dtype: str, eps: float, gain: np.ndarray, bias: np.ndarray) -> bool:
    layer = Definition(centered=True, gain=gain.astype(np.longdouble), bias=bias.astype(np.longdouble), eps=eps)
    return certainly_outside(x.astype(float).tolist(), y.astype(float).tolist(), layer, Arithmetic.of(dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_output_that_is_set_to_zero_is_accused(dtype: str) -> None:
    """Numbers near 2⁻¹⁰ are far from 0, though half a unit of 1 is more."""
    x = rounded(np.random.default_rng(0).normal(size=64), dtype).astype(F)
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
    assert lg.tolerance(x, eps=1e-5, kind="rmsnorm").accepts(y)
