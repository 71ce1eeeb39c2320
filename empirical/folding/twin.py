"""An RMSNorm network as a LayerNorm network: its stream is carried onto the vectors of sum 0 in one dimension more."""

import copy
from typing import Any

import numpy as np
from transformers import OlmoConfig, OlmoForCausalLM

from ..support import ModelError
from .gauge import stream_axes, turned, wide_norms
from .network import Fold, Map, fold_gains, own, put, refuse_difference

_EPS = 1e-5
"""ε of OLMo's LayerNorms, a constant of its class."""
_SHARED = (
    "use_cache", "vocab_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "hidden_act", "max_position_embeddings", "rope_parameters", "attention_dropout", "bos_token_id",
    "eos_token_id", "pad_token_id",
)  # fmt: skip
"""Entries of the configuration that both classes have."""


def isometry(d: int) -> np.ndarray:
    """U, shape (d + 1, d), float64, with UᵀU = I and Uᵀ1 = 0.

    Its columns are those of the reflection that exchanges 1/√(d + 1) and the last coordinate vector.
    """
    normal = np.full(d + 1, (d + 1) ** -0.5)
    normal[-1] -= 1
    return (np.eye(d + 1) - 2 * np.outer(normal, normal) / (normal @ normal))[:, :-1]


def layernorm_twin(model: Any) -> Fold:
    r"""The network of class OLMo, whose LayerNorms have no parameters, with the outputs of a Llama network.

    With U an isometry of R^d onto the vectors of sum 0 in R^(d+1), gains g in the readers, and c² = ε₀(d + 1)/(εd),
    LayerNorm(cUx; ε₀) = √((d + 1)/d) U RMSNorm(x; ε). So writers become cUW, and readers √(d/(d + 1)) W diag(g) Uᵀ.

    Args:
        model: A LlamaForCausalLM without biases, in evaluation mode; it is not changed.

    Raises:
        ModelError: The network is another one, or something other than linear maps and RMSNorms touches the stream.
    """
    config, name = model.config, type(model).__name__
    biased = any(getattr(config, each, False) for each in ("attention_bias", "mlp_bias"))
    if config.model_type != "llama" or biased or not hasattr(model, "lm_head"):
        raise ModelError(f"{name} has no LayerNorm form here: give a LlamaForCausalLM without biases")
    wide_norms(model)
    onto, d, eps = fold_gains(copy.deepcopy(model).double()), config.hidden_size, config.rms_norm_eps
    if not eps > 0:
        raise ModelError(f"{name} has ε = {eps:g}, and OLMo's LayerNorm has ε = {_EPS:g}: no factor makes them equal")
    writers, readers = stream_axes(onto, d, f"{name} has no LayerNorm form: ")
    shared = {each: getattr(config, each) for each in _SHARED}
    head_dim = getattr(config, "head_dim", None) or d // config.num_attention_heads
    checkpoint = OlmoForCausalLM(OlmoConfig(hidden_size=d + 1, head_dim=head_dim, tie_word_embeddings=False, **shared))
    checkpoint = checkpoint.double().eval()
    result = Fold(checkpoint, checkpoint, onto=onto, rotation=isometry(d), moved=onto.moved, kept=onto.kept)
    write, read = (_EPS * (d + 1) / (eps * d)) ** 0.5, (d / (d + 1)) ** 0.5
    for each in checkpoint.state_dict():
        values, axis = own(onto.checkpoint, each).detach(), {**writers, **readers}.get(each)
        if axis is not None:
            factor = write if each in writers else read
            result.maps.append(Map(each, "lifted", axis, amount=factor))
            values = turned(values, axis, factor * result.rotation)
        put(checkpoint, each, values)
    refuse_difference(model, lambda _: [checkpoint], "has no LayerNorm form")
    dtype = next(model.parameters()).dtype
    result.checkpoint = result.model = checkpoint.to(dtype)
    result.untied = list(onto.untied)
    checkpoint.config.dtype = dtype
    return result


__all__ = ["isometry", "layernorm_twin"]
