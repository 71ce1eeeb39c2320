"""A recipe: all that determines a run."""

from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple


class Size(NamedTuple):
    """A size of networks and their training: bytes of a piece, pieces of a step, and peaks of the learning rate."""

    layers: int
    width: int
    heads: int
    length: int
    batch: int
    steps: int
    rates: tuple[float, ...]


SIZES = {
    "small": Size(3, 64, 2, 64, 8, 500, (2e-3, 6e-3, 1.8e-2)),
    "70m": Size(6, 512, 8, 1_024, 64, 2_000, (3e-4, 1e-3, 3e-3)),
    "160m": Size(12, 768, 12, 1_024, 64, 2_000, (2e-4, 6e-4, 2e-3)),
}
"""All but ``small`` have the blocks of Pythia, with bytes in place of its vocabulary."""


@dataclass(frozen=True)
class Recipe:
    """What determines a run, besides its size, with the identity of its text."""

    size: str
    norm: Literal["LayerNorm", "RMSNorm", "none"]
    place: Literal["pre", "post"]
    embeddings: Literal["tied", "untied"]
    rate: float
    seed: int
    steps: int
    text: str

    def name(self) -> str:
        """Of the folder of the run."""
        return "-".join(map(str, asdict(self).values()))
