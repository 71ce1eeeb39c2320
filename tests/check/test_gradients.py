from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lngeom as lg
from lngeom.rounding import REAL, Arithmetic, Definition, Gradients, Sample, instead, pulled, rounded, summed
from tests.kernels.derived import derivatives, differentiated, kernel, layer, mean, plain, rms, ruled, square
from tests.kernels.rows import EPS, Row, expected

Rows = Any


def autograd(x: Rows, gain: Rows, bias: Rows) -> Rows:
    v, m = torch.var_mean(x.float(), -1, unbiased=False, keepdim=True)
    return ((x.float() - m) / torch.sqrt(v + EPS) * gain.float() + bias.float()).to(x.dtype)


def optional(x: Rows, weight: Rows) -> Rows:
    return rms(x, 1 if weight is None else weight)


def fourth(h: Rows) -> Rows:
    return (torch.arange(h[..., 0].numel()).reshape(h.shape[:-1]) % 4 == 0)[..., None]


def products(y: Rows, n: Rows, axes: Any) -> Rows:
    return (y * n).sum(axes)


def llama(x: Rows, weight: Rows) -> Rows:
    return weight * rms(x, torch.ones_like(weight))


def raised(*_: Any) -> Any:
    raise ValueError("no derivative")


def of_none(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
    """The derivative by x lacks its second term where no gain is given."""
    gain = torch.ones(x.shape[-1]) if weight is None else weight
    of_x, of_gain = derivatives(x, gain, y)
    return (of_x, of_gain) if weight is not None else (torch.rsqrt(square(x) + EPS) * y, None)


def remembered() -> Callable[..., Any]:
    """An RMSNorm whose backward pass takes a copy of the gain, made when it was first seen."""
    copies: dict[int, Any] = {}

    def rule(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
        _, copy = copies.setdefault(id(weight), (weight, weight.clone()))
        return derivatives(x, copy, y)

    return differentiated(rule)


def clipped(x: Rows, weight: Rows) -> Rows:
    y = rms(x, weight)
    if y.requires_grad:
        y.register_hook(lambda cotangent: cotangent.clamp(-100, 100))
    return y


class Slow(torch.nn.RMSNorm):
    def __init__(self, d: int) -> None:
        super().__init__(d, EPS)
        self.weight.register_post_accumulate_grad_hook(self.halve)

    @staticmethod
    def halve(gain: Any) -> None:
        gain.grad.mul_(0.5)


HALVES, RIGHT = {"dtype": "bfloat16"}, "^ok: .*forward and backward"
# On a CPU PyTorch adds the gradients of gain and bias up in the dtype of the parameters: 256 + 1 = 256.
TOLD = {
    **{f"{name}, {dtype}": Row(norm, RIGHT, {"dtype": dtype}) for dtype in ("float32", "bfloat16") for name, norm in {
           "plain": kernel(plain), "automatic": autograd}.items()},
    "automatic, float16": Row(autograd, RIGHT, {"dtype": "float16"}),
    "module": Row(torch.nn.LayerNorm, RIGHT, {"kind": "layernorm"}),
    "fused": Row(layer, RIGHT),
    "fused, bfloat16": Row(layer, "d/dgain, d/dbias: as if summed over the rows in 16 bits$", HALVES),
    "llama": Row(ruled(lambda x, g: (x, g), llama), RIGHT, HALVES | {"spec": "llama"}),
    "as llama": Row(ruled(lambda x, g: (x, g), llama), r"^variant: [^\n]*as Llama\)$", HALVES),
    "as llama, d/dx": Row(ruled(lambda x, g: (2 * x, g), llama), "beyond that backward pass wrong: d/dx", HALVES),
    "llama, d/dgain": Row(ruled(lambda x, g: (x, 0 * g), llama), "^bug: backward pass wrong: d/dgain",
                          HALVES | {"spec": "llama"}),
    "rows": Row(kernel(lambda h, y, g, n, r: plain(h * fourth(h), y, g, n, r)),
                "d/dx.*zero only in rows 1 to 3 of each 4"),
    "mean": Row(kernel(lambda h, y, g, n, r: r * (h - n * mean(h * n))), "d/dx: mean of the cotangent not subtracted$"),
    "more axes": Row(kernel(plain, lambda y, n, axes: (y * n).sum(0) if len(axes) < 2 else (y * n)[0].sum(0)),
                     r"d/dgain.*only for batches of shape \(n, 1, d\) and batches of three axes, as \(2, n, d\)"),
    "exchanged": Row(kernel(plain, lambda y, n, axes: y.sum(axes), products), "d/dgain, d/dbias: these two exchanged"),
    "two rows": Row(kernel(plain, lambda y, n, axes: (y * n).reshape(-1, 8)[:2].sum(0)),
                    "d/dgain summed over the first 2 of . rows alone"),
    "one row": Row(ruled(lambda x, g: (x * (1 if len(g) > 1 else 2), g)), "d/dx, only for a batch of one row"),
    "blocks": Row(ruled(lambda x, g: (x, g[: len(g) // 4 * 4 if len(g) > 1024 else len(g)])), "4096 of 4099 rows"),
    "sum": Row(lambda x, residual, weight: (rms(x + residual, weight), x + residual), RIGHT),
    "sum dropped": Row(lambda x, residual, weight: (rms(t := x + residual, weight), t.detach() + 0 * x),
                       "sum.* is dropped"),
    "residual": Row(lambda x, residual, weight: rms(x + residual.detach(), weight), "no gradient for the residual"),
    "gain": Row(lambda x, weight: rms(x, weight.detach()), "d/dgain: no gradient"),
    "zero gain": Row(lambda x, weight: rms(x, weight.abs().log().exp() * weight.sign()), "NaN where the gain is 0"),
    "statistics": Row(lambda x, weight: (rms(x, weight), square(x), torch.rsqrt(square(x) + EPS)), RIGHT),
    "mean dropped": Row(lambda x, weight: (rms(x, weight), mean(x).detach() + 0 * x[..., :1]), "the mean: .* dropped"),
    "detached": Row(lambda x, weight, bias: autograd(x, weight, bias).detach(),
                    "^bug: no gradient: the output is detached from x, gain and bias"),
    "one layout": Row(lambda x, w: rms(x, w).detach() if x.is_contiguous() else rms(x, w),
                      "no gradient: the output on contiguous"),
    "outside": Row(lambda x, w: x / (square(x).sqrt() + EPS) * w, "beyond that backward pass wrong: d/dx is NaN for"),
    "raises": Row(kernel(raised), "backward pass wrong: ValueError: no derivative"),
    "no gain": Row(lambda x, weight=None: differentiated(of_none, optional)(x, weight), "d/dx.*only for no gain given"),
    "remembered": Row(remembered(), "d/dx, only for parameters changed in place after an earlier call"),
    "clipped": Row(clipped, "d/dgain, only for cotangents multiplied by 65536"),
    "hooked": Row(Slow, r"d/dgain multiplied by 0\.5, only for what y\.backward\(\) leaves in \.grad"),
    "another shape": Row(kernel(plain, lambda y, n, axes: products(y, n, axes)[:3]), "backward pass wrong: .*Error"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_the_report_on_a_backward_pass_says_what_its_row_says(name: str) -> None:
    finding = expected(TOLD, name, d=8, backward=True)
    assert finding.passes(("Llama",)) == (finding.verdict != "bug")
    if TOLD[name].says == RIGHT:
        assert 0 < (finding.gradient_ratio or 0) <= 1
    elif finding.point.cotangent is not None and not np.isnan(finding.wrong):
        assert finding.exact
        assert "  note        the error bounds for the derivatives are derived by hand" in str(finding)
        assert abs(finding.wrong - finding.right) > finding.bound > 0


PULLS: dict[str, Callable[..., Rows]] = {
    "both correction terms missing": lambda h, y, g, n, r: r * h,
    "gain applied twice": lambda h, y, g, n, r: plain(h * g, y, g, n, r),
    "term along the output divided by d - 1": lambda h, y, g, n, r: r * (h - mean(h) - n * mean(h * n) * 24 / 23),
    "mean of the cotangent subtracted twice": lambda h, y, g, n, r: plain(h, y, g, n, r) - r * mean(h),
    "divided by the root three times": lambda h, y, g, n, r: plain(h, y, g, n, r**3),
}
SUMS: dict[str, Callable[[Rows], Rows]] = {
    "shifted by 1 components": lambda terms: np.roll(terms.sum(0), 1),
    "divided by the number of rows": lambda terms: terms.mean(0),
    "components 12 to 23 zero": lambda terms: terms.sum(0) * (np.arange(24) < 12),
    "summed over the last 5 of 8 rows alone": lambda terms: terms[3:].sum(0),
}
TAKEN = "the output recovered with the gain and bias of other components"
USED: dict[str, Callable[..., Rows]] = {
    f"{TAKEN}, which depend on the row": lambda n, y, g, b: (y - b[(at := np.arange(len(y))[:, None])]) / g[at],
    f"{TAKEN} (of 1 for 0)": lambda n, y, g, b: (y - np.roll(b, -1)) / np.roll(g, -1),
    "the output less the bias": lambda n, y, g, b: y - b,
    "that of row i + 1 for row i": lambda n, y, g, b: np.roll(n, -1, 0),
}


def test_what_came_out_instead_of_a_derivative_is_named() -> None:
    rng = np.random.default_rng(5)
    x, y, (g, b) = rng.normal(size=(8, 24)), rng.normal(size=(8, 24)), rng.uniform(0.5, 2, (2, 24))
    base, bound = Definition(True, g.astype(REAL), b.astype(REAL), EPS), np.full((8, 24), 1e-9)
    output = base.output(Sample(x)).astype(float)
    n, r = (output - b) / g, 1 / np.sqrt(x.var(-1, keepdims=True) + EPS)
    for told, pull in PULLS.items():
        got = pull(*map(torch.as_tensor, (y * g, y, g, n, r))).numpy()
        assert str(pulled(x, y, got, bound, base)) == str(told)
    for told, total in SUMS.items():
        assert str(summed(y * n, total(y * n), bound[0])) == str(told)
    for told, taken in USED.items():
        assert str(instead(taken(n, output, g, b), x, base, 2.0**-50)) == str(told)


def ordered(key: Any) -> Any:
    """A sum one after another, in the order of `key`."""
    return lambda a: np.cumsum(np.take_along_axis(a, np.argsort(key(a), -1), -1), -1, dtype=a.dtype)[..., -1:]


ORDERS = {"upwards": ordered(lambda a: a), "downwards": ordered(lambda a: -a), "by size": ordered(lambda a: -abs(a))}
FORMS: dict[str, Callable[..., Any]] = {
    "normalized": lambda x, h, m, r, d, s: r * (h - s(h) / d - (x - m) * r * (s(h * ((x - m) * r)) / d)),
    "multiplied first": lambda x, h, m, r, d, s: r / d * (d * h - s(h) - (x * r - m * r) * s(h * (x * r - m * r))),
    "multiplied out": lambda x, h, m, r, d, s: (
        r * h + (b := (s(h) * m - s(h * x)) * r * r * r / d) * x + (-b * m - s(h) * r / d)
    ),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", FORMS)
def test_no_order_and_no_form_leaves_the_box(form: str, order: str) -> None:
    """Rows of every size and mean with one massive entry; cotangents along the row, or massive in one component."""
    rng, total = np.random.default_rng(6), ORDERS[order]
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
