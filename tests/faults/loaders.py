"""Everything that is read from a file, by the name of the file: a value, or one clear line."""

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np

from empirical import observe
from empirical.models import find_model, load_config, load_model, load_tokenizer
from empirical.runs import RunDirectory, read_sequences
from empirical.support import read_sealed, read_table
from empirical.sweep import read
from empirical.text import open_corpus
from empirical.train import open_data


def _npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(20, dtype=np.uint16))
    return stream.getvalue()


_PLAIN = {
    ".txt": "a few words, ä ß 漢字\nand another line\n".encode(),
    ".jsonl": b"".join(json.dumps({"text": f"text {n}", "more": [n, {"a": None}]}).encode() + b"\n" for n in range(5)),
    ".xml": b"<?xml version='1.0' encoding='utf-8'?><mediawiki><page><ns>0</ns><revision><text>'''Albedo''' [[a|b]]"
    b"</text></revision></page></mediawiki>",
    ".npy": _npy(),
    ".bin": bytes(range(20)),
}
_PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
SOUND = _PLAIN | {f"{t}{p}": pack(_PLAIN[t]) for t in (".txt", ".jsonl", ".xml") for p, pack in _PACKED.items()}
"""Sound contents of a corpus, by suffix."""


def read_corpus(path: Path) -> None:
    """Read a corpus to its end."""
    corpus = open_corpus(str(path))
    corpus.token_ids().sum() if corpus.has_ids else list(corpus.documents())


def _model(path: Path) -> None:
    load_model(find_model(str(path.parent)), device="cpu")


READERS: dict[str, Callable[[Path], object]] = {
    **{f"corpus{suffix}": read_corpus for suffix in SOUND},
    "manifest.json": lambda path: RunDirectory(path.parent).manifest(),
    "sequences.csv": read_sequences,
    "state.safetensors": observe.load,
    "norms.csv": read_table,
    "run.json": read_sealed,
    "data.json": lambda path: open_data(path.parent),
    "config.json": _model,
    "model.safetensors": _model,
    "tokenizer.json": lambda path: load_tokenizer(find_model(str(path.parent))),
    "model.gguf": lambda path: load_config(find_model(str(path))),
    "DONE": lambda path: read(path.parent),
    "sites.csv": lambda path: read(path.parent),
    "predictions.csv": lambda path: read(path.parent),
}
"""What reads each file of a corpus, a run, a training or a model."""
