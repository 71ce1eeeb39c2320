"""Kernels called in every usual way, right and wrong; what is no norm of rows is refused by name."""

import re
from typing import Any

import pytest
import torch

from empirical.check import called, check
from lngeom.errors import InputError

KERNELS = """
import torch
def norm(x, weight, eps): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
def rms_heads(x, weight, eps, num_heads): return norm(x, weight, eps)
def rms_groups(x, weight, num_heads, eps): return norm(x, weight, eps)
def rms_out(out, x, weight, eps): out.copy_(norm(x, weight, eps))
def rms_in_place(x, weight, eps): x.copy_(norm(x, weight, eps))
def rms_norm_(x, weight, eps): return x.copy_(norm(x, weight, eps))
def fused_add_rms_norm(input, residual, weight, eps): input.copy_(norm(residual.add_(input), weight, eps))
def rms_sum_first(x, residual, weight, eps): return x + residual, norm(x + residual, weight, eps)
def rms_offset(x, weight, eps, offset=0.0): return norm(x, weight + offset, eps)
def rms_weight_first(weight, x, eps=1e-6): return norm(x, weight, eps)
def rms_then_residual(x, residual, weight, eps): return norm(x, weight, eps) + residual
def rms_twice(x, residual, weight, eps): return norm(x, weight, eps) + 1.001 * residual
def rms_out_part(out, x, weight, eps): out[..., :-1].copy_(norm(x, weight, eps)[..., :-1])
def rms_quant(x, weight, eps): return (norm(x, weight, eps) * 8).round().to(torch.int8), 8
def rms_of_own_memory(x, weight, eps):
    if weight.dtype == torch.float16: weight = torch.cat([weight, weight]).view(torch.float32)
    return norm(x, weight, eps)
class RMSConfigured(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.ones(cfg.hidden_size)), cfg.rms_norm_eps
    def forward(self, x): return norm(x, self.weight, self.eps)
class RMSWithResidual(RMSConfigured):
    def forward(self, x, residual=None): return norm(x, self.weight, self.eps)
def layer(x, weight=None, bias=None, eps=1e-6):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight if bias is not None else None, bias, eps)
def rms_statistics(x, weight, eps):
    root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (x * root * weight).double(), root, torch.zeros_like(root)
library = torch.library.Library("lngeom_test", "FRAGMENT")
library.define("rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor")
library.impl("rms_norm", lambda x, weight, eps=1e-6: norm(x, weight, eps), "CompositeExplicitAutograd")
rms_op = torch.ops.lngeom_test.rms_norm
"""
FORMS = {
    "rms_out": "ok", "rms_in_place": "note: works in place", "rms_norm_": "note: works in place", "rms_op": "ok",
    "fused_add_rms_norm": "ok", "rms_sum_first": "ok", "rms_weight_first": "PROVED:.*ok", "RMSConfigured": "PROVED",
    "rms_then_residual": "ok.*note: the residual is added after the norm", "rms_twice": "the residual is not added",
    "rms_offset": "PROVED:.*ok",
    "rms_out_part": "bug: NaN or inf", "rms_of_own_memory": "ok.*reads gain and bias of float16 as if .* of float32",
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("forms") / "kernels_of_every_call_form.py"
    file.write_text(KERNELS)
    return str(file)


@pytest.mark.parametrize("name", FORMS)
def test_every_call_form_has_its_verdict(name: str, kernels: str) -> None:
    finding = check(f"{kernels}:{name}", kind="rmsnorm", eps=1e-6, d=16)
    assert re.search(FORMS[name], str(finding), re.DOTALL), finding
    assert ("ok" in str(finding)) == ("bug" not in str(finding))


@pytest.mark.parametrize(
    ("name", "told"), [("rms_groups", "num_heads.*--call"), ("rms_heads", "num_heads"), ("rms_quant", "of torch.int8")]
)
def test_what_is_not_known_is_refused_by_name(name: str, told: str, kernels: str) -> None:
    with pytest.raises(InputError, match=told):
        check(f"{kernels}:{name}", kind="rmsnorm", eps=1e-6, d=16)


def test_an_expression_says_how_a_kernel_is_called(kernels: str) -> None:
    told: dict[str, Any] = {"kind": "rmsnorm", "eps": 1e-6, "d": 16}
    assert check(called(kernels, "rms_heads(x, w, eps, num_heads=8)"), **told).verdict == "rounding"
    assert check(called(kernels, "rms_heads(x, w, 0.0, num_heads=8)"), **told).cause == "eps missing"
    for text, why in (
        ("rms_heads(x, w, q)", "'q', which is neither"),
        ("torch.ones(3)", "no x"),
        ("a b", "not a Python express"),
    ):
        with pytest.raises(InputError, match=why):
            called(kernels, text)
    assert torch.is_tensor(called(kernels, "norm(x, 1, eps)")(torch.ones(2, 3), 1e-6))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "RMSWithResidual",
            "ok.*not examined in floats: residual other than None, the backward pass, rows of float64, bfloat16",
        ),
        ("layer", "bug: gain missing; only for no bias given"),
        (
            "rms_statistics",
            "ok.*note: outputs are of float64 for rows of float32.*not examined in floats: output 3, the backward pass",
        ),
    ],
)
def test_what_is_left_at_its_default_is_tried_or_said(name: str, told: str, kernels: str) -> None:
    kind = "layernorm" if name == "layer" else "rmsnorm"
    finding = check(f"{kernels}:{name}", kind=kind, eps=1e-6, d=16)
    assert re.search(told, str(finding), re.DOTALL), finding
