"""A corpus: a named source of documents or of token ids."""

import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lngeom.files import sha256_of

from ..support import CorpusError
from .hub import SCHEME, streamed
from .ids import RANDOM, token_ids
from .plain import paragraphs, records
from .streams import COMPRESSIONS, content_suffix


def _articles(path: Path) -> Iterator[str]:
    from .mediawiki import articles  # the parser of wiki markup takes a while to load

    return articles(path)


_TEXTS: dict[str, Callable[[Path], Iterator[str]]] = {".xml": _articles, ".txt": paragraphs, ".jsonl": records}
"""Readers by suffix."""

_IDS = (".npy", ".bin")
_FORMATS = ".xml, .txt, .jsonl, each also with .bz2, .gz or .xz; .npy, .bin"


@dataclass(frozen=True)
class Corpus:
    r"""A source of documents (strings) or of token ids.

    Attributes:
        spec: As the user typed it: a path, ``hf:NAME:CONFIG``, or ``random``.
        path: The local file, or None.
    """

    spec: str
    path: Path | None

    @property
    def has_ids(self) -> bool:
        """Whether the corpus is stored as token ids, so that no tokenizer is needed."""
        return self.path is not None and self.path.suffix in _IDS

    @property
    def is_random(self) -> bool:
        """Whether token ids are to be drawn at random."""
        return self.spec == RANDOM

    @property
    def has_documents(self) -> bool:
        """Whether it says where its documents begin, as dumps, JSON lines and data sets of the hub do."""
        plain = self.path is not None and content_suffix(self.path) in (".txt", *_IDS)
        return not plain and not self.is_random

    def identity(self) -> str:
        """The name of its content: the hash of the file, or else the specification."""
        return self.sha256() or self.spec

    def documents(self) -> Iterator[str]:
        """Yield the texts one after another."""
        return streamed(self.spec) if self.path is None else _reader(self.path)(self.path)

    def token_ids(self) -> np.ndarray:
        """All token ids as one flat array, mapped from disk: uint16 from ``.bin``, any integer dtype from ``.npy``."""
        if self.path is None or not self.has_ids:
            raise CorpusError(f"corpus {self.spec!r}: holds text, not token ids; read it with documents()")
        return token_ids(self.path)

    def within(self, ids: np.ndarray, vocabulary: int) -> np.ndarray:
        """The token ids, if all of them are below `vocabulary`; else a ``CorpusError``."""
        low, high = int(ids.min(initial=0)), int(ids.max(initial=0))
        if low < 0 or high >= vocabulary:
            raise CorpusError(
                f"corpus {self.spec!r}: token id {low if low < 0 else high} is outside the model's vocabulary of "
                f"{vocabulary}; encode the text with the tokenizer of this model"
            )
        return ids

    def sha256(self) -> str | None:
        """Hash of the file; None for hub data sets, which are identified by their tokens."""
        if self.path is None:
            return None
        if self.path.is_dir():
            return hashlib.sha256("".join(map(sha256_of, sorted(self.path.glob("*.npz")))).encode()).hexdigest()
        return sha256_of(self.path)


def _reader(path: Path) -> Callable[[Path], Iterator[str]]:
    """The reader of a text file; dumps are published in parts whose names end in ``.xml-p1p41242.bz2``."""
    reader = _TEXTS.get(content_suffix(path), _articles if path.suffix in COMPRESSIONS else None)
    if reader is None:
        msg = f"corpus {str(path)!r}: unknown format {path.suffix!r}; known are {_FORMATS}, and hf:NAME:CONFIG"
        raise CorpusError(msg)
    return reader


def open_corpus(spec: str) -> Corpus:
    """The corpus behind a path, an ``hf:NAME[:CONFIG[:SPLIT]]``, or ``random`` (token ids drawn uniformly).

    Formats by suffix: MediaWiki dumps ``.xml``; ``.txt``; ``.jsonl`` with a field ``text``; each also compressed as
    ``.bz2``, ``.gz`` or ``.xz``; token ids ``.npy`` and ``.bin`` (flat uint16, as nanoGPT writes them).
    """
    if spec.startswith(SCHEME) or spec == RANDOM:
        return Corpus(spec, None)
    path = Path(spec).expanduser()
    if not path.exists():
        raise CorpusError(f"corpus {spec!r}: no such file; give a file ({_FORMATS}) or hf:NAME:CONFIG")
    if not path.is_file():
        if next(path.glob("*.npz"), None) is not None:
            return Corpus(spec, path)
        kind = "a directory" if path.is_dir() else "a pipe or a device"
        raise CorpusError(f"corpus {spec!r}: is {kind}; give one file ({_FORMATS}) or hf:NAME:CONFIG")
    if path.suffix not in _IDS:
        _reader(path)
    return Corpus(spec, path)


def bundled_wikipedia() -> Path:
    """The Wikipedia dump among gensim's test data: 106 articles of the English Wikipedia of 2016.

    The package is located and not imported.
    """
    package = importlib.util.find_spec("gensim")
    for root in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(root, "test", "test_data").glob("enwiki-*-pages-articles*.bz2")):
            return path
    raise CorpusError(
        "no corpus given, and the Wikipedia sample of gensim's test data is not installed; "
        "give one with --corpus, or install it with: pip install --no-deps gensim==4.4.0"
    )
