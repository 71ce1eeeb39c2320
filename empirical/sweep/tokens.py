"""The token ids of a run, drawn once, spread over its corpus, and where each sequence comes from."""

import hashlib
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from lngeom.files import Json, replacing

from ..runs import Origin
from ..support import Advance, CorpusError
from ..text import Corpus, TokenPolicy, encoded, packed, random_pieces

_AHEAD = 16
_LEAST_AHEAD, _MOST_AHEAD = 1 << 16, 1 << 22
"""To draw spread over a text it is read so many times as far as is measured; at least and at most so many tokens."""

MOST_DOCUMENTS = 1024
"""Where more are measured, neighbouring documents count as one, so that states stay small."""


@dataclass(frozen=True)
class Drawing:
    """The sequences to be drawn: their number and length, the vocabulary of the model, the seed of random ids."""

    sequences: int
    length: int
    vocabulary: int
    seed: int

    @property
    def tokens(self) -> int:
        """Tokens of all sequences."""
        return self.sequences * self.length

    @property
    def dtype(self) -> np.dtype:
        """The smallest that holds the vocabulary."""
        return np.dtype(np.uint16 if self.vocabulary <= 1 << 16 else np.uint32)


@dataclass
class _Rows:
    """The chosen sequences of a corpus with their numbers among all of them, and how they were made.

    Attributes:
        content: Tokens of each that are of the text.
        ends: Tokens up to the end of each document, from 0, as far as the text has been read.
        policy: ``start`` and ``separator`` token of the packing, and the tokenizer's class.
    """

    chosen: Iterable[tuple[int, np.ndarray]]
    content: int
    ends: list[int] = field(default_factory=lambda: [0])
    policy: Json = field(default_factory=lambda: {"start": None, "separator": None, "tokenizer": None})


def _rows(corpus: Corpus, tokenizer: Any, wanted: Drawing) -> _Rows:
    length = wanted.length
    if corpus.is_random:
        pieces = random_pieces(wanted.vocabulary, wanted.seed)
        return _Rows(islice(enumerate(packed(pieces, length)), wanted.sequences), length)
    if corpus.has_ids:
        ids = corpus.token_ids()
        whole = len(ids) // length
        count = min(wanted.sequences, whole)
        numbers = (index * whole // count for index in range(count))
        return _Rows(((n, np.asarray(ids[n * length : (n + 1) * length])) for n in numbers), length)
    policy, ends = TokenPolicy.of(tokenizer), [0]
    if policy.start is not None and length < 2:
        raise CorpusError("--sequence-length 1: every sequence would be the start token alone; use 2 or more")

    def counted() -> Iterator[np.ndarray]:
        for ids in encoded(corpus.documents(), tokenizer, policy):
            ends.append(ends[-1] + len(ids))
            yield ids

    ahead = min(max(_AHEAD, _LEAST_AHEAD // wanted.tokens), _MOST_AHEAD // wanted.tokens)
    chosen = _spread(packed(counted(), length, policy.start), wanted.sequences, ahead)
    names = {key: None if id is None else tokenizer.convert_ids_to_tokens(id) for key, id in vars(policy).items()}
    return _Rows(chosen, length - (policy.start is not None), ends, {**names, "tokenizer": type(tokenizer).__name__})


def _spread(rows: Iterable[np.ndarray], wanted: int, ahead: int) -> Iterator[tuple[int, np.ndarray]]:
    """``wanted`` rows and their numbers, at even distances among the first ``ahead``·``wanted``.

    At most twice as many are held: at that point every second row is dropped, and later rows are thinned alike.
    """
    if ahead < 2:
        yield from islice(enumerate(rows), wanted)
        return
    held: list[tuple[int, np.ndarray]] = []
    stride = 1
    for number, row in islice(enumerate(rows), ahead * wanted):
        if number % stride:
            continue
        held.append((number, row.astype(np.uint32)))
        if len(held) == 2 * wanted:
            held, stride = held[::2], 2 * stride
    count = min(wanted, len(held))
    yield from (held[index * len(held) // count] for index in range(count))


def draw_tokens(
    target: Path, corpus: Corpus, tokenizer: Any, wanted: Drawing, advance: Advance
) -> tuple[Json, list[Origin]]:
    """Write packed sequences, spread over a corpus, to a file (``.npy``).

    Of token ids the whole file is drawn from; of a text its first 16 times as many tokens, at least 65,536 and at most
    4 million, unless it is shorter or more are measured.

    Returns:
        The token policy (``start`` and ``separator`` token of the packing, and the tokenizer's class), and the origin
        of each sequence.
    """
    free, needed = shutil.disk_usage(target.parent).free, wanted.dtype.itemsize * wanted.tokens
    if corpus.is_random and needed > free:  # other corpora may end before
        msg = f"--tokens {wanted.tokens:,}: take {needed / 1e9:,.0f} GB and {free / 1e9:,.0f} are free; lower it"
        raise CorpusError(msg)
    rows = _rows(corpus, tokenizer, wanted)
    places: list[int] = []
    digests: list[str] = []
    stored: list[np.ndarray] = []
    for number, row in rows.chosen:
        stored.append(corpus.within(row, wanted.vocabulary).astype(wanted.dtype))
        places.append(number * rows.content)
        digests.append(hashlib.sha256(stored[-1].tobytes()).hexdigest()[:32])
        advance(wanted.length)
    if not places:
        raise CorpusError(_too_short(corpus, wanted.length))
    with replacing(target) as draft, draft.open("wb") as stream:
        np.save(stream, np.stack(stored), allow_pickle=False)
    return rows.policy, _origins(corpus, places, digests, rows.ends)


def _origins(corpus: Corpus, places: Sequence[int], digests: Sequence[str], ends: Sequence[int]) -> list[Origin]:
    """Where sequences come from, by the tokens before each and the ends of the documents."""
    documents = [bisect_right(ends, place) - 1 if corpus.has_documents else None for place in places]
    ranks = {document: rank for rank, document in enumerate(dict.fromkeys(documents))}
    units = len(ranks) if corpus.has_documents else len(places)
    origins, identity = [], corpus.identity()
    for index, (place, document, digest) in enumerate(zip(places, documents, digests, strict=True)):
        unit = index if document is None else ranks[document]
        offset = place if document is None else place - ends[document]
        origins.append(Origin(identity, document, offset, unit * min(MOST_DOCUMENTS, units) // units, digest))
    return origins


def null_positions(sequences: int, length: int, every: int, seed: int) -> np.ndarray:
    """Which tokens are projected on the random directions: every `every`-th of each sequence, from a random one on.

    All documents take part, each with fewer tokens. Neighbouring tokens are correlated: intervals of ranks are hardly
    wider than from all tokens, and much narrower than from the same number of tokens in a few documents
    (docs/guides/sweep.md). bool, (sequences, length), the same on every machine.
    """
    first = np.random.Generator(np.random.PCG64([seed, 2])).integers(every, size=(sequences, 1))
    return np.arange(length) % every == first


def _too_short(corpus: Corpus, length: int) -> str:
    empty = len(corpus.token_ids()) == 0 if corpus.has_ids else next(corpus.documents(), None) is None
    holds = f"holds fewer tokens than one sequence of {length}; give a longer one, or a shorter --sequence-length"
    return f"corpus {corpus.spec!r}: {'is empty; give one that holds text or token ids' if empty else holds}"
