"""A backward pass is proved to be the derivative of its own forward pass, or refuted at a point."""

from typing import Any

import pytest
import torch

from empirical.proving import Proof, prove_target
from proofs.certificates import recheck


class LayerNorm(torch.autograd.Function):
    """Apex' form; the switches of `wrong` are usual mistakes."""

    wrong = ""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, eps: float) -> Any:  # type: ignore[override]
        mean = x.mean(-1, keepdim=True)
        scale = torch.rsqrt((x - mean).pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, mean, scale)
        return (x - mean) * scale * weight + bias

    @classmethod
    def gradients(cls, ctx: Any, v: Any) -> tuple[Any, ...]:
        x, weight, mean, scale = ctx.saved_tensors
        y, inner = (x - mean) * scale, v * weight
        along, whole = (y * inner).mean(-1, keepdim=True), inner.mean(-1, keepdim=True)
        whole = 0 if cls.wrong == "mean" else whole
        by_weight = v * y * weight if cls.wrong == "gain twice" else v * y
        axes = (0,) if cls.wrong == "one axis" else (0, 1)
        rows = by_weight.mean(axes) if cls.wrong == "mean over rows" else by_weight.sum(axes)
        return (inner - y * along - whole) * scale, rows, v.reshape(-1, v.shape[-1]).sum(0), None

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:  # type: ignore[override]
        return LayerNorm.gradients(ctx, v)


class FromOutput(torch.autograd.Function):
    """RMSNorm that divides its own output by the gain to find the normalized row again."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, eps: float) -> Any:  # type: ignore[override]
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        y = x * scale * weight
        ctx.save_for_backward(y, weight, scale)
        return y

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:  # type: ignore[override]
        y, weight, scale = ctx.saved_tensors
        normal = y / weight
        inner = v * weight
        return scale * (inner - normal * (normal * inner).mean(-1, keepdim=True)), (v * normal).sum((0, 1)), None


def proof(wrong: str = "") -> Proof:
    def backward(ctx: Any, v: Any) -> Any:
        return kind.gradients(ctx, v)

    kind: Any = type("Norm", (LayerNorm,), {"wrong": wrong, "backward": staticmethod(backward)})

    def norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
        return kind.apply(x, weight, bias, eps)

    return prove_target(norm, "norm", "torch", backward=True)


def test_derivatives_are_proved_with_certificates() -> None:
    found = proof()
    assert found.status == "proved"
    assert {one.name: one.status for one in found.derivatives} == dict.fromkeys(("x", "weight", "bias"), "proved")
    assert [data["id"] for data in found.certificates[-3:]] == [
        "user.norm_by_x",
        "user.norm_by_weight",
        "user.norm_by_bias",
    ]
    assert all(recheck(data) for data in found.certificates)


@pytest.mark.parametrize(
    ("wrong", "name", "said"),
    [("mean", "x", "d = 1: x = "), ("gain twice", "weight", "d = "), ("one axis", "weight", "summed over B")],
)
def test_a_wrong_backward_pass_is_refuted(wrong: str, name: str, said: str) -> None:
    found = proof(wrong)
    by = {one.name: one for one in found.derivatives}
    assert by[name].status == "refuted"
    assert said in by[name].text
    assert all(one.status == "proved" for one in found.derivatives if one.name != name)
    assert not found.passes()


def test_what_reads_other_rows_or_divides_by_the_gain_is_not_proved() -> None:
    rows = proof("mean over rows")
    assert rows.derivatives == ()
    assert any("a mean over B, L" in note for note in rows.notes)

    def norm(x: Any, weight: Any, eps: float = 1e-5) -> Any:
        return FromOutput.apply(x, weight, eps)

    found = prove_target(norm, "norm", "torch", backward=True)
    assert {one.text for one in found.derivatives} == {"it is not proved that weight ≠ 0"}
