import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.projection import condition_number
from lngeom.rounding import FORMATS

TORCH = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SPECIAL = [
    [0.0],
    [3.0],
    [0.0, 0.0, 0.0],
    [1000.125] * 9,  # constant, and its mean is rounded
    [0.0] * 7 + [1.0],
    [1.0] * 15 + [4096.0],  # a massive activation
    [1e-40, -3e-40, 2e-40],  # denormal in float32
    [1e-5, -2e-5, 3e-5],  # squares denormal in float16
    [1e30, -1e30, 1.0],  # squares overflow in float32
    [6e4, -6e4, 6e4],  # sum overflows in float16
    [2.0**66] * 64,  # constant, and merging with an empty part squares it
    [2049.0, 2048.0],
    [1.0, 1.0 + 2.0**-7, 1.0, 1.0],  # nearly constant
    [-1.0, 1.0],
]
EPS = [0.0, 1e-12, 1e-5, 1e-3, 1.0]


@st.composite
def layers(draw: st.DrawFn, dtype: str) -> tuple[Any, ...]:
    """Inputs and parameters as tensors of the format, from a wide range of sizes and condition numbers."""
    d = draw(st.integers(1, 40))
    top = 2.0 ** draw(st.integers(-30, 30) if dtype in ("float64", "float32") else st.integers(-8, 8))
    unit = st.floats(-1, 1, width=32)
    rows = [draw(st.lists(unit, min_size=d, max_size=d)) for _ in range(3)]
    shift = draw(st.sampled_from([0.0, 0.0, 1.0, 100.0, 1e4]))
    x = torch.tensor(rows[0], dtype=torch.float64) * top + shift * top
    gain, bias = (torch.tensor(row, dtype=torch.float64).to(TORCH[dtype]) * 4 for row in rows[1:])
    affine = draw(st.sampled_from([(gain, bias), (gain, None), (None, None)]))
    return x.to(TORCH[dtype]), *affine, draw(st.sampled_from(EPS))


def exact_distance(computed: torch.Tensor, x, gain, bias, eps: float, norm) -> np.ndarray:
    """Float64 lower bound of the distance to the exact output, 0 where nothing finite was computed."""
    exact = norm(Enclosure(x), *(None if p is None else Enclosure(p) for p in (gain, bias)), eps=eps)
    values = computed.double().numpy()
    assert np.isfinite(values).all()
    return np.nextafter([float(off.lower) for off in abs(Enclosure(values) - exact)], 0)


def one_pass(x: torch.Tensor, gain, bias, eps: float) -> torch.Tensor:
    """LayerNorm as Flax computes it by default: variance mean x² − μ², multiplied before the mean is subtracted."""
    wide = x.float() if x.dtype.itemsize == 2 else x
    mean = wide.mean()
    factor = ((wide * wide).mean() - mean * mean).clamp(min=0).add(eps).rsqrt()
    factor = factor if gain is None else factor * gain.to(wide.dtype)
    y = wide * factor - mean * factor
    return (y if bias is None else y + bias.to(wide.dtype)).to(x.dtype)


def torch_rms(x: torch.Tensor, gain, bias, eps: float) -> torch.Tensor:
    """RMSNorm of PyTorch; a bias, which it has not, is added before the output is rounded."""
    if bias is None:
        return torch.nn.functional.rms_norm(x, x.shape, gain, eps)
    wide = x.float() if x.dtype.itemsize == 2 else x
    return (torch.nn.functional.rms_norm(wide, x.shape, gain.to(wide.dtype), eps) + bias).to(x.dtype)


