"""Weights and logits of two forms of one model."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from empirical.check import compare_weights
from lngeom.cli import main


def test_a_scaled_weight_is_found_beside_norms_that_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    network: Any = LlamaForCausalLM(LlamaConfig(vocab_size=16, **sizes))
    network.save_pretrained(tmp_path / "source")
    network.save_pretrained(tmp_path / "same")
    network.model.layers[1].mlp.down_proj.weight.data *= 1.01
    network.save_pretrained(tmp_path / "port")
    assert main(["doctor", str(tmp_path / "source"), str(tmp_path / "same")]) == 0
    assert "weights are the same, within rounding" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "source"), str(tmp_path / "port")]) == 1
    out = capsys.readouterr().out
    assert "norms compute the same" in out
    assert "model.layers.1.mlp.down_proj.weight: multiplied by 1.01" in out
    assert "logits differ by up to" in out


def test_quantization_is_told_from_a_factor() -> None:
    torch.manual_seed(0)
    source = torch.nn.Linear(64, 64, bias=False)
    rounded, scaled = copy.deepcopy(source), copy.deepcopy(source)
    step = float(source.weight.detach().abs().max()) / 7
    rounded.weight.data = (source.weight.data / step).round() * step
    scaled.weight.data = 1.05 * rounded.weight.data
    ids = torch.zeros(1, 64)
    assert compare_weights(source, rounded, ids, quantized=True).different == ()
    assert compare_weights(source, rounded, ids).different != ()
    assert "multiplied by 1.0" in compare_weights(source, scaled, ids, quantized=True).different[0][1]
