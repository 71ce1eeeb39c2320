"""Correct backward passes are held, wrong ones are accused in exact fractions and named."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from empirical.check import check
from lngeom.rounding import REAL, Arithmetic, Definition, Gradients, rounded
from tests.kernels.derived import EPS, kernel, mean, plain


def autograd(x: Any, gain: Any, bias: Any) -> Any:
    v, m = torch.var_mean(x.float(), -1, unbiased=False, keepdim=True)
    return ((x.float() - m) / torch.sqrt(v + EPS) * gain.float() + bias.float()).to(x.dtype)


def centred_last(h: Any, y: Any, g: Any, n: Any, r: Any) -> Any:
    pulled = r * (h - n * mean(h * n))
    return pulled - mean(pulled)


def _fourth(h: Any) -> Any:
    return (torch.arange(h[..., 0].numel()).reshape(h.shape[:-1]) % 4 == 0)[..., None]


CORRECT: dict[str, Any] = {
    "plain": kernel(plain),
    "centred last": kernel(centred_last),
    "automatic": autograd,
    "module": torch.nn.LayerNorm,
    "fused": lambda x, gain, bias: torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, EPS),
}
WRONG: dict[str, tuple[Any, str]] = {
    "mean of the cotangent not subtracted": (kernel(lambda h, y, g, n, r: r * (h - n * mean(h * n))), "d/dx"),
    "term along the output missing": (kernel(lambda h, y, g, n, r: r * (h - mean(h))), "d/dx"),
    "both correction terms missing": (kernel(lambda h, y, g, n, r: r * h), "d/dx"),
    "gain missing": (kernel(lambda h, y, g, n, r: plain(y, y, g, n, r)), "d/dx"),
    "gain applied twice": (kernel(lambda h, y, g, n, r: plain(h * g, y, g, n, r)), "d/dx"),
    "term along the output divided by d - 1": (
        kernel(lambda h, y, g, n, r: r * (h - mean(h) - n * mean(h * n) * (h.shape[-1] / max(h.shape[-1] - 1, 1)))),
        "d/dx",
    ),
    "mean of the cotangent subtracted twice": (
        kernel(lambda h, y, g, n, r: plain(h, y, g, n, r) - r * mean(h)),
        "d/dx",
    ),
    "zero only in rows 1 to 3 of each 4": (kernel(lambda h, y, g, n, r: plain(h * _fourth(h), y, g, n, r)), "d/dx"),
    "strides of the cotangent ignored": (
        kernel(lambda h, y, g, n, r: plain(h if y.is_contiguous() else 2 * h, y, g, n, r)),
        "d/dx",
    ),
    "divided by the root three times": (kernel(lambda h, y, g, n, r: plain(h, y, g, n, r**3)), "d/dx"),
    "backward pass wrong": (kernel(plain, lambda g, n, axes: g.sum(axes)), "d/dgain"),
    "only for batches of shape (2, n, d)": (
        kernel(plain, lambda g, n, axes: (g * n).sum(0) if len(axes) < 2 else (g * n)[0].sum(0)),
        "d/dgain",
    ),
}


OF_PYTORCH = ("module", "fused")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CORRECT)
def test_correct_backward_pass_is_not_accused(name: str, dtype: str) -> None:
    finding = check(CORRECT[name], kind="layernorm", eps=EPS, dtype=dtype, d=8, backward=True)
    if name in OF_PYTORCH and dtype != "float32":
        # On a CPU it adds the gradients of gain and bias up in the dtype of the parameters: 256 + 1 = 256.
        assert finding.cause == "backward pass wrong: d/dgain, d/dbias: as if summed over the rows in 16 bits"
        return
    assert finding.verdict == "rounding", finding
    assert finding.gradient_ratio is not None
    assert 0 < finding.gradient_ratio <= 1


def ordered(key: Any) -> Any:
    """A sum one after another, in the order of `key`."""
    return lambda a: np.cumsum(np.take_along_axis(a, np.argsort(key(a), -1), -1), -1, dtype=a.dtype)[..., -1:]


SUMS = {"upwards": ordered(lambda a: a), "downwards": ordered(lambda a: -a), "by size": ordered(lambda a: -abs(a))}
FORMS: dict[str, Callable[..., Any]] = {
    "normalized": lambda x, h, m, r, d, s: r * (h - s(h) / d - (x - m) * r * (s(h * ((x - m) * r)) / d)),
    "multiplied first": lambda x, h, m, r, d, s: r / d * (d * h - s(h) - (x * r - m * r) * s(h * (x * r - m * r))),
    "multiplied out": lambda x, h, m, r, d, s: (
        r * h + (b := (s(h) * m - s(h * x)) * r * r * r / d) * x + (-b * m - s(h) * r / d)
    ),
}


@pytest.mark.parametrize("order", SUMS)
@pytest.mark.parametrize("form", FORMS)
def test_no_order_and_no_form_leaves_the_box(form: str, order: str) -> None:
    """Rows of every size and mean with one massive entry; cotangents along the row, or massive in one component."""
    rng, total = np.random.default_rng(6), SUMS[order]
    for d in (1, 2, 5, 64, 257):
        x, h = rng.normal(size=(2, 30, d)) * 10.0 ** rng.uniform(-3, 3, (2, 30, 1))
        x[np.arange(30), rng.integers(d, size=30)] *= 10.0 ** rng.uniform(0, 4, 30)
        x += rng.normal(size=(30, 1)) * 10.0 ** rng.uniform(-6, 5, (30, 1))
        h[:10] = abs(h[:10]) * np.sign(x[:10] - x[:10].mean(-1, keepdims=True))
        h[10:20, d // 2] *= 1e3
        x, h = x.astype(np.float32), h.astype(np.float32)
        m = total(x) / np.float32(d)
        r = 1 / np.sqrt(total((x - m) ** 2) / np.float32(d) + np.float32(EPS))
        passed = Gradients.of(x.astype(float), Definition(True, None, None, EPS), Arithmetic.of("float32"))
        low, high = passed.of_input(h.astype(float))
        got = FORMS[form](x, h, m, r, np.float32(d), total)
        assert np.isfinite(high - low).mean() > 0.5  # most rows have a bound
        assert ((low <= got) & (got <= high) | ~np.isfinite(high - low)).all()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_backward_pass_is_named_with_its_evidence(name: str) -> None:
    target, which = WRONG[name]
    finding = check(target, kind="layernorm", eps=EPS, d=24, backward=True)
    assert finding.verdict == "bug", finding
    assert f"backward pass wrong: {which}" in (finding.cause or "")
    assert name in (finding.cause or "")
    assert finding.exact
    assert "  note: the bounds of the derivatives are derived by hand" in str(finding)
    wrong, right, bound = (float(number or 0) for number in (finding.wrong, finding.right, finding.bound))
    assert abs(wrong - right) > bound > 0


def _norm(t: Any, weight: Any) -> Any:
    return t * torch.rsqrt(mean(t * t) + EPS) * weight


THROUGH: dict[str, tuple[Any, str]] = {
    "sum": (lambda x, residual, weight: (_norm(x + residual, weight), x + residual), ""),
    "dropped": (lambda x, residual, weight: (_norm(t := x + residual, weight), t.detach() + 0 * x), "sum.* is dropped"),
    "residual": (lambda x, residual, weight: _norm(x + residual.detach(), weight), "no gradient for the residual"),
    "gain": (lambda x, weight: _norm(x, weight.detach()), "d/dgain: no gradient"),
    "zero gain": (lambda x, weight: _norm(x, weight.abs().log().exp() * weight.sign()), "NaN where the gain is 0"),
    "statistics": (lambda x, weight: (_norm(x, weight), mean(x * x), torch.rsqrt(mean(x * x) + EPS)), ""),
    "mean, dropped": (lambda x, weight: (_norm(x, weight), mean(x).detach() + 0 * x[..., :1]), "the mean: .* dropped"),
}


@pytest.mark.parametrize("name", THROUGH)
def test_every_way_back_is_examined(name: str) -> None:
    target, told = THROUGH[name]
    finding = check(target, kind="rmsnorm", eps=EPS, d=8, backward=True)
    assert re.search(told, finding.cause or ""), finding
    assert (finding.verdict == "rounding") == (not told)


@pytest.mark.parametrize("name", ["automatic", "fused"])
def test_an_output_without_a_gradient_is_accused_where_the_backward_pass_is_asked_for(name: str) -> None:
    def detached(x: Any, gain: Any, bias: Any) -> Any:
        return CORRECT[name](x, gain, bias).detach()

    finding = check(detached, kind="layernorm", eps=EPS, d=8, backward=True)
    assert (finding.cause or "").startswith("no gradient: the output is detached from x, gain and bias")
    assert check(detached, kind="layernorm", eps=EPS, d=8).verdict == "rounding"


class Few(torch.autograd.Function):
    """A backward pass that is wrong for one row, or that forgets the rows beyond whole blocks of a large batch."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, block: int) -> Any:
        ctx.save_for_backward(x, weight)
        ctx.block = block
        return _norm(x, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, weight), grad = ctx.saved_tensors, grads[0]
        root = torch.rsqrt(mean(x * x) + EPS)
        of_x = root * (grad * weight - x * root * mean(grad * weight * x * root))
        if not ctx.block:
            return of_x * (1 if len(x) > 1 else 2), (grad * x * root).sum(0), None
        whole = len(x) // ctx.block * ctx.block if len(x) > 1024 else len(x)
        return of_x, (grad * x * root)[:whole].sum(0), None


