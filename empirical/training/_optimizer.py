"""The two optimizers of the study, with weight decay on matrices and embeddings alone."""

from __future__ import annotations

import torch
from torch import nn

from ._recipe import Recipe


def build_optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    r"""AdamW or SGD with momentum for the parameters of `model`.

    Weight decay λ acts on parameters with two axes or more. In AdamW it is decoupled, w ← (1 − ηλ)w; in SGD it
    enters the gradient, ∇ + λw, so that with momentum m the stationary rate of decay is ηλ/(1 − m). Neither mixes
    the coordinates of a vector: decay shrinks every direction alike.

    An SGD step is a linear combination of past gradients: where all gradients are orthogonal to 1, so is the step.
    An AdamW step divides each coordinate by a size of its own, √v, and is orthogonal to 1 only as far as the sizes
    of the d coordinates agree.

    References:
        Loshchilov and Hutter, "Decoupled weight decay regularization", arXiv:1711.05101, algorithms 1 and 2.
    """
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum)
    on_gpu = all(parameter.is_cuda for parameter in parameters)
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas, fused=on_gpu)
