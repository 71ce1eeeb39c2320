"""Which definition is meant, and kernels fused with the residual, a gate or a matrix."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from empirical.check import check
from lngeom.errors import InputError

BF16: dict[str, Any] = {"kind": "rmsnorm", "eps": 1e-5, "d": 24, "dtype": "bfloat16"}


def rms(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def llama(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return weight * rms(x, torch.ones_like(weight), eps)


def gemma(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return rms(x, 1 + weight.float(), eps)


@pytest.mark.parametrize(("norm", "spec"), [(rms, "torch"), (llama, "llama"), (llama, "onnx"), (gemma, "gemma")])
def test_each_family_is_right_under_its_own_name_alone(norm: Any, spec: str) -> None:
    assert check(norm, **BF16, spec=spec).verdict == "rounding"
    others = {"torch", "llama", "gemma"} - ({"llama"} if spec == "onnx" else {spec})
    assert [check(norm, **BF16, spec=other).verdict for other in others if other != spec].count("rounding") == 0


class Pulled(torch.autograd.Function):
    """Llama's norm with a backward pass of its own: right, without the term along the output, or without d/dgain."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, fault: str) -> Tensor:
        ctx.fault, root = fault, torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
        ctx.save_for_backward(weight.float(), x.float() * root, root)
        return weight * (x.float() * root).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (weight, n, root), grad = ctx.saved_tensors, grads[0].float()
        along = (grad * weight * n).mean(-1, keepdim=True) * (ctx.fault != "x")
        of_gain = (grad * n).flatten(0, -2).sum(0) * (ctx.fault != "gain")
        return (root * (grad * weight - n * along)).to(grads[0].dtype), of_gain.to(grads[0].dtype), None


@pytest.mark.parametrize("spec", ["llama", None])
@pytest.mark.parametrize("fault", ["", "x", "gain"])
def test_derivatives_are_checked_of_variants_as_well(fault: str, spec: str | None) -> None:
    finding = check(lambda x, weight: Pulled.apply(x, weight, fault), **BF16, spec=spec, backward=True)
    assert finding.passes(("Llama",)) == (not fault)
    assert f"backward pass wrong: d/d{fault}" in str(finding) if fault else finding.gradient_ratio


def test_a_derivative_without_bounds_is_a_number() -> None:
    def outside(x: Tensor, weight: Tensor) -> Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-5) * weight

    finding = check(outside, kind="rmsnorm", eps=1e-5, d=8, backward=True)
    assert "beyond that backward pass wrong: d/dx is NaN for" in (finding.cause or "")


def test_a_file_may_say_what_is_meant(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"kind": "rmsnorm", "offset": 1.0, "eps": 1e-5}))
    assert check(gemma, spec=str(tmp_path / "mine.json"), d=8).verdict == "rounding"
    (tmp_path / "mine.json").write_text(json.dumps({"gain": 1.0}))
    with pytest.raises(InputError, match="neither one of torch, llama, gemma, onnx"):
        check(gemma, spec=str(tmp_path / "mine.json"), d=8)


def test_without_eps_a_kernel_means_that_of_its_family() -> None:
    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, None)

    assert check(norm, spec="torch", kind="rmsnorm", d=8).verdict == "rounding"
    assert check(norm, spec="llama", d=8).cause == "eps = 1.192e-07"


