"""What an author reads where nothing is proved: his line and what it does, and no word of ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lngeom.check import prove_target


def over_all(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return weight * x * torch.rsqrt(sum(x[..., k : k + 1] ** 2 for k in range(x.shape[-1])) / x.shape[-1] + eps)


def of_sizes(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return weight * x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / torch.tensor(x.shape)[-1] + eps)


def by_step(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    few = x[..., :: max(1, x.shape[-1] // 4096)]
    return weight * x * torch.rsqrt(few.pow(2).mean(-1, keepdim=True) + eps)


def too_long(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    if x.shape[-1] > 4096:
        raise ValueError(f"{x.shape[-1]} columns")
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def looped(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    total = sum(x[..., k : k + 1] ** 2 for k in range(x.shape[-1]))
    return weight * x / np.sqrt(total / x.shape[-1] + np.float32(eps))


class Limited(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x, weight, r), g = ctx.saved_tensors, gradients[0]
        if g.abs().max() > 100:
            g = g / 2
        gw = g * weight
        return r * gw - x * r**3 * (gw * x).mean(-1, keepdim=True), (g * x * r).flatten(0, -2).sum(0)


@pytest.mark.parametrize(
    ("function", "framework", "told"),
    [
        (over_all, "torch", "a size cannot be interpreted as an integer (test_reasons.py:"),
        (of_sizes, "torch", "what this line does cannot be traced (test_reasons.py:"),
        (by_step, "torch", "(test_reasons.py:"),
        (looped, "numpy", "a size cannot be interpreted as an integer (test_reasons.py:"),
    ],
)
def test_a_reason_has_the_line_and_no_name_of_ours(function: Callable[..., Any], framework: str, told: str) -> None:
    proof = prove_target(function, "norm", framework, kind="rmsnorm")
    assert proof.status == "not traced"
    assert told in proof.text
    assert not {"KeyError", "'Size'", "part_d"} & set(proof.text.split())


def test_a_branch_on_a_cotangent_is_called_one() -> None:
    proof = prove_target(lambda x, weight: Limited.apply(x, weight), "norm", "torch", kind="rmsnorm", backward=True)
    assert "a branch on data (test_reasons.py:" in proof.gradients + proof.text


def test_a_size_that_is_rejected_limits_the_proof() -> None:
    proof = prove_target(too_long, "norm", "torch", kind="rmsnorm")
    assert (proof.status, proof.dimensions, proof.passes()) == ("proved", "d ≤ 4096", True)
    assert any(text.startswith("where d > 4096, which it rejects (") for text in proof.unexamined)
