"""Norm layers with their numbers fused to them, and the layer itself wherever its bits are not certain.

Which pass runs what does not depend on a compiler, so that nothing is compiled here.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from empirical.models import NormSite, sites_of
from empirical.observe import Observer, _observer

from ..conftest import WIDTH as D, tiny_model
from .test_oracle import IDS


class Norm(nn.Module):
    """RMSNorm, times what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.eps, self.weight, self.factor = 1e-5, nn.Parameter(torch.rand(D) + 0.5), [1.0]

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)) * self.factor[0]


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each layer that is measured, whether its numbers came with its output."""
    monkeypatch.setattr("empirical.observe._compiled._kernel", lambda function: function)
    seen, sketch = [], _observer.sketch

    def watched(*arguments: Any, numbers: Tensor | None = None, **options: Any) -> Any:
        seen.append(numbers is not None)
        return sketch(*arguments, numbers=numbers, **options)

    monkeypatch.setattr(_observer, "sketch", watched)
    return seen


def watching(layer: nn.Module) -> Observer:
    site = NormSite("0", None, "final", "rmsnorm", 1e-5, D)
    return Observer(nn.Sequential(layer), [site], directions=2, compiled=True)


@pytest.mark.parametrize(("architecture", "whole"), [("llama", True), ("gpt2", False)])
def test_a_measured_pass_has_the_bits_of_a_bare_one(architecture: str, whole: bool, fused: list[bool]) -> None:
    model, ids = tiny_model(architecture), torch.tensor(IDS)
    sites = sites_of(model)
    with torch.inference_mode():
        bare = model(ids).last_hidden_state
        with Observer(model, sites, directions=2, compiled=True) as observer:
            measured = [model(ids).last_hidden_state for _ in range(2)]
    assert all(torch.equal(bare, each) for each in measured)
    assert fused == [whole] * 2 * len(sites), "PyTorch's LayerNorm is one operator, with nothing to fuse"
    assert len(observer.states) == 2 * len(sites)
    assert not any("forward" in vars(module) for module in model.modules())


def test_the_layer_itself_runs_where_it_is_not_as_traced(fused: list[bool]) -> None:
    layer, x, hooked = Norm(), torch.randn(2, 5, D), []
    layer.register_forward_hook(lambda *_: hooked.append(True))
    with watching(layer) as observer, torch.no_grad():
        model = observer._model
        model(x)
        layer.eps = 1.0  # seen before the kernel runs
        model(x)
        layer.eps = 1e-5
        with torch.enable_grad():
            assert model(x).requires_grad
        layer.factor[0] = 3.0  # nothing tells of it, but the first pass of a shape
        y = model(x[:1])
        model(x.mT.contiguous().mT)
    assert torch.equal(y, layer(x[:1]))
    assert fused == [True, False, False, False, False]
    assert len(hooked) == 1 + len(fused), "tracing calls no hook"


class Branching(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if x[0, 0] > 0 else -x)


class Overwriting(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.mul_(2.0))


@pytest.mark.parametrize(
    ("layer", "whole"),
    [(nn.RMSNorm(D), True), (Branching(), False), (Overwriting(), False)],
    ids=lambda each: type(each).__name__,
)
def test_only_what_computes_from_its_input_alone_is_fused(layer: nn.Module, whole: bool, fused: list[bool]) -> None:
    x = torch.rand(10, D)
    expected = layer(x.clone())
    with watching(layer) as observer, torch.no_grad():
        assert torch.equal(observer._model(x), expected)
    assert fused == [whole]