IMPLEMENTATIONS = {
    "lngeom": (lg.layer_norm, lambda x, g, b, eps: lg.layer_norm(x, g, b, eps=eps), "two-pass"),
    "torch": (lg.layer_norm, lambda x, g, b, eps: torch.nn.functional.layer_norm(x, x.shape, g, b, eps), "merged"),
    "one pass": (lg.layer_norm, one_pass, "one-pass"),
    "lngeom rms": (lg.rms_norm, lambda x, g, b, eps: lg.rms_norm(x, g, b, eps=eps), "two-pass"),
    "torch rms": (lg.rms_norm, torch_rms, "two-pass"),
}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(data=st.data())
@settings(max_examples=15)  # for each of twenty pairs of an implementation and a format
def test_no_implementation_leaves_the_bound(implementation, dtype, data) -> None:
    x, gain, bias, eps = data.draw(layers(dtype))
    check_bound(implementation, dtype, x, gain, bias, eps)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_special_vectors_stay_in_the_bound(implementation, dtype) -> None:
    for row, eps in itertools.product(SPECIAL, EPS):
        check_bound(implementation, dtype, torch.tensor(row, dtype=torch.float64).to(TORCH[dtype]), None, None, eps)


def check_bound(name: str, dtype: str, x: torch.Tensor, gain, bias, eps: float) -> None:
    if not torch.isfinite(x).all():  # beyond the range of the format
        return
    function, compute, method = IMPLEMENTATIONS[name]
    bound = lg.rounding.error_bound(x, gain, bias, eps=eps, centered=function is not lg.rms_norm, method=method)
    if np.isinf(bound).all():
        return
    finite = np.isfinite(bound)
    difference = exact_distance(
        torch.where(torch.tensor(finite), compute(x, gain, bias, eps), 0.0), x, gain, bias, eps, function
    )
    assert (difference[finite] <= bound[finite]).all()
    assert (bound > 0).all()


@given(hnp.arrays(np.float32, st.integers(2, 64), elements=st.floats(-(2.0**-126), 2.0**-126, width=32)))
def test_flushing_subnormal_numbers_to_zero_stays_in_the_bound(x) -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormal numbers to zero")
    try:
        got = lg.layer_norm(torch.tensor(x), eps=1e-30)
    finally:
        torch.set_flush_denormal(False)
    difference = exact_distance(got, x, None, None, 1e-30, lg.layer_norm)
    assert (difference <= lg.rounding.error_bound(x, eps=1e-30)).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_kernels_on_a_gpu_stay_in_the_bound() -> None:
    functional = torch.nn.functional
    for dtype, d, shift in itertools.product(FORMATS, (2, 64, 768, 4096), (0.0, 4.0, 1000.0)):
        generator = torch.Generator().manual_seed(d)
        drawn = [torch.randn(d, generator=generator, dtype=torch.float64) for _ in range(3)]
        x, gain, bias = ((row + offset).to(TORCH[dtype]) for row, offset in zip(drawn, (shift, 0, 0), strict=True))
        layer = functional.layer_norm(x.cuda(), (d,), gain.cuda(), bias.cuda(), 1e-5).cpu()
        told = lg.explain_difference(x, layer, gain=gain, bias=bias, eps=1e-5)
        assert told.verdict == "rounding", told.message
        rms = functional.rms_norm(x.cuda(), (d,), gain.cuda(), 1e-5).cpu()
        told = lg.explain_difference(x, rms, gain=gain, eps=1e-5, centered=False)
        assert told.verdict == "rounding", told.message


def test_bound_is_infinite_exactly_where_squares_over_or_underflow() -> None:
    def bounds(values, **options):
        return lg.rounding.error_bound(np.array(values), dtype="float32", **options)

    huge, small = [2.0**70, -(2.0**70), 0.0], [2.0**-80, -(2.0**-80), 0.0]
    assert np.isinf(bounds(huge, eps=1e-5)).all()
    assert np.isinf(bounds(small, eps=0.0)).all()
    # Next to eps they do not matter: the output is below 2⁻⁸⁰/2⁻⁸·⁵, and its error a few units 2⁻²⁴ of that.
    assert (bounds(small, eps=2.0**-17) < 2.0**-80 * 2.0**9 * 2.0**-20).all()
    assert np.isfinite(bounds([2.0**60, -(2.0**60), 0.0], eps=0.0)).all()
    assert np.isinf(bounds([1.0, 1.0], eps=0.0)).all()
    assert np.isinf(bounds([0.0, 0.0], eps=0.0, centered=False)).all()