@pytest.mark.parametrize(
    ("block", "told"), [(0, "d/dx, only for a batch of one row"), (4, "the first 4096 of 4099 rows")]
)
def test_batches_of_one_row_and_of_an_odd_number_are_tried(block: int, told: str) -> None:
    target = lambda x, weight: Few.apply(x.reshape(-1, x.shape[-1]), weight, block).reshape(x.shape)  # noqa: E731
    assert told in str(check(target, kind="rmsnorm", eps=EPS, d=16, backward=True))


@pytest.mark.parametrize("short", [True, False])
def test_statistics_of_a_half_format_are_noted_where_the_gradient_of_the_gain_alone_shows_them(short: bool) -> None:
    def norm(x: Any, gain: Any, bias: Any) -> Any:
        wide = x.float()
        m, r = mean(wide), torch.rsqrt(mean((wide - mean(wide)) ** 2) + EPS)
        used = (wide - (m.to(x.dtype) if short else m)) * (r.to(x.dtype).float() if short else r)
        moved = (gain.float() - gain.detach().float()) * used.detach()
        return ((wide - m) * r * gain.detach().float() + bias.float() + moved).to(x.dtype)

    finding = check(norm, kind="layernorm", eps=EPS, d=16, dtype="bfloat16", backward=True)
    assert finding.verdict == "rounding", finding
    assert ("statistics kept in bfloat16 for d/dgain" in finding.notes) == short


