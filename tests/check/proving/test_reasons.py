"""What an author reads where nothing is proved: his line and what it does, and no word of ours."""

import re
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


def in_blocks(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return weight * x * torch.rsqrt(sum(p.pow(2).sum(-1, keepdim=True) for p in x.split(256, -1)) / x.shape[-1] + eps)


def by_leaf(x: Any, weight: Any, g: Any, _: Any) -> Any:
    half = g / 2
    return derivatives(x, weight, g if x.is_leaf else half)


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
        (in_blocks, "an array of shape (B, L, d) is split along axis -1 into pieces of 256 (test_reasons.py:"),
        (
            lambda x: torch.cat([x, -x], -1)[..., : x.shape[-1]],
            "arrays are put together that are not the parts of one row in order (test_reasons.py:",
        ),
        (lambda x: torch.nn.functional.softplus(x, beta=2), "softplus is called in a way that is not traced (test_"),
        (lambda x: x[..., None] + x.mean(-1), "shapes (B, L, d, 1) and (B, L) do not broadcast (test_reasons.py:"),
    ],
)
def test_a_reason_has_the_line_and_no_name_of_ours(function: Callable[..., Any], told: str) -> None:
    proof = prove_target(function, "norm", "torch", kind="rmsnorm")
    assert proof.status == "not traced"
    assert told in re.sub(r"(?<=py:).*", "", proof.text)  # the line may be the one that has what is told
    assert not {"KeyError", "'Size'", "part_d"} & set(proof.text.split())


def test_a_fault_of_a_backward_pass_is_at_its_own_line() -> None:
    proof = prove_target(differentiated(by_leaf), "norm", "torch", kind="rmsnorm", backward=True)
    line = by_leaf.__code__.co_firstlineno + 2
    assert f"it looks at is_leaf (test_reasons.py:{line})" in proof.gradients


def clamped(x: Any, weight: Any, g: Any, _: Any) -> Any:
    return derivatives(x, weight, g.clamp(-1e4, 1e4))


def test_a_clamp_that_a_proof_cannot_follow_is_named() -> None:
    proof = prove_target(differentiated(clamped), "norm", "torch", kind="rmsnorm", backward=True)
    told = "not proved: no proof was found: it has a clamp or an absolute value (test_reasons.py:"
    assert f"{told}{clamped.__code__.co_firstlineno + 1}: return derivatives(" in proof.gradients


def test_of_functions_without_known_derivatives_none_is_proved() -> None:
    def gated(x: Any, gate: Any, weight: Any, eps: float = 1e-6) -> Any:
        return weight * torch.nn.functional.silu(gate) * torch.nn.functional.rms_norm(x, x.shape[-1:], None, eps)

    proof = prove_target(gated, "norm", "torch", kind="rmsnorm", backward=True)
    assert proof.gradients.endswith("not proved: nothing is known of the derivative of silu")


def test_a_branch_on_a_cotangent_is_called_one() -> None:
    proof = prove_target(differentiated(limited), "norm", "torch", kind="rmsnorm", backward=True)
    assert "a branch on data (test_reasons.py:" in proof.gradients + proof.text


def test_a_size_that_is_rejected_limits_the_proof() -> None:
    proof = prove_target(too_long, "norm", "torch", kind="rmsnorm")
    assert (proof.status, proof.dimensions, proof.passes()) == ("proved", "d ≤ 4096", True)
    assert any(text.startswith("where d > 4096, which it rejects (") for text in proof.unexamined)