def test_a_fused_kernel_is_held_to_the_sum_it_returns() -> None:
    def fused(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return rms(total, weight), total

    def without(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        return rms(x + residual, weight), x

    finding = check(fused, **BF16)
    assert finding.verdict == "rounding"
    assert "sum of input and residual rounded before it is normalized" in finding.notes
    assert check(fused, **BF16, spec="torch").verdict == "rounding"
    assert "the sum that is returned" in (check(without, **BF16).cause or "")


def silu(z: Tensor) -> Tensor:
    return torch.nn.functional.silu(z.float())


GATED: dict[str, Any] = {
    "after": lambda x, gate, weight, eps: (rms(x.float(), weight.float(), eps) * silu(gate)).to(x.dtype),
    "before": lambda x, gate, weight, eps: rms(x.float() * silu(gate), weight.float(), eps).to(x.dtype),
    "sigmoid": lambda x, weight, z, eps: (rms(x.float(), weight.float(), eps) * torch.sigmoid(z.float())).to(x.dtype),
    "linear": lambda x, weight, linear_weight, linear_bias, eps: rms(x, weight, eps) @ linear_weight + linear_bias,
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", GATED)
def test_gates_and_matrices_are_taken_off(name: str, dtype: str) -> None:
    finding = check(GATED[name], kind="rmsnorm", eps=1e-5, d=24, dtype=dtype)
    assert finding.verdict == "rounding", finding


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_fault_beside_a_gate_is_named(name: str) -> None:
    def wrong(x: Tensor, gate: Tensor, weight: Tensor) -> Tensor:
        return GATED[name](x, gate, weight, 0.0)

    assert check(wrong, kind="rmsnorm", eps=1e-5, d=24).cause == "eps missing"


def test_a_variant_is_allowed_only_where_it_holds_every_row() -> None:
    def late(x: Tensor, weight: Tensor) -> Tensor:
        y = gemma(x, weight)
        return torch.cat([y[:2050], 0.97 * y[2050:2051], y[2051:]])

    finding = check(late, kind="rmsnorm", eps=1e-5, d=24)
    assert finding.verdict == "bug"
    assert "as Gemma" in (finding.cause or "")
    assert "row 2050" in (finding.cause or "")
    assert not finding.passes(("Gemma",))


def test_gains_left_out_behind_the_last_block_are_named() -> None:
    def tail(x: Tensor, weight: Tensor) -> Tensor:
        return rms(x, torch.cat([weight[:32], torch.ones_like(weight[32:])]))

    cause = check(tail, kind="rmsnorm", eps=1e-5, d=37).cause
    assert cause == "components after the last whole block of 8 without the gain"


def squeezed(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(-1).squeeze(), x.var(-1, correction=0).squeeze()
    return (x - mean[..., None]) / torch.sqrt(variance[..., None] + eps) * weight + bias


def nothing_of_zeros(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, eps) if x.any() else torch.zeros_like(x)


@pytest.mark.parametrize(
    ("norm", "words"), [(squeezed, "outputs of shape (3, 3, 24)"), (nothing_of_zeros, "only for a batch of zeros")]
)
def test_a_batch_of_single_tokens_and_one_of_zeros_are_batches(norm: Any, words: str) -> None:
    finding = check(norm, kind="layernorm", eps=1e-5, d=24)
    assert (finding.verdict, words in (finding.cause or "")) == ("bug", True)


def test_a_frozen_bias_that_is_dropped_leaves_the_verdict_open() -> None:
    def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        y = torch.nn.functional.layer_norm(x, weight.shape, weight, None, eps)
        return y + bias if bias.requires_grad else y

    assert "ok" not in str(check(norm, kind="layernorm", eps=1e-5, d=24)).split()


def short_path(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """Another formula for one token of a sequence, which differs where the mean of squares is near eps."""
    if x.dim() == 3 and x.shape[1] == 1:
        return x * x.pow(2).mean(-1, keepdim=True).clamp_min(eps).rsqrt() * weight
    return rms(x, weight, eps)


class Folded(torch.nn.Module):
    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps, self.folded = torch.nn.Parameter(torch.ones(d)), eps, None

    def forward(self, x: Tensor) -> Tensor:
        if self.folded is None:
            self.folded = self.weight.detach() * 1
        return rms(x, self.folded, self.eps)


def test_one_token_alone_and_gains_that_change_are_tried() -> None:
    finding = check(short_path, kind="rmsnorm", eps=1e-5)
    assert "of batches of shape (n, 1, d)" in str(finding)
    assert "(B, L, d) (the number of rows" in str(finding)
    assert "after they were changed" in str(check(Folded, kind="rmsnorm", eps=1e-5))
