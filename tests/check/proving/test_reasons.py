"""What an author reads where nothing is proved: his line and what it does, and no word of ours."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from lngeom.check import prove_target
from tests.kernels.derived import derivatives, differentiated


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


def limited(x: Any, weight: Any, g: Any, _: Any) -> Any:
    return derivatives(x, weight, g / 2 if g.abs().max() > 100 else g)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (over_all, "a loop over components or rows of x cannot be followed for every d (test_reasons.py:"),
        (
            lambda x: x.reshape(-1, 8, 16).view(x.shape),
            "an axis of the fixed length 8 is made, and the proof is for every d (test_reasons.py:",
        ),
        (of_sizes, "what this line does cannot be traced (test_reasons.py:"),
        (by_step, "(test_reasons.py:"),
    ],
)
def test_a_reason_has_the_line_and_no_name_of_ours(function: Callable[..., Any], told: str) -> None:
    proof = prove_target(function, "norm", "torch", kind="rmsnorm")
    assert proof.status == "not traced"
    assert told in proof.text
    assert not {"KeyError", "'Size'", "part_d"} & set(proof.text.split())


def test_a_branch_on_a_cotangent_is_called_one() -> None:
    proof = prove_target(differentiated(limited), "norm", "torch", kind="rmsnorm", backward=True)
    assert "a branch on data (test_reasons.py:" in proof.gradients + proof.text


def test_a_size_that_is_rejected_limits_the_proof() -> None:
    proof = prove_target(too_long, "norm", "torch", kind="rmsnorm")
    assert (proof.status, proof.dimensions, proof.passes()) == ("proved", "d ≤ 4096", True)
    assert any(text.startswith("where d > 4096, which it rejects (") for text in proof.unexamined)