def test_bound_grows_with_the_condition_number_the_format_and_the_additions() -> None:
    x = np.random.default_rng(5).integers(-32, 33, 256) / 8  # numbers of every format
    for shift in (0.0, 64.0):
        kappa = float(condition_number(x + shift))
        u, h = 2.0**-24, 256
        bound = lg.rounding.error_bound(x + shift, eps=0.0, dtype="float32").max()
        largest = float(np.abs(lg.standardize(x, eps=0.0)).max())
        assert u * kappa < bound < (h + 12) * u * (kappa + largest) * 1.01
    by_dtype = [lg.rounding.error_bound(x, eps=0.0, dtype=dtype).max() for dtype in FORMATS]
    assert by_dtype[0] < by_dtype[1] < by_dtype[3] < by_dtype[2]
    by_method = [
        lg.rounding.error_bound(x + 64, eps=0.0, method=method).max() for method in ("two-pass", "merged", "one-pass")
    ]
    assert by_method[0] < by_method[1]
    assert by_method[0] < by_method[2]
    by_additions = [lg.rounding.error_bound(x, eps=0.0, additions=h).max() for h in (8, 32, 256)]
    assert by_additions == sorted(by_additions)
    assert by_additions[-1] == lg.rounding.error_bound(x, eps=0.0).max()
    batch = np.stack([x, x + 64])
    assert (lg.rounding.error_bound(batch, eps=0.0)[1] == lg.rounding.error_bound(x + 64, eps=0.0)).all()


def test_what_the_precision_cannot_decide_is_listed() -> None:
    x = torch.randn(4096, generator=torch.Generator().manual_seed(0))
    told = lg.explain_difference(x, lg.layer_norm(x, eps=1e-5), eps=1e-5)
    assert told.verdict == "rounding"
    assert "variance divided by d - 1 (ddof=1)" in told.also_fits
    assert "one would not see" in told.message
    sharper = lg.explain_difference(x, lg.layer_norm(x, eps=1e-5), eps=1e-5, additions=64)
    assert "variance divided by d - 1 (ddof=1)" not in sharper.also_fits


def test_components_are_judged_one_by_one() -> None:
    x = np.array([1.0, 2.0, 6.0, 7.0])
    got = lg.layer_norm(x, eps=1.0)
    got[2] += 1e-9
    got[3] = np.nan
    told = lg.explain_difference(x, got, eps=1.0)
    assert told.outside.tolist() == [False, False, True, True]
    assert told.cause is None
    assert told.worst == (3,)
    assert told.ratio[3] == math.inf
    assert "none of the known variants" in told.message
    assert told.difference[2] >= 0.99e-9
    with pytest.raises(AttributeError):
        told.verdict = "rounding"  # type: ignore[misc]


def test_without_a_bound_nothing_is_accused() -> None:
    x = np.array([2.0**70, -(2.0**70)], dtype=np.float32)
    told = lg.explain_difference(x, np.array([0.0, np.nan], dtype=np.float32), eps=1e-5)
    assert told.verdict == "rounding"
    assert "no bound exists" in told.message


def test_condition_number_of_constant_zero_and_half_precision_vectors() -> None:
    with np.errstate(all="ignore"):
        assert float(condition_number(np.array([2.0, 2.0]))) == math.inf
        assert math.isnan(float(condition_number(np.array([0.0, 0.0]))))
    assert condition_number(torch.tensor([300.0, 301.0], dtype=torch.float16)).dtype == torch.float32


@given(st.floats(allow_nan=False), st.sampled_from(sorted(FORMATS)))
def test_formats_know_their_numbers(value, dtype) -> None:
    with np.errstate(over="ignore"):
        stored = float(torch.tensor(value, dtype=torch.float64).to(TORCH[dtype]))
    held = bool(FORMATS[dtype].holds(np.array([value]))[0])
    assert held == (stored == value and math.isfinite(value))
    info = torch.finfo(TORCH[dtype])
    assert (float(FORMATS[dtype].tiny), float(FORMATS[dtype].largest)) == (info.tiny, info.max)
    assert float(FORMATS[dtype].roundoff) == info.eps / 2
