"""The seven models of the geometric studies, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ._sites import Kind

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class KnownModel:
    """A model with its place on the hub and its shape.

    Attributes:
        hub_id: Repository on the Hugging Face hub.
        d, blocks, norm, parameters: As in Table 1 of Gupta et al.; the parameters of the whole model are exact.
        start: The token that its tokenizer puts before a text, or None.
        gated: Whether its licence has to be accepted on the hub first.
        shape: Entries of its configuration that fix the architecture, ``model_type`` included.

    >>> from empirical.models import KNOWN_MODELS
    >>> known = KNOWN_MODELS["llama-2-7b"]
    >>> known.hub_id, known.d, known.blocks, known.norm, known.config().rms_norm_eps
    ('meta-llama/Llama-2-7b-hf', 4096, 32, 'rmsnorm', 1e-05)
    """

    hub_id: str
    d: int
    blocks: int
    norm: Kind
    parameters: int
    start: str | None
    gated: bool
    shape: Mapping[str, Any]

    def config(self) -> PretrainedConfig:
        """The configuration, without asking the hub."""
        entries = dict(self.shape)
        from transformers import AutoConfig

        return AutoConfig.for_model(entries.pop("model_type"), **entries)


def _known(
    hub_id: str,
    d: int,
    blocks: int,
    norm: Kind,
    parameters: int,
    *,
    start: str | None = None,
    gated: bool = False,
    **shape: Any,
) -> KnownModel:
    return KnownModel(hub_id, d, blocks, norm, parameters, start, gated, MappingProxyType(shape))


def _pythia(name: str, d: int, blocks: int, heads: int, vocabulary: int, parameters: int) -> KnownModel:
    return _known(
        f"EleutherAI/{name}", d, blocks, "layernorm", parameters,
        model_type="gpt_neox", hidden_size=d, num_hidden_layers=blocks, num_attention_heads=heads,
        intermediate_size=4 * d, vocab_size=vocabulary, max_position_embeddings=2048, layer_norm_eps=1e-5,
        use_parallel_residual=True, rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
        "partial_rotary_factor": 0.25}, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip


KNOWN_MODELS: dict[str, KnownModel] = {
    "gpt2-xl": _known(
        "openai-community/gpt2-xl", 1600, 48, "layernorm", 1_557_611_200,
        model_type="gpt2", n_embd=1600, n_layer=48, n_head=25, n_positions=1024, vocab_size=50257,
        layer_norm_epsilon=1e-5,
    ),
    "gpt-neo-1.3b": _known(
        "EleutherAI/gpt-neo-1.3B", 2048, 24, "layernorm", 1_315_575_808,
        model_type="gpt_neo", hidden_size=2048, num_layers=24, num_heads=16, max_position_embeddings=2048,
        vocab_size=50257, window_size=256, attention_types=[[["global", "local"], 12]], layer_norm_epsilon=1e-5,
    ),
    "pythia-1.4b": _pythia("pythia-1.4b", 2048, 24, 16, 50304, 1_414_647_808),
    "gpt-j-6b": _known(
        "EleutherAI/gpt-j-6b", 4096, 28, "layernorm", 6_050_882_784,
        model_type="gptj", n_embd=4096, n_layer=28, n_head=16, n_positions=2048, rotary_dim=64, vocab_size=50400,
        layer_norm_epsilon=1e-5, tie_word_embeddings=False,
    ),
    "pythia-6.9b": _pythia("pythia-6.9b", 4096, 32, 32, 50432, 6_857_302_016),
    "llama-2-7b": _known(
        "meta-llama/Llama-2-7b-hf", 4096, 32, "rmsnorm", 6_738_415_616, start="<s>", gated=True,
        model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
        intermediate_size=11008, vocab_size=32000, max_position_embeddings=4096, rms_norm_eps=1e-5,
    ),
    "llama-3-8b": _known(
        "meta-llama/Meta-Llama-3-8B", 4096, 32, "rmsnorm", 8_030_261_248, start="<|begin_of_text|>", gated=True,
        model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        intermediate_size=14336, vocab_size=128256, max_position_embeddings=8192, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0}, bos_token_id=128000, eos_token_id=128001,
    ),
}  # fmt: skip
"""The models of Gupta et al., arXiv:2409.12951, Table 1, by the names that ``lngeom sweep`` takes."""