def test_a_gradient_that_only_some_layouts_have_is_missed() -> None:
    target = lambda x, weight: _norm(x, weight).detach() if x.is_contiguous() else _norm(x, weight)  # noqa: E731
    assert "no gradient: the output on contiguous" in str(check(target, kind="rmsnorm", eps=EPS, d=8, backward=True))


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_boxes_hold_the_proved_gradient_and_are_as_narrow_in_floats(dtype: str, centered: bool) -> None:
    """Extended floats serve to search, fractions decide: their boxes differ by the margin of the floats alone."""
    rng = np.random.default_rng(4)
    for d, size in ((1, 1.0), (2, 0.0), (17, 3.0), (17, 1e3)):
        x, cotangent = (
            rounded(v, dtype).astype(float) for v in (rng.normal(size=(3, d)) + size, rng.normal(size=(3, d)))
        )
        layer = Definition(centered, rng.normal(size=d).astype(REAL), None, EPS)
        exact = Gradients.exactly(x.tolist(), layer, Arithmetic.of(dtype))
        assert exact is not None
        low, high = (end.astype(REAL) for end in exact.of_input(cotangent))
        gradient = lg.derivatives.jacobian_transpose_product(
            x.astype(REAL), cotangent.astype(REAL), layer.gain, eps=EPS, centered=centered
        )
        assert (low < gradient).all()
        assert (gradient < high).all()
        floats = Gradients.of(x, layer, Arithmetic.of(dtype))
        for ends, wanted in (
            (floats.of_input(cotangent), (low, high)),
            (floats.of_gain(cotangent), exact.of_gain(cotangent)),
            (floats.of_bias(cotangent), exact.of_bias(cotangent)),
        ):
            width = (wanted[1] - wanted[0]).astype(REAL)
            for end, other in zip(ends, wanted, strict=True):
                # A deviation is off by (d + 8) 2⁻⁶⁴ max|x|, where the box reaches at least 3u max|x|, u ≥ 2⁻⁵³; a
                # fraction becomes a float64 within 2⁻⁵³, where the box is 2 (3 + 32)u wide.
                assert (abs(end - other.astype(REAL)) <= ((d + 8) * 2.0**-11 / 3 + 1 / 70) * width).all()


def test_no_bound_exists_where_the_variance_vanishes() -> None:
    layer = Definition(True, None, None, 0.0)
    assert Gradients.exactly([[3.0, 3.0]], layer, Arithmetic.of("float32")) is None
    low, high = Gradients.of([[3.0, 3.0]], layer, Arithmetic.of("float32")).of_input([[1.0, 2.0]])
    assert not np.isfinite(high - low).any()
