"""Token ids drawn at random: for models with random weights, and as a baseline without language."""

from collections.abc import Iterator

import numpy as np

SPEC = "random"
_PIECE = 1 << 16


def random_pieces(vocabulary: int, seed: int) -> Iterator[np.ndarray]:
    """Yield without end uniformly drawn token ids, int64, the same for the same seed on every machine."""
    generator = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield generator.integers(0, vocabulary, _PIECE, dtype=np.int64)
