import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lngeom.empirical.models import norms, sites_of

from ..conftest import ARCHITECTURES, VOCABULARY, WIDTH, tiny_model

D = 12


class HandWritten(nn.Module):
    """An RMSNorm as people write it, with a gain of its own name; `wrong` changes one thing."""

    def __init__(self, wrong: str = "", eps: float = 3e-6) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.ones(D))
        self.wrong, self.small = wrong, eps

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Any:
        if self.wrong == "fused":
            assert residual is not None
            x = x + residual
        size = x.abs().mean(-1, keepdim=True) if self.wrong == "absolute" else x.pow(2).mean(-1, keepdim=True)
        if self.wrong == "no root":
            return x / (size + self.small) * self.g
        root = size.sqrt() + self.small if self.wrong == "outside" else (size + self.small).sqrt()
        if self.wrong == "squared gain":
            return x / root * self.g**2
        return x / root * (self.g + 1 if self.wrong == "one more" else self.g)


class ChannelsFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.weight, self.bias = self.norm.weight, self.norm.bias
        del self.norm

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x.movedim(1, -1), (D,), self.weight, self.bias, 1e-6).movedim(-1, 1)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_norms_of_known_architectures_are_read_right(architecture: str) -> None:
    """Alone and in a pass they are the same; kind, ε and offset by another reading: class and attributes."""
    model = tiny_model(architecture)
    batch = {"input_ids": torch.arange(3, 13).reshape(2, 5) % VOCABULARY}
    sites = sites_of(model)
    assert sites == sites_of(model, batch)
    for site in sites:
        module = model.get_submodule(site.path)
        kind = "layernorm" if isinstance(module, nn.LayerNorm) else "rmsnorm"
        eps = getattr(module, "eps", None) or module.variance_epsilon
        layer = next((int(part) for part in site.path.split(".") if part.isdigit()), None)
        expected = (kind, eps, WIDTH, float(architecture == "gemma"), layer)
        assert (site.kind, site.eps, site.d, site.gain_offset, site.layer) == expected
    heads = [path for path, _ in model.named_modules() if path.endswith(("q_norm", "k_norm"))]
    assert {norm.path for norm in norms(model).found} == {*heads, *(site.path for site in sites)}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.LayerNorm(D), ("layernorm", 1e-5, "inside", -1, "weight", 0.0, "bias")),
        (nn.LayerNorm(D, eps=0.5, bias=False), ("layernorm", 0.5, "inside", -1, "weight", 0.0, None)),
        (nn.LayerNorm(D, elementwise_affine=False), ("layernorm", 1e-5, "inside", -1, None, 0.0, None)),
        (nn.RMSNorm(D), ("rmsnorm", 2.0**-23, "inside", -1, "weight", 0.0, None)),
        (HandWritten(), ("rmsnorm", 3e-6, "inside", -1, "g", 0.0, None)),
        (HandWritten("one more", 0.0), ("rmsnorm", 0.0, "inside", -1, "g", 1.0, None)),
        (HandWritten("outside"), ("rmsnorm", 3e-6, "outside", -1, "g", 0.0, None)),
        (ChannelsFirst(), ("layernorm", 1e-6, "inside", 1, "weight", 0.0, "bias")),
    ],
)
def test_what_a_norm_computes_is_read_off_its_outputs(module: nn.Module, expected: tuple[Any, ...]) -> None:
    before = {name: value.clone() for name, value in module.state_dict().items()}
    (norm,) = norms(module).found
    # Read off where the module does not keep it as a number: ε is 1/r² of small rows. The factor r of a row is right to
    # the (d + 8)·2⁻²⁴ of a sum of d squares and the roundings around it, and so is the gain that it is read with.
    assert norm.eps == pytest.approx(expected[1], rel=4 * (D + 8) * 2.0**-24, abs=0)
    seen = (norm.kind, norm.placement, norm.axis, norm.gain, norm.gain_offset, norm.bias)
    assert seen == (expected[0], *expected[2:])
    assert all(torch.equal(value, module.state_dict()[name]) for name, value in before.items())


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (nn.BatchNorm1d(D), "at best"),
        (nn.GroupNorm(1, D), "at best"),
        (nn.PReLU(D), "at best"),
        (nn.LayerNorm([2, D]), r"parameters of shape \(2, 12\)"),
        (HandWritten("absolute"), "at best"),
        (HandWritten("no root"), "at best"),
        (HandWritten("squared gain"), "gain is neither 1 nor w nor 1 \\+ w"),
        (HandWritten("fused"), "a fused rmsnorm with eps 3e-06"),
    ],
)
def test_what_is_no_norm_of_one_vector_is_refused_with_its_reason(module: nn.Module, reason: str) -> None:
    listed = norms(module)
    assert listed.found == ()
    (other,) = listed.others
    assert re.search(reason, other.reason), other.reason


