"""The RMSNorm that takes the place of a LayerNorm in a folded network."""

from typing import Any

import torch
from torch import Tensor, nn

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
