"""Passages: inputs of a network with a head, the labels of its outputs, and the document of origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..support import CorpusError
from .corpus import Corpus
from .packing import TokenPolicy, encoded, flat_pieces, packed

IGNORED = -100


@dataclass(frozen=True)
class Passage:
    """One forward pass of one sequence.

    Attributes:
        document: Number of the document: passages of one document are correlated.
        inputs: Arguments of the network by name, without the axis of the batch.
        labels: The correct token at each position of the logits, or -100.
    """

    document: int
    inputs: dict[str, np.ndarray]
    labels: np.ndarray

    @classmethod
    def of_ids(cls, document: int, ids: np.ndarray) -> Passage:
        """Token ids, each to be predicted from those before it."""
        ids = np.asarray(ids, dtype=np.int64)
        return cls(document, {"input_ids": ids}, np.append(ids[1:], IGNORED))

    @property
    def tokens(self) -> int:
        """How many tokens are predicted."""
        return int((self.labels != IGNORED).sum())


def _of_files(folder: Path) -> Iterator[Passage]:
    for number, path in enumerate(sorted(folder.glob("*.npz"))):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                inputs: dict[str, np.ndarray] = dict(arrays)
            labels, document = np.asarray(inputs.pop("labels")), int(inputs.pop("document", number))
            names = {"labels": labels} | {name: array for name, array in inputs.items() if name.endswith("_ids")}
            odd = next((name for name, array in names.items() if array.dtype.kind not in "iu" or array.ndim > 1), None)
            if odd is not None:
                raise ValueError(f"{odd} is {names[odd].dtype} of shape {names[odd].shape}, not a row of whole numbers")
            if not (labels != IGNORED).any():
                raise ValueError("no label is to be predicted")
        except Exception as error:  # of a damaged archive NumPy raises what its readers do
            if isinstance(error, MemoryError):
                raise
            msg = f"{path}: is not a passage ({error}); it needs the network's inputs by name, and labels"
            raise CorpusError(msg) from None
        inputs.pop("speech", None)
        yield Passage(document, inputs, labels.astype(np.int64))


def _of_text(corpus: Corpus, tokenizer: Any, length: int, most: int) -> Iterator[Passage]:
    if corpus.has_ids:
        for number, row in enumerate(packed(flat_pieces(corpus.token_ids()), length)):
            yield Passage.of_ids(number, row)
        return
    policy = TokenPolicy.of(tokenizer)
    head = np.array([] if policy.start is None else [policy.start], dtype=np.int64)
    content = length - len(head)
    for number, ids in enumerate(encoded(corpus.documents(), tokenizer, policy)):
        for begin in range(0, min(len(ids), most * content), content):
            row = np.concatenate([head, ids[begin : begin + content]])
            if len(row) > 1:
                yield Passage.of_ids(number, row)


def passages(
    corpus: Corpus, tokenizer: Any, *, tokens: int, length: int, per_document: int, vocabulary: int | None = None
) -> list[Passage]:
    """The first passages of a corpus, with at least so many tokens to be predicted if it has them.

    Args:
        corpus: Texts, whose documents are cut into sequences but never joined; token ids, where every
            sequence counts as a document; or a folder of ``.npz`` files, one passage each: the network's inputs by
            name, ``labels``, ``document``.
        tokenizer: For texts.
        tokens, length: How many tokens to predict, and the longest sequence.
        per_document: How many sequences of one text are taken at most.
        vocabulary: Of the network, if ids outside of it are to be refused.

    Raises:
        CorpusError: If there is none, or a file is damaged.
    """
    folder = corpus.path is not None and corpus.path.is_dir()
    if corpus.is_random:
        raise CorpusError("corpus 'random': losses and predictions on random tokens mean nothing; give a text or ids")
    taken: list[Passage] = []
    counted = 0
    given = _of_files(corpus.path) if folder and corpus.path else _of_text(corpus, tokenizer, length, per_document)
    for passage in given:
        for name, array in passage.inputs.items():
            if vocabulary is not None and name.endswith("input_ids"):
                corpus.within(array, vocabulary)
        if vocabulary is not None:
            corpus.within(passage.labels[passage.labels != IGNORED], vocabulary)
        taken.append(passage)
        counted += passage.tokens
        if counted >= tokens:
            break
    if not taken:
        raise CorpusError(f"corpus {corpus.spec!r}: holds no passage; give a longer one or a shorter --sequence-length")
    return taken


def batches(given: list[Passage], tokens: int) -> Iterator[list[Passage]]:
    """Neighbouring passages of one shape, together, so that no padding is needed."""
    for _, group in groupby(given, lambda each: {name: value.shape for name, value in each.inputs.items()}):
        alike = list(group)
        size = max(1, tokens // max(1, len(alike[0].labels)))
        yield from (alike[begin : begin + size] for begin in range(0, len(alike), size))
