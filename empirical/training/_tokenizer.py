"""The tokenizer of a run: trained on the corpus itself, or any that the ``transformers`` library can load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer as Model, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lngeom import InputError

from ..corpora import TokenPolicy, encoded
from ..models import ModelSource, load_tokenizer as load_any
from ..runs import ModelError

END_OF_TEXT = "<|endoftext|>"
"""GPT-2's token between documents."""


class Tokenizer:
    """Makes token ids of documents, and can be stored; from :func:`train_tokenizer` or :func:`load_tokenizer`.

    Args:
        wrapped: tokenizer of ``transformers``. It must have an end-of-text token.
    """

    def __init__(self, wrapped: PreTrainedTokenizerFast) -> None:
        end = wrapped.eos_token_id
        if not isinstance(end, int):
            msg = "the tokenizer has no end-of-text token (eos_token), which must stand between the documents"
            raise ModelError(msg)
        self._wrapped = wrapped
        self.size: int = len(wrapped)
        self.end_of_text: int = end

    def encode(self, documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Token ids of each document, closed by the end-of-text token."""
        return encoded(documents, self._wrapped, TokenPolicy(None, self.end_of_text))

    def save(self, folder: Path) -> None:
        """Store the tokenizer in the form that ``AutoTokenizer`` loads."""
        self._wrapped.save_pretrained(str(folder))


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Byte-level BPE tokenizer, of GPT-2's kind, with `vocabulary` tokens learnt from `texts`.

    Raises:
        InputError: If `vocabulary` is less than the 256 bytes and the end-of-text token, or more than the text
            supports.

    References:
        Radford et al. 2019, "Language models are unsupervised multitask learners", section 2.2.

    >>> from empirical.training import train_tokenizer
    >>> tokenizer = train_tokenizer(["aaaa aaaa"], 258)  # all bytes, the end of text, and the pair aa
    >>> [len(ids) for ids in tokenizer.encode(["aaaa", "abab"])]  # aa aa end, and a b a b end
    [3, 5]
    """
    if vocabulary < 257:
        msg = f"the vocabulary has {vocabulary} tokens: it needs at least 257, all bytes and the end of text"
        raise InputError(msg)
    model = Model(models.BPE())
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
        msg = (
            f"the text yields {model.get_vocab_size()} tokens, fewer than the {vocabulary} asked for: "
            "lower --vocabulary or use a longer corpus"
        )
        raise InputError(msg)
    return Tokenizer(PreTrainedTokenizerFast(tokenizer_object=model, eos_token=END_OF_TEXT, bos_token=END_OF_TEXT))


def load_tokenizer(name: str) -> Tokenizer:
    """Tokenizer of a local directory or of the hub; code that comes with it is never run.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from empirical.training import load_tokenizer, train_tokenizer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train_tokenizer(["aaaa aaaa"], 258).save(Path(folder))
    ...     load_tokenizer(folder).size
    258
    """
    return Tokenizer(load_any(ModelSource(name, name)))
