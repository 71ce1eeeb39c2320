"""Documents to sequences of one fixed length, so that no padding is ever needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support import CorpusError

_DOCUMENTS_AT_ONCE, _CHARACTERS_AT_ONCE = 8, 1 << 20


@dataclass(frozen=True)
class TokenPolicy:
    """Which special tokens separate documents and begin a sequence.

    Attributes:
        start: Id put at position 0 of every sequence, or None: the token that the tokenizer itself puts before a text.
        separator: Id put after every document, or None.
    """

    start: int | None
    separator: int | None

    @classmethod
    def of(cls, tokenizer: Any) -> TokenPolicy:
        """The tokenizer's own policy: its start token if it adds one to a text, its end token between documents."""
        try:
            added = tokenizer("a", add_special_tokens=True, verbose=False)["input_ids"]
        except Exception as error:
            raise _unusable(error) from None
        start = tokenizer.bos_token_id
        if start is None or not added or added[0] != start:
            # Encoders of the BERT kind open a text with their class token.
            start = tokenizer.cls_token_id if added and added[0] == tokenizer.cls_token_id else None
        return cls(start, tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id)


def _unusable(error: Exception) -> CorpusError:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return CorpusError(f"the tokenizer cannot encode a text ({reason}); save it again beside the model")


def encoded(documents: Iterable[str], tokenizer: Any, policy: TokenPolicy) -> Iterator[np.ndarray]:
    """Yield the token ids of each document, int64, the separator of `policy` after each.

    A few texts are held at a time. The start token belongs to sequences, see :func:`packed`.
    """
    ending = [] if policy.separator is None else [policy.separator]
    read = unknown = 0

    def ids_of(texts: list[str]) -> list[list[int]]:
        nonlocal read, unknown
        try:
            ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        except Exception as error:  # a tokenizer that is damaged raises what it likes, and where it likes
            raise _unusable(error) from None
        read += sum(map(len, ids))
        unknown += 0 if tokenizer.unk_token_id is None else sum(each.count(tokenizer.unk_token_id) for each in ids)
        if 2 * unknown > read:
            msg = f"{unknown:,} of the first {read:,} tokens of the text are unknown to the tokenizer"
            raise CorpusError(f"{msg}; give the tokenizer of this model, or a text in its language")
        return ids

    for batch in _batches(documents):
        if len(batch) > 1:
            yield from (np.asarray(ids + ending, dtype=np.int64) for ids in ids_of(batch))
        else:
            parts = [np.asarray(ids_of([part])[0], dtype=np.int64) for part in _parts(batch[0])]
            yield np.concatenate([*parts, np.asarray(ending, dtype=np.int64)])


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    """A few documents at a time, a long one alone: a tokenizer takes hundreds of bytes for each character."""
    batch: list[str] = []
    for text in documents:
        if batch and (len(batch) == _DOCUMENTS_AT_ONCE or sum(map(len, batch)) + len(text) > _CHARACTERS_AT_ONCE):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _parts(text: str) -> Iterator[str]:
    """A long text in parts, each from a space on where there is one: nearly all tokenizers cut there themselves."""
    begin = 0
    while len(text) - begin > _CHARACTERS_AT_ONCE:
        end = begin + _CHARACTERS_AT_ONCE
        end = max(text.rfind(" ", begin + 1, end), begin) if " " in text[begin + 1 : end] else end
        yield text[begin:end]
        begin = end
    yield text[begin:]


def packed(pieces: Iterable[np.ndarray], length: int, start: int | None = None) -> Iterator[np.ndarray]:
    """Cut arrays of token ids into sequences of exactly `length` tokens, each beginning with `start`, if given.

    The unfinished last sequence is dropped.
    """
    head = np.array([] if start is None else [start], dtype=np.int64)
    content = length - len(head)
    waiting: list[np.ndarray] = []
    held = 0
    for piece in pieces:
        waiting.append(piece)
        held += len(piece)
        if held < content:
            continue
        joined = np.concatenate(waiting)
        whole = held - held % content
        for row in joined[:whole].reshape(-1, content):
            yield np.concatenate([head, row])
        waiting, held = [joined[whole:]], held - whole


def flat_pieces(ids: np.ndarray, size: int = 1 << 20) -> Iterator[np.ndarray]:
    """Yield a long array of token ids in int64 pieces of `size`, so that a mapped file is read as it is needed."""
    for begin in range(0, len(ids), size):
        piece = ids[begin : begin + size]
        for odd in (int(piece.min()), int(piece.max())):
            if not 0 <= odd < 1 << 31:
                raise CorpusError(f"token id {odd}: ids are numbers from 0, below 2^31; encode the text again")
        yield np.asarray(piece, dtype=np.int64)
