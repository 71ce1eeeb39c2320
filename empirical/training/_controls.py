"""Control arms of the study: another direction than 1 projected off, norms behind the addition, or none at all."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

import lngeom

from ..capture import random_directions

Control = Literal["u", "post", "none"]
"""u-Norm (a random direction u in the place of 1), Post-LN, or no normalization."""

CONTROLS: tuple[Control, ...] = ("u", "post", "none")


def projected_direction(width: int, seed: int) -> np.ndarray:
    """The direction u of the u-Norm networks of one seed, shape (d,): none of those that it is ranked among."""
    return random_directions(width, 2, seed=1_000_000 + seed)[0]


class UNorm(nn.Module):
    """The layer z = g ∘ Π_u x/√(‖Π_u x‖²/d + ε) + b with Π_u x = x − u(u·x): LayerNorm with another direction than 1.

    Args:
        direction: array, shape (d,). u, of any length but 0.
        eps: ε, inside the root.

    >>> import numpy as np
    >>> import torch
    >>> from empirical.training import UNorm
    >>> with torch.no_grad():
    ...     z = UNorm(np.array([1.0, 0.0]), eps=0.0)(torch.tensor([5.0, -3.0]))
    >>> [round(component, 6) for component in z.tolist()]
    [0.0, -1.414214]
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

    def forward(
        self, hidden_states: Any, past_key_values: Any = None, attention_mask: Any = None, *_: Any, **how: Any
    ) -> Tensor:
        attended, _ = self.attn(hidden_states, attention_mask=attention_mask, past_key_values=past_key_values, **how)
        hidden_states = self.ln_1(hidden_states + attended)
        return self.ln_2(hidden_states + self.mlp(hidden_states))


def make_control(model: GPT2LMHeadModel, norm: Control, seed: int) -> GPT2LMHeadModel:
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
