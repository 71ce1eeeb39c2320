"""A recipe: the sizes of a network and all else that determines the losses of its training, and its schedules."""

import math
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from lngeom.errors import InputError
from lngeom.options import option, seed

from ..support import Json

Norm = Literal["layer", "rms", "u", "post", "none"]
"""Which normalization the network uses: LayerNorm, RMSNorm, or that of a control arm."""

Optimizer = Literal["adamw", "sgd"]
"""AdamW (decoupled weight decay), or SGD with momentum (weight decay added to the gradient)."""


@dataclass(frozen=True)
class Shape:
    """Size of a GPT-2 network and of its training: blocks, d, attention heads (which divide d), peak learning rate of
    AdamW, steps of a full run, vocabulary, longest sequence, sequences per step over all processes, and the fraction of
    the run at the first of the checkpoints, see :func:`checkpoint_steps`.
    """

    layers: int
    width: int
    heads: int
    learning_rate: float
    steps: int
    vocabulary: int
    positions: int
    sequences: int
    first_checkpoint: float

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads) < 1 or self.width % self.heads:
            raise InputError(
                f"the shape has {self.layers} layers, width {self.width} and {self.heads} heads: all must be at "
                "least 1, and the heads must divide the width; choose another --heads"
            )

    @property
    def parameters(self) -> int:
        """Number of parameters of the LayerNorm network, embeddings not tied; it is 2Vd + Pd + L(12d² + 13d) + 2d."""
        d = self.width
        block = 12 * d * d + 13 * d
        return (2 * self.vocabulary + self.positions) * d + self.layers * block + 2 * d


SHAPES: dict[str, Shape] = {
    "tiny": Shape(4, 128, 4, 2e-3, 1_500, 2_048, 128, 16, 0.01),
    "70m": Shape(6, 512, 8, 10e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "160m": Shape(12, 768, 12, 6e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "410m": Shape(24, 1_024, 16, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
    "1b": Shape(16, 2_048, 8, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
}
"""By name; all but ``tiny`` are Table 2 and appendix A.2 of Gupta et al., arXiv:2409.12951."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the losses of a run, besides the text.

    Attributes:
        learning_rate: The peak; ``floor`` is the last one as a fraction of it.
        weight_decay: On matrices and embeddings, never on gains and biases.
        warmup: Fraction of the run in which the learning rate grows linearly from 0.
        clip: Largest norm of the whole gradient; 0 for none. Clipping scales the gradient and so keeps its direction.
        seed: Of the initial values and of the order of the text.

    AdamW, batch 64, 1,024 tokens, linear warm-up and cosine decay to 10 % of the peak are those of Gupta et al.,
    arXiv:2409.12951, appendix A.2, which gives neither the length of the warm-up nor the weight decay.
    """

    shape: Shape
    norm: Norm
    optimizer: Optimizer
    learning_rate: float
    steps: int
    sequences: int
    sequence_length: int
    weight_decay: float = option(0.1, "of matrices and embeddings")
    warmup: float = option(0.02, "fraction of the run")
    floor: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    momentum: float = 0.9
    clip: float = option(1.0, "largest gradient norm, 0: none")
    eps: float = option(1e-5, "ε of the norm layers")
    seed: int = option(0, "of weights and order of the text", type=seed, metavar="N")

    def __post_init__(self) -> None:
        longest = self.shape.positions
        rules = [
            ("norm", self.norm in get_args(Norm), f"must be one of {', '.join(get_args(Norm))}"),
            ("optimizer", self.optimizer in ("adamw", "sgd"), "must be 'adamw' or 'sgd'"),
            ("learning_rate", 0 < self.learning_rate < math.inf, "must be positive and finite"),
            ("steps", self.steps >= 1, "must be at least 1"),
            ("sequences", self.sequences >= 1, "must be at least 1"),
            ("sequence_length", 1 < self.sequence_length <= longest, f"must be from 2 to the {longest} positions"),
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
                raise InputError(f"{name} is {getattr(self, name)!r}: it {rule}")

    @property
    def tokens_per_step(self) -> int:
        """Predicted tokens of one step."""
        return self.sequences * self.sequence_length

    def as_dict(self) -> Json:
        """The recipe in values that JSON can hold, for the manifest of a run."""
        return {**asdict(self), "betas": list(self.betas)}


def learning_rate(recipe: Recipe, step: int) -> float:
    r"""Learning rate of the step `step` = 0, 1, ..., steps − 1: linear warm-up, then a half cosine to the floor.

    With w = max(1, round(warmup · steps)): η·(step + 1)/w while step < w, then
    η·(f + (1 − f)(1 + cos πt)/2) with t = (step − w + 1)/(steps − w), so that the last step uses η·f exactly.

    >>> from dataclasses import replace
    >>> from empirical.train import Recipe, SHAPES, learning_rate
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


def checkpoint_steps(steps: int, first: float) -> tuple[int, ...]:
    r"""Steps after which the network is saved and measured: 0, then ten small strides, then large ones.

    The schedule of Gupta et al., arXiv:2409.12951, appendix A.2, as fractions of the run: f, 2f, ..., 10f,
    20f, 30f, ... up to 1, with f = 0.01 for 1K, 2K, ..., 10K, 20K, ..., 100K and f = 0.02 for the runs of 50K.
    The untrained network (step 0) is added: without it no change can be seen.

    >>> from empirical.train import checkpoint_steps
    >>> checkpoint_steps(100_000, 0.01)[:4], len(checkpoint_steps(100_000, 0.01))
    ((0, 1000, 2000, 3000), 20)
    >>> checkpoint_steps(5, 0.01)
    (0, 1, 2, 3, 4, 5)
    """
    small = [first * k for k in range(1, 11)]
    large = [10 * first * k for k in range(2, round(1 / (10 * first)) + 1)]
    rounded = {max(1, round(fraction * steps)) for fraction in [*small, *large, 1.0] if fraction <= 1}
    return (0, *sorted(rounded))
