"""The runs of the study: which networks are trained, in which order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ._model import CONTROLS
from ._recipe import SHAPES, Norm, Optimizer, Recipe


@dataclass(frozen=True)
class Condition:
    """One cell of the study: everything about a run but its seed. The heads keep 32 dimensions each."""

    norm: Norm
    optimizer: Optimizer
    weight_decay: float
    layers: int
    width: int

    @property
    def name(self) -> str:
        """A name for directories and tables."""
        return f"{self.norm}-{self.optimizer}-wd{self.weight_decay:g}-L{self.layers}-d{self.width}"

    def recipe(self, seed: int, *, steps: int, sequences: int, sequence_length: int) -> Recipe:
        """How one seed of this cell is trained."""
        heads, rate = self.width // HEAD_WIDTH, LEARNING_RATES[self.optimizer]
        size = {"layers": self.layers, "width": self.width, "heads": heads, "first_checkpoint": FIRST_CHECKPOINT}
        shape = replace(SHAPES["tiny"], **size)
        return Recipe(
            shape, self.norm, self.optimizer, rate, steps, sequences, sequence_length, self.weight_decay, seed=seed
        )


HEAD_WIDTH = 32
FIRST_CHECKPOINT = 0.03
"""Measured at 3 %, 6 %, ..., 30 %, 60 %, 90 % and 100 % of each run, and before it."""

LEARNING_RATES: dict[Optimizer, float] = {"adamw": 2e-3, "sgd": 0.3}
"""Peak learning rates: that of ``tiny``, and for SGD the one of 0.3, 1 and 3 with the lowest held-out loss."""

DECAYS: dict[Optimizer, tuple[float, float]] = {"adamw": (0.0, 0.1), "sgd": (0.0, 5e-4)}
"""Without and with weight decay. SGD's decay acts through the momentum: 5e-4 at 0.3 shrinks a weight by
0.3 · 5e-4/(1 − 0.9) = 1.5e-3 a step, AdamW's 0.1 at 2e-3 by 2e-4."""

TINY = (SHAPES["tiny"].layers, SHAPES["tiny"].width)
OTHER_SIZES = ((2, 128), (8, 128), (4, 64), (4, 256))
"""(layers, width) around ``tiny``: half and twice the depth, half and twice the width."""

NORMS: tuple[Norm, Norm] = ("layer", "rms")


def conditions() -> list[Condition]:
    """All cells: at ``tiny`` both norms, optimizers and decays; at other sizes both norms with AdamW and decay."""
    at_tiny = [
        Condition(norm, optimizer, decay, *TINY)
        for optimizer in LEARNING_RATES
        for decay in DECAYS[optimizer]
        for norm in NORMS
    ]
    elsewhere = [
        Condition(norm, "adamw", DECAYS["adamw"][1], layers, width) for layers, width in OTHER_SIZES for norm in NORMS
    ]
    return at_tiny + elsewhere


def controls() -> list[Condition]:
    """The control arms at ``tiny``: u-Norm, Post-LN and no norm, with AdamW and weight decay and with plain SGD."""
    arms: tuple[tuple[Optimizer, float], ...] = (("adamw", DECAYS["adamw"][1]), ("sgd", 0.0))
    return [Condition(norm, optimizer, decay, *TINY) for optimizer, decay in arms for norm in CONTROLS]


def plan(seeds: int, elsewhere: int) -> Iterator[tuple[Condition, int]]:
    """All runs in their order: `seeds` of each cell at ``tiny``, then `elsewhere` of each other, seed by seed.

    A study that is stopped has compared the same cells in every round of seeds that it finished.

    >>> from empirical.train import plan
    >>> runs = [(condition.name, seed) for condition, seed in plan(seeds=3, elsewhere=1)]
    >>> len(runs), runs[8], runs[-1]  # 3 · 8 cells at tiny, then 1 · 8 at other sizes
    (32, ('layer-adamw-wd0-L4-d128', 1), ('rms-adamw-wd0.1-L4-d256', 0))
    """
    for at_tiny, rounds in ((True, seeds), (False, elsewhere)):
        for seed in range(rounds):
            for condition in conditions():
                if ((condition.layers, condition.width) == TINY) == at_tiny:
                    yield condition, seed
