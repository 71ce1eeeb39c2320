"""How a training is run: the options that change nothing of what is computed."""

from dataclasses import dataclass

from lngeom.errors import InputError
from lngeom.options import option


@dataclass(frozen=True)
class Execution:
    """How a recipe is run; none of it changes what is computed, apart from rounding.

    ``bfloat16`` runs matrix products in it (autocast), and the parameters stay in float32. Measurements are never
    compiled. With `check_gradients` the first and the last of them also check the gradients of the writers, in float64.
    """

    dtype: str = "float32"
    micro_sequences: int = option(16, "sequences per forward pass; a step adds up the gradients of several")
    compile: bool = option(False, "train through torch.compile")
    save_every: int = option(500, "steps between two states from which a run can go on; checkpoints are states too")
    keep_networks: bool = option(True, "measure at checkpoints without keeping their weights", "--no-networks")
    held_out_tokens: int = option(8_192, "to measure")
    directions: int = option(256, "random directions")
    check_gradients: bool = False
    minutes: float = option(0.0, "stop after X minutes, 0: never; the same command goes on from there")

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "bfloat16"):
            raise InputError(f"dtype is {self.dtype!r}: a network is trained in float32 or in bfloat16")
        for name in ("micro_sequences", "save_every", "held_out_tokens", "directions"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least 1")
