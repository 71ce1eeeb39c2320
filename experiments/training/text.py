"""The text of the study as bytes: pages to train on, to choose by, and to test on."""

import hashlib
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lngeom.empirical.support import CorpusError
from lngeom.empirical.text import Corpus

BYTES = 256


class Text(NamedTuple):
    """Bytes of the pages of three parts, shape (bytes,)."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def identity(self) -> str:
        return hashlib.sha256(b"".join(part.tobytes() for part in self)).hexdigest()[:8]

    def baselines(self) -> tuple[float, float]:
        """Loss on the test part of the frequencies in training, of bytes and of pairs, each smoothed by one count."""
        single = np.bincount(self.train, minlength=BYTES) + 1.0
        single /= single.sum()
        pairs = np.bincount(self.train[:-1].astype(np.int64) * BYTES + self.train[1:], minlength=BYTES**2)
        pairs = pairs.reshape(BYTES, BYTES) + single
        pairs /= pairs.sum(axis=1, keepdims=True)
        before, after = self.test[:-1], self.test[1:]
        return -np.log(single[after]).mean(), -np.log(pairs[before, after]).mean()


def read_text(corpus: Corpus, documents: int | None = None) -> Text:
    """The first documents of a corpus, or all; of ten in turn one goes to validation, and one to test."""
    parts: tuple[list[bytes], ...] = ([], [], [])
    for n, document in enumerate(islice(corpus.documents(), documents)):
        parts[{4: 1, 9: 2}.get(n % 10, 0)].append(document.encode())
    return Text(*(np.frombuffer(b"\n\n".join(pages), np.uint8) for pages in parts))


def cut(part: np.ndarray, starts: np.ndarray, length: int) -> Tensor:
    """Pieces that begin at given places, with the byte behind each, shape (pieces, length + 1), int64."""
    return torch.from_numpy(part[starts[:, None] + np.arange(length + 1)].astype(np.int64))


def spread(part: np.ndarray, length: int, count: int) -> Tensor:
    """At most `count` pieces of a part that do not overlap, spread evenly over it."""
    whole = (len(part) - 1) // length
    if whole < 1:
        raise CorpusError(f"a part of the text has {len(part)} bytes, no piece of {length}: use a longer corpus")
    return cut(part, np.arange(count := min(count, whole)) * whole // count * length, length)
