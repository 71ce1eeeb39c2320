"""GPT-2 with RMSNorm in the place of every LayerNorm: a model type that ``AutoModel`` loads like any other."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, GPT2Model

import lngeom


class RMSNorm(nn.Module):
    """The layer z = g ∘ x/√(‖x‖²/d + ε) + b, computed by :func:`lngeom.rms_norm`.

    `gain` and `bias` say whether there is a g, and a b. B. Zhang and R. Sennrich, arXiv:1910.07467, equation 4, with ε
    inside the root and no bias as in Llama.
    """

    weight: Any
    bias: Any

    def __init__(self, width: int, eps: float, *, gain: bool = True, bias: bool = False) -> None:
        super().__init__()
        self.width, self.eps = width, eps
        self.weight = nn.Parameter(torch.ones(width)) if gain else None
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the vectors along the last axis of `x`."""
        if torch.compiler.is_compiling():
            # The same formula in PyTorch's own words, which compile to one loop.
            z = nn.functional.rms_norm(x, (self.width,), self.weight, self.eps)
            return z if self.bias is None else z + self.bias
        return lngeom.rms_norm(x, self.weight, self.bias, eps=self.eps)


class GPT2RMSConfig(GPT2Config):
    """Configuration of GPT-2 with RMSNorm; ``layer_norm_epsilon`` is the ε of the RMSNorm layers."""

    model_type = "gpt2_rms"


def _replace_norms(model: GPT2Model) -> None:
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LayerNorm):
                setattr(module, name, RMSNorm(child.normalized_shape[0], child.eps))


class GPT2RMSModel(GPT2Model):
    """The blocks of GPT-2 with RMSNorm in the place of every LayerNorm."""

    config_class = GPT2RMSConfig

    def __init__(self, config: GPT2RMSConfig) -> None:
        super().__init__(config)
        _replace_norms(self)


class GPT2RMSLMHeadModel(GPT2LMHeadModel):
    """GPT-2 with RMSNorm and the head that predicts the next token."""

    config_class = GPT2RMSConfig

    def __init__(self, config: GPT2RMSConfig) -> None:
        super().__init__(config)
        _replace_norms(self.transformer)


AutoConfig.register(GPT2RMSConfig.model_type, GPT2RMSConfig)
AutoModel.register(GPT2RMSConfig, GPT2RMSModel)
AutoModelForCausalLM.register(GPT2RMSConfig, GPT2RMSLMHeadModel)
