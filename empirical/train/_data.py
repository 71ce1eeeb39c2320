"""A corpus as token ids on disk, a training part and a held-out part, and the sequences of every step of a run."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerFast

from lngeom.errors import InputError

from ..models import ModelSource, load_tokenizer
from ..runs import RunDirectory
from ..support import ArrayWriter, CorpusError, ModelError, RunError
from ..text import Corpus, TokenPolicy, encoded, flat_pieces

END_OF_TEXT = "<|endoftext|>"
"""GPT-2's token between documents."""

HELD_OUT_EVERY = 10
"""One document in so many (of token ids: the last part in so many) is kept out of all training."""

_FILES = ("train.npy", "held_out.npy")
_DTYPE = np.dtype("<u4")


@dataclass(frozen=True)
class TokenData:
    """Token ids of a corpus, split into a training and a held-out part.

    Attributes:
        train, held_out: Token ids, shape (tokens,): documents one after another, each closed by the end-of-text token.
        vocabulary: Number of tokens of the tokenizer.
        end_of_text: The token that closes a document.
        source: Where the text came from and how it was tokenized, for the manifest.
        tokenizer: Directory of the tokenizer, copied beside every checkpoint; None for a corpus of token ids.
    """

    train: np.ndarray
    held_out: np.ndarray
    vocabulary: int
    end_of_text: int
    source: dict[str, str | int | None]
    tokenizer: Path | None

    def digest(self) -> str:
        """SHA-256 over all token ids: two runs with one digest saw the same text."""
        digest = hashlib.sha256()
        for part in (self.train, self.held_out):
            for piece in flat_pieces(part):
                digest.update(piece.astype(_DTYPE).tobytes())
        return digest.hexdigest()

    def unigram_entropy(self) -> float:
        """Entropy in nats of the token frequencies of the held-out text: no unigram model has a lower loss on it."""
        counts = np.bincount(self.held_out, minlength=1).astype(float)
        frequencies = counts[counts > 0] / counts.sum()
        return float(-(frequencies * np.log(frequencies)).sum())

    def held_out_sequences(self, length: int, tokens: int) -> Tensor:
        """Sequences of `length` tokens of the held-out text, spread evenly over it, at least `tokens` tokens in all.

        Shape (sequences, length + 1), int64: the last token is predicted and not read.
        """
        wanted, whole = -(-tokens // length), (len(self.held_out) - 1) // length
        if wanted > whole:
            raise CorpusError(
                f"the held-out text has {len(self.held_out):,} tokens, {whole} sequences of {length}, fewer than the "
                f"{wanted} to be measured: lower --held-out-tokens or use a longer corpus"
            )
        starts = np.arange(wanted) * whole // wanted * length
        return torch.from_numpy(np.stack([self.held_out[s : s + length + 1] for s in starts]).astype(np.int64))


def _is_held_out(index: int) -> bool:
    return index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def _flat_ids(corpus: Corpus) -> Iterator[tuple[bool, np.ndarray]]:
    ids = corpus.token_ids()
    border = len(ids) - len(ids) // HELD_OUT_EVERY
    yield from ((False, piece) for piece in flat_pieces(ids[:border]))
    yield from ((True, piece) for piece in flat_pieces(ids[border:]))


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE tokenizer with `vocabulary` tokens learnt from `texts`, as of GPT-2 (Radford et al. 2019, 2.2).

    Raises:
        InputError: If that is less than the 256 bytes and the end-of-text token, or more than the text supports.
    """
    if vocabulary < 257:
        msg = f"the vocabulary has {vocabulary} tokens: it needs at least 257, all bytes and the end of text"
        raise InputError(msg)
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    if model.get_vocab_size() < vocabulary:
        raise InputError(
            f"the text yields {model.get_vocab_size()} tokens, fewer than the {vocabulary} asked for: "
            "lower --vocabulary or use a longer corpus"
        )
    return PreTrainedTokenizerFast(tokenizer_object=model, eos_token=END_OF_TEXT, bos_token=END_OF_TEXT)


def _tokenizer(corpus: Corpus, name: str | None, vocabulary: int) -> PreTrainedTokenizerFast:
    """The tokenizer of that name, whose code is never run; without one, a tokenizer trained on the training part."""
    if name is None:
        return train_tokenizer((t for n, t in enumerate(corpus.documents()) if not _is_held_out(n)), vocabulary)
    tokenizer = load_tokenizer(ModelSource(name, name))
    if not isinstance(tokenizer.eos_token_id, int):
        raise ModelError("the tokenizer has no end-of-text token (eos_token), which must stand between the documents")
    return tokenizer


def _write(pieces: Iterable[tuple[bool, np.ndarray]], folder: Path, limit: int | None) -> tuple[int, int, int]:
    """Write both parts, at most `limit` tokens in all; returns their lengths and the largest id."""
    largest = 0
    with (folder / _FILES[0]).open("wb") as train, (folder / _FILES[1]).open("wb") as held_out:
        parts = [ArrayWriter(file, _DTYPE) for file in (train, held_out)]
        for kept, ids in pieces:
            parts[kept].append(ids)
            largest = max(largest, int(ids.max(initial=0)))
            if limit is not None and parts[0].rows + parts[1].rows >= limit:
                break
        for part in parts:
            part.close()
    return parts[0].rows, parts[1].rows, largest


def prepare(
    corpus: Corpus, folder: Path, *, tokenizer: str | None = None, vocabulary: int = 2_048, limit: int | None = None
) -> TokenData:
    """Tokenize a corpus into `folder`, unless that was done before, and open the result.

    Every tenth document is held out, of token ids the last tenth. `tokenizer` is a directory or hub id; by default one
    of `vocabulary` tokens is trained on the training documents. `limit` stops after so many tokens, for corpora larger
    than the run. Another process may not prepare the same folder at the same time.

    Raises:
        CorpusError: If there is too little text to hold some out.
        RunError: If the folder holds the tokens of something else.
    """
    source: dict[str, str | int | None] = {"corpus": corpus.spec, "sha256": corpus.sha256(), "limit": limit}
    if not corpus.has_ids:
        source |= {"tokenizer": tokenizer or f"byte-level BPE, {vocabulary} tokens"}
    run = _directory(folder)
    if not run.is_done:
        with run.claim():
            if run.begin({"source": source}, {}) != "done":
                run.amend(**_tokenize(corpus, folder, tokenizer=tokenizer, vocabulary=vocabulary, limit=limit))
                run.finish()
    return open_data(folder, source)


def _directory(folder: Path) -> RunDirectory:
    return RunDirectory(folder, manifest="data.json", results=_FILES, shards=False)


def _tokenize(
    corpus: Corpus, folder: Path, *, tokenizer: str | None, vocabulary: int, limit: int | None
) -> dict[str, int]:
    """Write the tokenizer and both parts; returns the number of tokens it has, and the one that ends a document."""
    made: Any = None
    if corpus.has_ids:
        pieces = _flat_ids(corpus)
    else:
        made = _tokenizer(corpus, tokenizer, vocabulary)
        made.save_pretrained(str(folder / "tokenizer"))
        ids = encoded(corpus.documents(), made, TokenPolicy(None, made.eos_token_id))
        pieces = ((_is_held_out(number), each) for number, each in enumerate(ids))
    train, held_out, largest = _write(pieces, folder, limit)
    if not train or not held_out:
        raise CorpusError(
            f"corpus {corpus.spec!r}: {train + held_out:,} tokens, too few to train on nine tenths and measure "
            f"on one; give at least {HELD_OUT_EVERY} documents: records of .jsonl, pages of a dump; a .txt file "
            "has one a megabyte"
        )
    size, end = (largest + 1, 0) if made is None else (len(made), made.eos_token_id)
    return {"vocabulary": size, "end_of_text": end}


def open_data(folder: Path, source: dict[str, str | int | None] | None = None) -> TokenData:
    """Open what :func:`prepare` wrote; with `source`, refuse a folder that was made from another one."""
    try:
        stored = _directory(folder).finished_manifest()
        parts = [np.load(folder / name, mmap_mode="r") for name in _FILES]
    except (OSError, ValueError, RunError) as error:
        raise RunError(f"{folder} holds no tokenized corpus ({error}): remove it to have it made again") from error
    if source is not None and stored["source"] != source:
        raise RunError(f"{folder} holds the tokens of {stored['source']}, not of {source}: choose another folder")
    about = {name: stored[name] for name in ("vocabulary", "end_of_text", "source")}
    tokenizer = folder / "tokenizer"
    return TokenData(parts[0], parts[1], **about, tokenizer=tokenizer if tokenizer.is_dir() else None)


class Sequences(Dataset[dict[str, Tensor]]):
    """The sequences of a run in their order, a pure function of the seed: nothing needs to be remembered.

    The training text is cut into sequences anew in each pass, at an offset of its own, and visited in an order of
    its own. Sequence number n of the run is sequence n mod N of pass n div N, N sequences to a pass (`per_pass`). Each
    has `length` predicted tokens; one token more is read, which is predicted alone.

    >>> import numpy as np
    >>> from empirical.train import Sequences
    >>> text = Sequences(np.arange(9), length=2, count=12, seed=0)
    >>> text[10]["input_ids"].diff().tolist()  # a stretch of the text
    [1, 1]
    """

    def __init__(self, tokens: np.ndarray, *, length: int, count: int, seed: int) -> None:
        self._tokens, self._length, self._count, self._seed = tokens, length, count, seed
        # One sequence is set aside for the offset, which is at most length - 1.
        self.per_pass = (len(tokens) - 1) // length - 1
        if self.per_pass < 1:
            raise CorpusError(
                f"the training text has {len(tokens):,} tokens, fewer than two sequences of {length} tokens: "
                "use a longer corpus or a smaller --sequence-length"
            )
        self._current: tuple[int, int, np.ndarray] | None = None

    def __len__(self) -> int:
        return self._count

    def _pass(self, number: int) -> tuple[int, np.ndarray]:
        if self._current is None or self._current[0] != number:
            generator = np.random.default_rng([self._seed, number])
            offset = int(generator.integers(self._length))
            self._current = (number, offset, generator.permutation(self.per_pass))
        return self._current[1:]

    def __getitem__(self, n: int) -> dict[str, Tensor]:
        offset, order = self._pass(n // self.per_pass)
        start = offset + int(order[n % self.per_pass]) * self._length
        ids = np.asarray(self._tokens[start : start + self._length + 1], dtype=np.int64)
        return {"input_ids": torch.from_numpy(ids)}
