"""The token ids of a run, drawn once from its corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..corpora import Corpus, TokenPolicy, encoded, flat_pieces, packed, random_pieces
from ..runs import Advance, CorpusError, replacing


def _checked(rows: Iterator[np.ndarray], corpus: Corpus, vocabulary: int) -> Iterator[np.ndarray]:
    for row in rows:
        low, high = int(row.min()), int(row.max())
        if low < 0 or high >= vocabulary:
            bad = low if low < 0 else high
            msg = (
                f"corpus {corpus.spec!r}: token id {bad} is outside the model's vocabulary of {vocabulary}; "
                "encode the text with the tokenizer of this model"
            )
            raise CorpusError(msg)
        yield row


def _sequences(
    corpus: Corpus, tokenizer: Any, length: int, vocabulary: int, seed: int
) -> tuple[Iterator[np.ndarray], dict[str, Any]]:
    """The packed sequences of a corpus, and how they were made."""
    if corpus.is_random or corpus.has_ids:
        pieces = random_pieces(vocabulary, seed) if corpus.is_random else flat_pieces(corpus.token_ids())
        return packed(pieces, length), {"start": None, "separator": None, "tokenizer": None}
    policy = TokenPolicy.of(tokenizer)
    if policy.start is not None and length < 2:
        msg = "--sequence-length 1: every sequence would be the start token alone; use 2 or more"
        raise CorpusError(msg)
    names = {
        key: None if id is None else tokenizer.convert_ids_to_tokens(id) for key, id in vars(policy).items()
    }
    rows = packed(encoded(corpus.documents(), tokenizer, policy), length, policy.start)
    return rows, {**names, "tokenizer": type(tokenizer).__name__}


def draw_tokens(
    path: Path,
    corpus: Corpus,
    tokenizer: Any,
    *,
    sequences: int,
    length: int,
    vocabulary: int,
    seed: int,
    advance: Advance,
) -> dict[str, Any]:
    """Write the first ``sequences`` packed sequences of a corpus to ``path`` (``.npy``), and no more are read.

    Returns:
        dict: The token policy: ``start`` and ``separator`` token of the packing, and the tokenizer's class.
    """
    rows, policy = _sequences(corpus, tokenizer, length, vocabulary, seed)
    dtype = np.uint16 if vocabulary <= 1 << 16 else np.uint32
    with replacing(path) as draft:
        array = np.lib.format.open_memmap(draft, mode="w+", dtype=dtype, shape=(sequences, length))
        count = 0
        for row in _checked(rows, corpus, vocabulary):
            array[count] = row
            count += 1
            advance(length)
            if count == sequences:
                break
        array.flush()
        if count == 0:
            raise CorpusError(_too_short(corpus, length))
        if count < sequences:
            whole = np.array(array[:count])  # out of the mapping, before the file under it is written anew
            with draft.open("wb") as stream:
                np.save(stream, whole, allow_pickle=False)
    return policy


def _too_short(corpus: Corpus, length: int) -> str:
    empty = len(corpus.token_ids()) == 0 if corpus.has_ids else next(corpus.documents(), None) is None
    if empty:
        return f"corpus {corpus.spec!r}: is empty; give one that holds text or token ids"
    return (
        f"corpus {corpus.spec!r}: holds fewer tokens than one sequence of {length}; "
        "give a longer one, or a shorter --sequence-length"
    )
