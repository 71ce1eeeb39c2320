"""Tiny networks of every family with gains that look trained, one of no family, and texts for them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import nn

from lngeom.empirical.folding import Fold, compare, sample_inputs

from .conftest import SHARED, VOCABULARY, WIDTH, tiny_config

ROUNDING = 100 * 10 * 2.0**-24
"""Nats a token: log-probabilities of about 10 nats, rounded to float32 some hundred times on their way."""
VISION: dict[str, Any] = {
    "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "image_size": 8, "patch_size": 4,
}  # fmt: skip
WHISPER: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 32, "num_mel_bins": 4,
    "max_source_positions": 6, "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1,
}  # fmt: skip
_TEXT: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, **SHARED}


def _language(architecture: str) -> Any:
    return hf.AutoModelForCausalLM.from_config(tiny_config(architecture))


FAMILIES: dict[str, Callable[[], Any]] = {
    **{name: partial(_language, name) for name in ("gpt2", "gpt_neo", "gpt_neox", "gptj", "opt")},
    "falcon": lambda: hf.FalconForCausalLM(hf.FalconConfig(**_TEXT)),
    "falcon-new": lambda: hf.FalconForCausalLM(hf.FalconConfig(new_decoder_architecture=True, **_TEXT)),
    "phi": lambda: hf.PhiForCausalLM(hf.PhiConfig(intermediate_size=32, **_TEXT)),
    "bloom": lambda: hf.BloomForCausalLM(
        hf.BloomConfig(hidden_size=WIDTH, n_layer=2, n_head=2, vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=2)
    ),
    "whisper": lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER)),
    "vit": lambda: hf.ViTForImageClassification(hf.ViTConfig(**VISION)),
}
RMS: dict[str, Callable[[], Any]] = {name: partial(_language, name) for name in ("llama", "qwen3", "gemma")}


def trained(make: Callable[[], Any], dtype: torch.dtype = torch.float64) -> Any:
    """A network whose gains and biases look trained: neither 1 and 0 nor centred."""
    torch.manual_seed(0)
    network = make().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter) + 0.1)
    return network.to(dtype)


def compared(network: Any, folded: Fold) -> dict[str, Any]:
    return compare(network, folded, [sample_inputs(network, seed=1)])[0]


def agrees(gaps: dict[str, Any]) -> bool:
    return gaps["difference_in_float64"] <= gaps["limit_in_float64"]


class Odd(nn.Module):
    """A Pre-LN network of no family, in which some things may be odd; its modules have names that say nothing."""

    def __init__(self, *odd: str) -> None:
        super().__init__()
        self.config, self.odd = hf.GPT2Config(vocab_size=9), odd
        self.a, self.b, self.c = nn.Embedding(9, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.p, self.q, self.out = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 9)
        self.drop = nn.Dropout(0.5 * ("dropout" in odd))
        if "shared norm" in odd:
            self.q = self.p
        if "shared gain" in odd:
            self.q.weight = self.p.weight

    def forward(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.a(input_ids)
        first = self.b(self.p(h))
        branch = self.c(torch.tanh(first))
        h = h + self.drop(nn.functional.gelu(branch) if "gelu" in self.odd else branch)
        if "item" in self.odd:
            h[:, 0] = first[:, 0].exp()
        if "view" in self.odd:
            h[:, 0].copy_(first[:, 0].exp())
        if "long" in self.odd and h.shape[1] > 8:
            h = h + first.exp()
        logits = self.out(self.q(h)) + (self.b(h).sum(-1, keepdim=True) if "reader" in self.odd else 0)
        return {"logits": logits, **({"stream": h} if "output" in self.odd else {})}


def corpus_for(network: Any, folder: Path) -> Path:
    random = np.random.default_rng(0)
    if network.main_input_name == "input_ids":
        np.save(folder / "ids.npy", random.integers(3, VOCABULARY, 64))
        return folder / "ids.npy"
    (folder / "cases").mkdir()
    for number in range(2):
        inputs: dict[str, Any] = {
            name: value[0].numpy() for name, value in sample_inputs(network, rows=1, seed=number).items()
        }
        labels = random.integers(0, 2, 8 if "decoder_input_ids" in inputs else 1)
        np.savez(folder / "cases" / f"{number}.npz", labels=labels, **inputs)
    return folder / "cases"


def saved(family: str, folder: Path) -> tuple[Any, list[str]]:
    """A network on the disk, and the words that name it, a text for it and the length of its sequences."""
    network = trained((FAMILIES | RMS)[family], torch.float32)
    network.save_pretrained(folder / "model")
    return network, [str(folder / "model"), "--corpus", str(corpus_for(network, folder)), "--sequence-length", "16"]
