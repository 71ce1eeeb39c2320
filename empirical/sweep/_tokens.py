"""The token ids of a run, drawn once, spread over its corpus, and where each sequence comes from."""

import hashlib
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..runs import Sequence
from ..support import Advance, CorpusError, replacing
from ..text import Corpus, TokenPolicy, encoded, packed, random_pieces

_AHEAD = 16
_LEAST_AHEAD, _MOST_AHEAD = 1 << 16, 1 << 22
"""To draw spread over a text it is read so many times as far as is measured; at least and at most so many tokens."""

MOST_DOCUMENTS = 1024
"""Where more are measured, neighbouring documents count as one, so that states stay small."""


def _text(
    corpus: Corpus, tokenizer: Any, length: int, ends: list[int]
) -> tuple[Iterator[np.ndarray], int, dict[str, Any]]:
    """The packed sequences of a text, the tokens of each that are of the text, and how they were made.

    ``ends`` receives the tokens up to the end of each document, as far as has been read.
    """
    policy = TokenPolicy.of(tokenizer)
    if policy.start is not None and length < 2:
        raise CorpusError("--sequence-length 1: every sequence would be the start token alone; use 2 or more")
    names = {key: None if id is None else tokenizer.convert_ids_to_tokens(id) for key, id in vars(policy).items()}

    def counted() -> Iterator[np.ndarray]:
        for ids in encoded(corpus.documents(), tokenizer, policy):
            ends.append(ends[-1] + len(ids))
            yield ids

    content = length - (policy.start is not None)
    return packed(counted(), length, policy.start), content, {**names, "tokenizer": type(tokenizer).__name__}


def _spread(rows: Iterable[np.ndarray], wanted: int, ahead: int) -> Iterator[tuple[int, np.ndarray]]:
    """``wanted`` rows and their numbers, at even distances among the first ``ahead``·``wanted``.

    Twice as many are held at most: when so many are there, every other is dropped, and of those to come too.
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
    path: Path,
    corpus: Corpus,
    tokenizer: Any,
    *,
    sequences: int,
    length: int,
    vocabulary: int,
    seed: int,
    advance: Advance,
) -> tuple[dict[str, Any], list[Sequence]]:
    """Write ``sequences`` packed sequences, spread over a corpus, to ``path`` (``.npy``).

    Of token ids the whole file is drawn from; of a text its first 16 times as many tokens, at least 65,536 and at most
    4 million, unless it is shorter or more are measured.

    Returns:
        dict: The token policy: ``start`` and ``separator`` token of the packing, and the tokenizer's class.
    """
    policy: dict[str, Any] = {"start": None, "separator": None, "tokenizer": None}
    content, ends = length, [0]
    if corpus.is_random:
        chosen = _spread(packed(random_pieces(vocabulary, seed), length), sequences, 1)
    elif corpus.has_ids:
        ids = corpus.token_ids()
        whole = len(ids) // length
        count = min(sequences, whole)
        numbers = (index * whole // count for index in range(count))
        chosen = ((n, np.asarray(ids[n * length : (n + 1) * length])) for n in numbers)
    else:
        rows, content, policy = _text(corpus, tokenizer, length, ends)
        wanted = sequences * length
        chosen = _spread(rows, sequences, min(max(_AHEAD, _LEAST_AHEAD // wanted), _MOST_AHEAD // wanted))
    dtype = np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)
    free, needed = shutil.disk_usage(path.parent).free, dtype.itemsize * sequences * length
    if corpus.is_random and needed > free:  # other corpora may end before
        msg = f"--tokens {sequences * length:,}: take {needed / 1e9:,.0f} GB and {free / 1e9:,.0f} are free; lower it"
        raise CorpusError(msg)
    places: list[tuple[int, str]] = []
    with replacing(path) as draft, draft.open("w+b") as stream:
        # Written and not mapped: a full disk is then an error that can be told, and not the end of the process.
        _head(stream, dtype, sequences, length)
        for number, row in chosen:
            stored = corpus.within(row, vocabulary).astype(dtype).tobytes()
            stream.write(stored)
            places.append((number * content, hashlib.sha256(stored).hexdigest()[:32]))
            advance(length)
        if not places:
            raise CorpusError(_too_short(corpus, length))
        stream.seek(0)
        _head(stream, dtype, len(places), length)
    named = corpus.has_documents
    found = [bisect_right(ends, place) - 1 if named else None for place, _ in places]
    ranks = {document: rank for rank, document in enumerate(dict.fromkeys(found))}
    units = len(ranks) if named else len(places)
    sources, identity = [], corpus.identity()
    for index, ((place, digest), document) in enumerate(zip(places, found, strict=True)):
        unit = index if document is None else ranks[document]
        group = unit * min(MOST_DOCUMENTS, units) // units
        offset = place if document is None else place - ends[document]
        sources.append(Sequence(identity, document, offset, group, digest))
    return policy, sources


def _head(stream: Any, dtype: np.dtype, count: int, length: int) -> None:
    """The header of a NumPy file; NumPy leaves room in it for any count, so that it can be written again."""
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count, length)}
    np.lib.format.write_array_header_1_0(stream, about)


def _too_short(corpus: Corpus, length: int) -> str:
    empty = len(corpus.token_ids()) == 0 if corpus.has_ids else next(corpus.documents(), None) is None
    if empty:
        return f"corpus {corpus.spec!r}: is empty; give one that holds text or token ids"
    return (
        f"corpus {corpus.spec!r}: holds fewer tokens than one sequence of {length}; "
        "give a longer one, or a shorter --sequence-length"
    )
