"""Conventions of one checkpoint, from its gains and from a text; weights and logits of two forms of one model."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from empirical.check import compare_weights, conventions, fingerprints
from lngeom.cli import main


def documents(count: int) -> torch.Tensor:
    """Numbers that are the next one half the time, else any."""
    rows = [torch.randint(16, (count,))]
    for _ in range(31):
        rows.append(torch.where(torch.rand(count) < 0.5, (rows[-1] + 1) % 16, torch.randint(16, (count,))))
    return torch.stack(rows, -1)


@pytest.fixture(scope="module")
def trained() -> LlamaForCausalLM:
    """A network that has learned how likely it is that the next number follows; its gains are not 1."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=16, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, use_cache=False
    )
    network = LlamaForCausalLM(config)
    for name, weight in network.named_parameters():
        if "norm" in name:
            weight.data.uniform_(0.2, 0.6)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    for _ in range(60):
        ids = documents(32)
        loss = network(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


@pytest.fixture
def network(trained: LlamaForCausalLM) -> LlamaForCausalLM:
    return copy.deepcopy(trained)


torch.manual_seed(1)
BATCHES = [{"input_ids": row[None]} for row in documents(16)]


def shifted(network: Any, part: str, by: float) -> Any:
    for name, weight in network.named_parameters():
        if "norm" in name and part in name:
            weight.data += by
    return network


def test_an_untouched_network_is_not_accused(network: Any) -> None:
    assert conventions(network, BATCHES, least=0.02) == []
    assert list(fingerprints(network)) == []


@pytest.mark.parametrize(
    ("part", "group"), [("", "all norms"), ("post_attention", "model.layers.*.post_attention_layernorm")]
)
@pytest.mark.parametrize(("by", "text"), [(-1.0, "1 + what is stored"), (1.0, "what is stored - 1")])
def test_a_gain_stored_with_another_convention_is_found(
    network: Any, part: str, group: str, by: float, text: str
) -> None:
    best = conventions(shifted(network, part, by), BATCHES, least=0.02)[0]
    assert best.group == group
    assert text in str(best.convention)
    assert best.high < -0.02


def test_an_eps_from_the_wrong_place_is_found(network: Any) -> None:
    for module in network.modules():
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = 0.1
    best = conventions(network, BATCHES, least=0.02)[0]
    assert best.convention.factor < 1


def test_gains_tell_how_they_were_stored(network: Any) -> None:
    norm = network.model.layers[0].input_layernorm
    drawn = torch.linspace(-0.1, 0.1, 32)
    norm.weight.data.copy_(drawn.bfloat16())
    assert list(fingerprints(network)) == []
    norm.weight.data.copy_((1 + drawn).bfloat16().float() - 1)
    network.model.norm.weight.data.fill_(1.0)
    told = {fingerprint.path: fingerprint.what for fingerprint in fingerprints(network)}
    assert "1 + w in bfloat16" in told["model.layers.0.input_layernorm"]
    assert "exactly 1" in told["model.norm"]


def test_a_scaled_weight_is_found_beside_norms_that_agree(
    network: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
