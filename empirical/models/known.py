"""The seven models of the geometric studies, by name, and the published measurements on them."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class KnownModel:
    """A model with its repository on the hub, and the entries of its configuration that fix the architecture."""

    hub_id: str
    shape: Mapping[str, object]

    def config(self) -> "PretrainedConfig":
        """The configuration, without asking the hub."""
        from transformers import AutoConfig

        entries = dict(self.shape)
        return AutoConfig.for_model(str(entries.pop("model_type")), **entries)


def _pythia(name: str, d: int, blocks: int, heads: int, vocabulary: int) -> KnownModel:
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    return KnownModel(f"EleutherAI/{name}", {
        "model_type": "gpt_neox", "hidden_size": d, "num_hidden_layers": blocks, "num_attention_heads": heads,
        "intermediate_size": 4 * d, "vocab_size": vocabulary, "max_position_embeddings": 2048, "layer_norm_eps": 1e-5,
        "use_parallel_residual": True, "rope_parameters": rope, "bos_token_id": 0, "eos_token_id": 0,
    })  # fmt: skip


def _llama(name: str, **options) -> KnownModel:
    return KnownModel(f"meta-llama/{name}", {
        "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "rms_norm_eps": 1e-5, **options,
    })  # fmt: skip


KNOWN_MODELS: dict[str, KnownModel] = {
    "gpt2-xl": KnownModel("openai-community/gpt2-xl", {
        "model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257,
        "layer_norm_epsilon": 1e-5,
    }),
    "gpt-neo-1.3b": KnownModel("EleutherAI/gpt-neo-1.3B", {
        "model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 24, "num_heads": 16,
        "max_position_embeddings": 2048, "vocab_size": 50257, "window_size": 256,
        "attention_types": [[["global", "local"], 12]], "layer_norm_epsilon": 1e-5,
    }),
    "pythia-1.4b": _pythia("pythia-1.4b", 2048, 24, 16, 50304),
    "gpt-j-6b": KnownModel("EleutherAI/gpt-j-6b", {
        "model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048, "rotary_dim": 64,
        "vocab_size": 50400, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False,
    }),
    "pythia-6.9b": _pythia("pythia-6.9b", 4096, 32, 32, 50432),
    "llama-2-7b": _llama(
        "Llama-2-7b-hf", num_key_value_heads=32, intermediate_size=11008, vocab_size=32000,
        max_position_embeddings=4096,
    ),
    "llama-3-8b": _llama(
        "Meta-Llama-3-8B", num_key_value_heads=8, intermediate_size=14336, vocab_size=128256,
        max_position_embeddings=8192, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        bos_token_id=128000, eos_token_id=128001,
    ),
}  # fmt: skip
"""The models of Gupta et al., arXiv:2409.12951, Table 1, by the names that ``lngeom sweep`` takes."""

PUBLISHED_SOURCE = "Gupta et al., arXiv:2409.12951v2, Tables 2 to 4"


class PublishedSpread(NamedTuple):
    """Mean, standard deviation and, where printed, maximum over tokens and layers."""

    mean: float
    std: float | None = None
    maximum: float | None = None


def _read() -> dict[str, dict[str, PublishedSpread]]:
    models: dict[str, dict[str, PublishedSpread]] = {}
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        for model, quantity, mean, *more in list(csv.reader(file))[1:]:
            spread = PublishedSpread(float(mean), *(float(value) if value else None for value in more))
            models.setdefault(model, {})[quantity] = spread
    return models


PUBLISHED = _read()
"""By the names of :data:`lngeom.empirical.models.KNOWN_MODELS` and of quantities, averaged over the layers of a model.

``hidden_angle``, ``attn_angle``, ``mlp_angle``: angle to the vector 1 in degrees, of hidden states and of outputs
of the norm before the attention (LN1) and before the MLP (LN2), Table 2; ``hidden_norm``, ``attn_norm``, ``mlp_norm``:
Euclidean norms of the same, Table 3; ``attn_rotation``, ``mlp_rotation``: angle in degrees from the hidden state to the
output of the norm, Table 4.

>>> from lngeom.empirical.models import PUBLISHED
>>> gpt_j = PUBLISHED["gpt-j-6b"]
>>> gpt_j["hidden_angle"].mean, "mlp_angle" in gpt_j  # one norm feeds attention and MLP
(88.74, False)
"""
