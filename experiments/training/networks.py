"""GPT-2 with LayerNorm, with RMSNorm, or with u-Norm, which projects off another direction than 1, all else equal."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

import lngeom
from lngeom.empirical.models import GPT2RMSConfig, GPT2RMSLMHeadModel
from lngeom.empirical.observe import random_directions

from .recipe import EPS, Recipe

DIRECTIONS = 256
"""Random directions that 1 and u are ranked among; u of the seed n is the n-th one after them."""


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
        return lngeom.rms_norm(lngeom.project(x, self.direction), self.weight, self.bias, eps=self.eps)


def build_model(recipe: Recipe, end_of_text: int = 0) -> GPT2LMHeadModel:
    """GPT-2 network in float32 and training mode, with untied embeddings and no dropout, initialized from the seed.

    No norm draws initial values: networks of one seed start from equal weights and differ in the norm alone. Dropout is
    off because a mask behind a writer would undo the orthogonality that the study is about. PyTorch's global generator
    is left as it was.

    References:
        Gupta et al., arXiv:2409.12951, section 3.3 and Table 2. The sizes in its names are those of untied embeddings:
        70.9, 163.0, 406.3 and 1013.7 million parameters with GPT-2's 50,257 tokens and 1,024 positions; tied ones
        would make 45.2, 124.4, 354.8 and 910.8 million.
    """
    rms = recipe.norm == "rms"
    config: Any = (GPT2RMSConfig if rms else GPT2Config)(
        vocab_size=recipe.vocabulary,
        n_positions=recipe.sequence_length,
        n_embd=recipe.width,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        layer_norm_epsilon=EPS,
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
        torch.manual_seed(recipe.seed)
        model = (GPT2RMSLMHeadModel if rms else GPT2LMHeadModel)(config).train()
    if recipe.norm == "u":
        direction = random_directions(recipe.width, DIRECTIONS + recipe.seed + 1, seed=0)[-1]
        for module in [model.transformer, *model.transformer.h]:
            for name, child in list(module.named_children()):
                if isinstance(child, nn.LayerNorm):
                    setattr(module, name, UNorm(direction, EPS))
    return model


def next_token_loss(model: nn.Module, ids: Tensor, reduction: str = "mean") -> Tensor:
    """Loss in nats of predicting each token of the sequences but the first; at least in float32."""
    logits = model(input_ids=ids[:, :-1]).logits
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return functional.cross_entropy(wide.flatten(0, 1), ids[:, 1:].flatten(), reduction=reduction)
