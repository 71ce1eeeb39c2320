"""A corpus as token ids on disk, a training part and a held-out part, and its sequences."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import entropy
from torch import Tensor
from transformers import GPT2Tokenizer, PreTrainedTokenizerBase

from lngeom.empirical.models import ModelSource, load_tokenizer
from lngeom.empirical.support import ArrayWriter, CorpusError
from lngeom.empirical.text import Corpus, TokenPolicy, encoded
from lngeom.errors import InputError, RunError
from lngeom.files import Json, write_folder

HELD_OUT_EVERY = 10
"""One document in so many is kept out of all training."""


class TokenData(NamedTuple):
    """Token ids of the training and of the held-out documents, shape (tokens,), each closed by the end of text.

    ``source`` is where they came from.
    """

    train: np.ndarray
    held_out: np.ndarray
    tokenizer: Any
    source: Json

    def unigram_entropy(self) -> float:
        """Entropy in nats of the token frequencies of the held-out text: no unigram model has a lower loss on it."""
        return float(entropy(np.bincount(self.held_out)))

    def batch(self, step: int, size: int, length: int, seed: int) -> Tensor:
        """The sequences of a step, shape (size, length + 1), int64; `seed` orders the text anew in each pass."""
        whole = (len(self.train) - 1) // length
        if whole < size:
            raise CorpusError(
                f"the training text has {len(self.train):,} tokens, fewer than {size} sequences of {length} tokens: "
                "use a longer corpus or a smaller --sequence-length"
            )
        turn, place = divmod(step, whole // size)
        order = np.random.default_rng([seed, turn]).permutation(whole)
        return _cut(self.train, order[place * size :][:size] * length, length)

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
        return _cut(self.held_out, starts, length)


def _cut(tokens: np.ndarray, starts: np.ndarray, length: int) -> Tensor:
    return torch.from_numpy(np.stack([tokens[start : start + length + 1] for start in starts]).astype(np.int64))


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerBase:
    """Byte-level BPE tokenizer with `vocabulary` tokens learnt from `texts`, as of GPT-2 (Radford et al. 2019, 2.2)."""
    tokenizer = GPT2Tokenizer().train_new_from_iterator(texts, vocabulary, show_progress=False)
    if len(tokenizer) != vocabulary:
        raise InputError(
            f"the text yields {len(tokenizer)} tokens, not the {vocabulary} asked for: give a --vocabulary of "
            "at least 257, all bytes and the end of text, or a longer corpus"
        )
    return tokenizer


def _is_held_out(index: int) -> bool:
    return index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def prepare(
    corpus: Corpus, folder: Path, *, tokenizer: str | None = None, vocabulary: int = 2_048, limit: int | None = None
) -> TokenData:
    """Tokenize a corpus into `folder`, unless that was done before, and open the result.

    `tokenizer` is a directory or hub id; by default one of `vocabulary` tokens is trained on the training documents.
    `limit` stops after so many tokens, for corpora larger than the run.
    """
    source = {"corpus": corpus.spec, "sha256": corpus.sha256(), "limit": limit}
    source |= {"tokenizer": tokenizer or f"byte-level BPE, {vocabulary} tokens"}

    def fill(draft: Path) -> None:
        if tokenizer is None:
            training = (text for n, text in enumerate(corpus.documents()) if not _is_held_out(n))
            made: Any = train_tokenizer(training, vocabulary)
        else:
            made = load_tokenizer(ModelSource(tokenizer, tokenizer))
        made.save_pretrained(draft / "tokenizer")
        with (draft / "train.npy").open("wb") as train, (draft / "held_out.npy").open("wb") as held_out:
            parts = [ArrayWriter(file, np.dtype("<u4")) for file in (train, held_out)]
            for n, ids in enumerate(encoded(corpus.documents(), made, TokenPolicy(None, made.eos_token_id))):
                parts[_is_held_out(n)].append(ids)
                if limit is not None and parts[0].rows + parts[1].rows >= limit:
                    break
            for part in parts:
                part.close()
        (draft / "source.json").write_text(json.dumps(source))

    write_folder(folder, fill)
    if (stored := json.loads((folder / "source.json").read_text())) != source:
        raise RunError(f"{folder} holds the tokens of {stored}, not of {source}: choose another --output")
    train, held_out = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("train", "held_out"))
    return TokenData(train, held_out, load_tokenizer(ModelSource(str(folder), str(folder / "tokenizer"))), source)
