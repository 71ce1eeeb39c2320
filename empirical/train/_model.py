"""GPT-2 with LayerNorm, with RMSNorm, or with the norms of a control arm, all else equal: sizes, initial values, code.

The control arms have another direction than 1 projected off, norms behind the addition, or none at all.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

import lngeom
from lngeom.errors import InputError

from ..models import GPT2RMSConfig, GPT2RMSLMHeadModel
from ..observe import random_directions
from ._recipe import Norm, Shape

CONTROLS: tuple[Norm, ...] = ("u", "post", "none")
"""u-Norm (a random direction u in the place of 1), Post-LN, or no normalization."""


def projected_direction(width: int, seed: int) -> np.ndarray:
    """The direction u of the u-Norm networks of one seed, shape (d,): none of those that it is ranked among."""
    return random_directions(width, 2, seed=1_000_000 + seed)[0]


class UNorm(nn.Module):
    """The layer z = g ∘ Π_u x/√(‖Π_u x‖²/d + ε) + b with Π_u x = x − u(u·x): LayerNorm with another direction than 1.

    ``direction`` is u, shape (d,), of any length but 0.
    """

    def __init__(self, direction: np.ndarray, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("direction", torch.as_tensor(direction, dtype=torch.float32), persistent=False)
        self.weight = nn.Parameter(torch.ones(len(direction)))
        self.bias = nn.Parameter(torch.zeros(len(direction)))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the vectors along the last axis of `x`."""
        return lngeom.rms_norm(lngeom.project(x, self.direction), self.weight, self.bias, eps=self.eps)


class _PostBlock(GPT2Block):
    """A block of the first transformer: each norm reads the sum and its output is the stream."""

    def forward(self, hidden_states: Any, past_key_values: Any = None, attention_mask: Any = None, *_, **how) -> Tensor:
        attended, _ = self.attn(hidden_states, attention_mask=attention_mask, past_key_values=past_key_values, **how)
        hidden_states = self.ln_1(hidden_states + attended)
        return self.ln_2(hidden_states + self.mlp(hidden_states))


def _make_control(model: GPT2LMHeadModel, norm: Norm, seed: int) -> GPT2LMHeadModel:
    """Turn a new LayerNorm network into one of a control arm; the weights that both have stay as they are."""
    base = model.transformer
    if norm == "post":
        for block in base.h:
            block.__class__ = _PostBlock
        setattr(base, "ln_f", nn.Identity())  # noqa: B010 (it is declared a LayerNorm)
        return model
    for module in [base, *base.h]:
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LayerNorm):
                direction = projected_direction(child.normalized_shape[0], seed)
                setattr(module, name, UNorm(direction, child.eps) if norm == "u" else nn.Identity())
    return model


def build_model(shape: Shape, norm: Norm, *, seed: int, eps: float = 1e-5, end_of_text: int = 0) -> GPT2LMHeadModel:
    """GPT-2 network in float32 with untied embeddings and no dropout, initialized from `seed`.

    The initial values are drawn in the same order for both norms, and neither norm draws any: networks of one
    seed start from equal weights and differ in the norm alone. Dropout is off because a mask after a writer would
    undo the orthogonality that the study is about, and because the studied text does not mention it.

    It is in training mode; PyTorch's global generator is left as it was. `end_of_text` goes into the configuration.

    References:
        Gupta et al., arXiv:2409.12951, section 3.3 and Table 2. The sizes in its names are those of untied embeddings:
        70.9, 163.0, 406.3 and 1013.7 million parameters with GPT-2's 50,257 tokens and 1,024 positions (matrices and
        embeddings alone 70.9, 162.9, 406.0 and 1013.3); tied ones would make 45.2, 124.4, 354.8 and 910.8 million.
    """
    classes = {"layer": (GPT2Config, GPT2LMHeadModel), "rms": (GPT2RMSConfig, GPT2RMSLMHeadModel)}
    classes |= dict.fromkeys(CONTROLS, classes["layer"])
    if norm not in classes:
        msg = f"norm is {norm!r}: it must be 'layer' (LayerNorm), 'rms' (RMSNorm), or a control: {', '.join(CONTROLS)}"
        raise InputError(msg)
    config_class, model_class = classes[norm]
    config = config_class(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        layer_norm_epsilon=eps,
        # GPT-2's own activation; this name selects the fused implementation of the same formula.
        activation_function="gelu_pytorch_tanh",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        use_cache=False,
        bos_token_id=end_of_text,
        eos_token_id=end_of_text,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config).train()
    return _make_control(model, norm, seed) if norm in CONTROLS else model


def next_token_loss(model: nn.Module, ids: Tensor, reduction: str = "mean") -> Tensor:
    """Loss in nats of predicting each token of the sequences but the first; at least in float32."""
    logits = model(input_ids=ids[:, :-1]).logits
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return functional.cross_entropy(wide.flatten(0, 1), ids[:, 1:].flatten(), reduction=reduction)


def flops_per_token(model: GPT2LMHeadModel, sequence_length: int) -> float:
    r"""Floating-point operations of forward and backward pass per token, 6N + 12·L·T·d.

    N counts the parameters that multiply each token: all but the two embedding tables, which are looked up. The
    second term is the attention scores and their application to the values, over T tokens; the causal half is not
    deducted (Chowdhery et al., "PaLM", arXiv:2204.02311, appendix B).

    >>> from empirical.train import Shape, build_model, flops_per_token
    >>> model = build_model(Shape(1, 8, 2, 1e-3, 10, 11, 4, 2, 0.1), "layer", seed=0)
    >>> flops_per_token(model, 4)  # of 1096 parameters 120 are looked up: 6·976 + 12·1·4·8
    6240
    """
    looked_up = model.transformer.wte.weight.numel() + model.transformer.wpe.weight.numel()
    matrix = sum(parameter.numel() for parameter in model.parameters()) - looked_up
    return 6 * matrix + 12 * model.config.n_layer * sequence_length * model.config.n_embd
