"""A recipe: the sizes of a network and all else that determines the losses of its training, and its schedules."""

import math
from dataclasses import dataclass
from typing import Literal

from lngeom.errors import InputError
from lngeom.options import REQUIRED, option, seed

Norm = Literal["layer", "rms", "u"]
"""LayerNorm or RMSNorm; or the control arm: a random direction u in place of 1."""

Optimizer = Literal["adamw", "sgd"]
"""AdamW (decoupled weight decay), or SGD with momentum (weight decay added to the gradient)."""

_SIZES = (
    *("layers", "width", "heads", "learning_rate", "steps", "vocabulary", "sequence_length", "batch_size"),
    "first_checkpoint",
)
CONFIGS = {
    "tiny": (4, 128, 4, 2e-3, 1_500, 2_048, 128, 16, 0.01),
    "70m": (6, 512, 8, 10e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "160m": (12, 768, 12, 6e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "410m": (24, 1_024, 16, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
    "1b": (16, 2_048, 8, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
}
"""Sizes and training by name: the fields of a recipe that are None by default. All but ``tiny`` are Table 2 and
appendix A.2 of Gupta et al., arXiv:2409.12951."""

SGD_LEARNING_RATE = 0.3
"""Where SGD with momentum 0.9 and clipped gradients trains the tiny network fastest of 0.1, 0.3, 1 and 3."""

FLOOR, BETAS, MOMENTUM = 0.1, (0.9, 0.95), 0.9
"""The last learning rate as a fraction of the peak; of AdamW; of SGD."""

WARMUP, CLIP, EPS = 0.02, 1.0, 1e-5
"""Fraction of a run in which the learning rate grows; largest norm of the whole gradient; ε of the norm layers."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the losses of a run, besides the text; what is None is that of the config.

    AdamW, batch 64, 1,024 tokens, linear warm-up and cosine decay to 10 % of the peak are those of Gupta et al.,
    arXiv:2409.12951, appendix A.2, which gives neither the length of the warm-up nor the weight decay.
    """

    norm: Norm = option(REQUIRED, "LayerNorm or RMSNorm, or the control arm: u-Norm")
    config: str = option("tiny", "sizes and training, where no other option says so", choices=CONFIGS)
    optimizer: Optimizer = option("adamw", "sgd has momentum, and another learning rate")
    seed: int = option(0, "of the initial values and of the order of the text", type=seed)
    weight_decay: float = option(0.1, "of matrices and embeddings, never of gains and biases")
    layers: int = option(None, "blocks")
    width: int = option(None, "d")
    heads: int = option(None, "attention heads, which divide d")
    learning_rate: float = option(None, "the peak")
    steps: int = option(None, "optimizer steps")
    vocabulary: int = option(None, "tokens of the network, and of a tokenizer that is trained here")
    sequence_length: int = option(None, "predicted tokens of a sequence")
    batch_size: int = option(None, "sequences per step")
    first_checkpoint: float = option(None, "fraction of the run at the first one, see checkpoint_steps")
    held_out_tokens: int = option(8_192, "to measure")
    compile: bool = option(False, "train through torch.compile")
    cpu: bool = option(False, "also where there is a GPU")

    def __post_init__(self) -> None:
        for name, value in zip(_SIZES, CONFIGS[self.config], strict=True):
            if getattr(self, name) is None:
                sgd = name == "learning_rate" and self.optimizer == "sgd"
                object.__setattr__(self, name, SGD_LEARNING_RATE if sgd else value)
        if self.width % self.heads:
            raise InputError(f"{self.heads} heads do not divide the width {self.width}: choose another --heads")


def learning_rate(recipe: Recipe, step: int) -> float:
    r"""Learning rate of the step `step` = 0, 1, ..., steps − 1: linear warm-up, then a half cosine to the floor.

    With w = round(WARMUP · steps): η·(step + 1)/w while step < w, then η·(f + (1 − f)(1 + cos πt)/2) with
    t = (step − w + 1)/(steps − w), so that the last step uses η·f exactly.
    """
    warm = round(WARMUP * recipe.steps)
    if step < warm:
        return recipe.learning_rate * (step + 1) / warm
    progress = (step - warm + 1) / (recipe.steps - warm)
    return recipe.learning_rate * (FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2)


def checkpoint_steps(recipe: Recipe) -> tuple[int, ...]:
    r"""Steps after which the network is saved and measured: 0, then ten small strides, then large ones.

    The schedule of Gupta et al., arXiv:2409.12951, appendix A.2, as fractions of the run: f, 2f, ..., 10f,
    20f, 30f, ... up to 1, with f = 0.01 for 1K, 2K, ..., 10K, 20K, ..., 100K and f = 0.02 for the runs of 50K.
    The untrained network (step 0) is added: without it no change can be seen.
    """
    first = recipe.first_checkpoint
    fractions = [
        *(first * k for k in range(1, 11)),
        *(10 * first * k for k in range(2, round(1 / (10 * first)) + 1)),
        1,
    ]
    return (0, *sorted({max(1, round(fraction * recipe.steps)) for fraction in fractions if fraction <= 1}))
