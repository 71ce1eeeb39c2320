"""A recipe: everything that determines the losses of a training run, and the learning rate it prescribes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lngeom import InputError

from ._model import Norm
from ._shape import Shape

Optimizer = Literal["adamw", "sgd"]
"""AdamW, or SGD with momentum."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the losses of a run, besides the text.

    Args:
        shape: Shape. Sizes of the network.
        norm: {"layer", "rms", "u", "post", "none"}. LayerNorm, RMSNorm, or a control arm.
        optimizer: {"adamw", "sgd"}. AdamW (decoupled weight decay), or SGD with momentum (weight decay added to the
            gradient).
        learning_rate: Peak learning rate.
        steps: Optimizer steps of the whole run.
        sequences, sequence_length: Sequences per step and tokens per sequence.
        weight_decay: On matrices and embeddings, never on gains and biases.
        warmup: Fraction of the run in which the learning rate grows linearly from 0.
        floor: Last learning rate as a fraction of the peak.
        betas: pair of float. Decay rates of AdamW's moments.
        momentum: Momentum of SGD.
        clip: Largest norm of the whole gradient; 0 for none. Clipping scales the gradient and so keeps its direction.
        eps: ε of the norm layers.
        seed: Seed of the initial values and of the order of the text.

    References:
        Gupta et al., arXiv:2409.12951, appendix A.2: AdamW, batch 64, sequences of 1,024 tokens, linear warm-up,
        cosine decay to 10 % of the peak. It gives neither the length of the warm-up nor the weight decay.

    >>> from empirical.training import SHAPES, Recipe
    >>> Recipe(SHAPES["tiny"], "layer", "adamw", 2e-3, steps=100, sequences=16, sequence_length=128).tokens_per_step
    2048
    >>> Recipe(SHAPES["tiny"], "layer", "adamw", 2e-3, steps=0, sequences=16, sequence_length=128)
    Traceback (most recent call last):
    lngeom._errors.InputError: steps is 0: it must be at least 1
    """

    shape: Shape
    norm: Norm
    optimizer: Optimizer
    learning_rate: float
    steps: int
    sequences: int
    sequence_length: int
    weight_decay: float = 0.1
    warmup: float = 0.02
    floor: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    momentum: float = 0.9
    clip: float = 1.0
    eps: float = 1e-5
    seed: int = 0

    def __post_init__(self) -> None:
        rules = [
            ("norm", self.norm in get_args(Norm), f"must be one of {', '.join(get_args(Norm))}"),
            ("optimizer", self.optimizer in ("adamw", "sgd"), "must be 'adamw' or 'sgd'"),
            ("learning_rate", 0 < self.learning_rate < math.inf, "must be positive and finite"),
            ("steps", self.steps >= 1, "must be at least 1"),
            ("sequences", self.sequences >= 1, "must be at least 1"),
            (
                "sequence_length",
                1 < self.sequence_length <= self.shape.positions,
                f"must be at least 2 and at most the {self.shape.positions} positions of the network",
            ),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "must be finite and not negative"),
            ("warmup", 0 <= self.warmup <= 1, "is a fraction of the run, from 0 to 1"),
            ("floor", 0 <= self.floor <= 1, "is a fraction of the peak, from 0 to 1"),
            ("momentum", 0 <= self.momentum < 1, "must be at least 0 and below 1"),
            ("clip", 0 <= self.clip < math.inf, "must be finite and not negative (0: no clipping)"),
            ("eps", 0 <= self.eps < math.inf, "must be finite and not negative"),
            ("seed", 0 <= self.seed < 2**63, "must be at least 0 and below 2^63"),
        ]
        for name, holds, rule in rules:
            if not holds:
                msg = f"{name} is {getattr(self, name)!r}: it {rule}"
                raise InputError(msg)

    @property
    def tokens_per_step(self) -> int:
        """Predicted tokens of one step."""
        return self.sequences * self.sequence_length

    def as_dict(self) -> dict[str, Any]:
        """The recipe in values that JSON can hold, for the manifest of a run."""
        return {**asdict(self), "betas": list(self.betas)}


def learning_rate(recipe: Recipe, step: int) -> float:
    r"""Learning rate of the step `step` = 0, 1, ..., steps − 1: linear warm-up, then a half cosine to the floor.

    With w = max(1, round(warmup · steps)): η·(step + 1)/w while step < w, then
    η·(f + (1 − f)(1 + cos πt)/2) with t = (step − w + 1)/(steps − w), so that the last step uses η·f exactly.

    Args:
        recipe: Recipe. η, f, warmup and steps are its ``learning_rate``, ``floor``, ``warmup`` and ``steps``.
        step: From 0 to steps − 1.

    >>> from dataclasses import replace
    >>> from empirical.training import Recipe, SHAPES, learning_rate
    >>> recipe = Recipe(SHAPES["tiny"], "layer", "adamw", 1.0, steps=100, sequences=1, sequence_length=8)
    >>> [round(learning_rate(recipe, step), 3) for step in (0, 1, 50, 99)]
    [0.5, 1.0, 0.55, 0.1]
    """
    warm = round(recipe.warmup * recipe.steps)
    if step < warm:
        return recipe.learning_rate * (step + 1) / warm
    progress = (step - warm + 1) / (recipe.steps - warm)
    shape = recipe.floor + (1 - recipe.floor) * (1 + math.cos(math.pi * progress)) / 2
    return recipe.learning_rate * shape