class Inline(nn.Module):
    """Uses its norms as models do: a function, a norm called twice, one called with a gate, one never called."""

    def __init__(self) -> None:
        super().__init__()
        self.twice, self.never, self.gated = nn.LayerNorm(D), nn.LayerNorm(D), HandWritten()

    def forward(self, x: Tensor) -> Tensor:
        x = self.twice(self.twice(x)) + nn.functional.layer_norm(x, (D,))
        return self.gated(x, x)


def test_a_pass_says_what_is_called_and_how_often() -> None:
    model = Inline().train()
    listed = norms(model, torch.randn(2, 3, D))
    assert [(norm.path, norm.calls) for norm in listed.found] == [("twice", 2), ("never", 0)]
    assert [site.path for site in listed.sites] == ["twice"]
    (gated,) = listed.others
    assert "2 tensors" in gated.reason
    assert model.training
    assert model.never.training


class Gated(nn.Module):
    """As Zamba 2 with `after` false, and in groups; as Qwen3-Next otherwise."""

    def __init__(self, size: int, *, after: bool) -> None:
        super().__init__()
        self.weight, self.size, self.after, self.eps = nn.Parameter(torch.ones(D)), size, after, 1e-5

    def forward(self, x: Tensor, gate: Tensor | None = None) -> Tensor:
        factor = 1.0 if gate is None else nn.functional.silu(gate)
        groups = (x if self.after else x * factor).unflatten(-1, (-1, self.size))
        normal = (groups * (groups.square().mean(-1, keepdim=True) + self.eps).rsqrt()).flatten(-2)
        return self.weight * normal * (factor if self.after else 1.0)


@pytest.mark.parametrize(
    ("module", "inputs", "told"),
    [
        (Gated(D, after=True), 2, "a gated rmsnorm with eps 1e-05: it multiplies its output by silu(gate)"),
        (Gated(D, after=False), 2, "a gated rmsnorm with eps 1e-05: it normalizes x times silu(gate)"),
        (Gated(D // 2, after=False), 2, f"gated rmsnorm of each {D // 2} of {D} components with eps 1e-05: it"),
        (Gated(D // 2, after=True), 1, f"rmsnorm of each {D // 2} of {D} components with eps 1e-05"),
    ],
)  # fmt: skip
def test_a_norm_with_a_gate_or_of_groups_is_told(module: nn.Module, inputs: int, told: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = module

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(*[x] * inputs)

    listed = norms(Model(), torch.randn(2, 3, D))
    assert not listed.found
    assert told in listed.others[0].reason


def test_a_module_that_the_pass_contradicts_is_refused() -> None:
    layer = nn.LayerNorm(D)
    layer.register_forward_hook(lambda *seen: seen[-1].mul(1 + 2.0**-12))
    listed = norms(nn.Sequential(layer), torch.randn(4, D))
    assert listed.found == ()
    assert "times its bound away in the pass" in listed.others[0].reason


class Holding(nn.Module):
    """An RMSNorm whose ε stands in an object."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.weight, self.held = nn.Parameter(torch.ones(16)), {"eps": eps}

    def forward(self, x: Any) -> Any:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.held["eps"])


def test_norms_of_one_class_that_differ_are_read_apart() -> None:
    assert [norms(Holding(eps)).found[0].eps for eps in (1e-5, 1e-3)] == [1e-5, 1e-3]
