"""Token ids: of NumPy files, of flat binary files as nanoGPT writes them, or drawn at random."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..support import CorpusError

FLAT_DTYPE = np.dtype("<u2")
"""nanoGPT's ``prepare.py`` writes flat little-endian uint16."""


def _npy(path: Path) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:
        # A header is a Python literal, and NumPy raises whatever reading that one does.
        raise CorpusError(f"corpus {path}: not an array of numbers ({error}); write it with numpy.save") from None
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        seen = f"{array.dtype} of shape {array.shape}"
        raise CorpusError(f"corpus {path}: {seen}; token ids are integers, of shape (tokens,) or (sequences, tokens)")
    return array.reshape(-1)


def _flat(path: Path) -> np.ndarray:
    size = path.stat().st_size
    if size % FLAT_DTYPE.itemsize:
        msg = f"corpus {path}: {size} bytes, not a multiple of 2; flat files hold uint16, other ids are stored as .npy"
        raise CorpusError(msg)
    return np.memmap(path, FLAT_DTYPE, mode="r") if size else np.empty(0, FLAT_DTYPE)


def token_ids(path: Path) -> np.ndarray:
    """The token ids of a ``.npy`` or ``.bin`` file as one flat array, mapped from disk and not read into memory."""
    return _npy(path) if path.suffix == ".npy" else _flat(path)


RANDOM = "random"
_PIECE = 1 << 16


def random_pieces(vocabulary: int, seed: int) -> Iterator[np.ndarray]:
    """Yield without end uniformly drawn token ids, int64, the same for the same seed on every machine."""
    generator = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield generator.integers(0, vocabulary, _PIECE, dtype=np.int64)
