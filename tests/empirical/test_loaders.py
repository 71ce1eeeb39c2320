import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from transformers import GPT2Config, GPT2LMHeadModel

from lngeom.empirical import observe
from lngeom.empirical.models import find_model, load_config, load_model, load_tokenizer
from lngeom.empirical.runs import RunDirectory, read_origins
from lngeom.empirical.support import read_table
from lngeom.empirical.sweep import measure, read_finished
from lngeom.empirical.text import open_corpus
from tests.support import refused_or


def _ids_file() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(20, dtype=np.uint16))
    return stream.getvalue()


_PLAIN = {
    ".txt": "a few words, ä ß 漢字\nand another line\n".encode(),
    ".jsonl": b"".join(json.dumps({"text": f"text {n}", "more": [n, {"a": None}]}).encode() + b"\n" for n in range(5)),
    ".xml": b"<?xml version='1.0' encoding='utf-8'?><mediawiki><page><ns>0</ns><revision><text>'''Albedo''' [[a|b]]"
    b"</text></revision></page></mediawiki>",
    ".npy": _ids_file(),
    ".bin": bytes(range(20)),
}
_PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
SOUND = _PLAIN | {f"{t}{p}": pack(_PLAIN[t]) for t in (".txt", ".jsonl", ".xml") for p, pack in _PACKED.items()}
"""Sound contents of a corpus, by suffix."""


def read_corpus(path: Path) -> None:
    corpus = open_corpus(str(path))
    corpus.token_ids().sum() if corpus.has_ids else list(corpus.documents())


def _model(path: Path) -> None:
    load_model(find_model(str(path.parent)), device="cpu")


READERS: dict[str, Callable[[Path], object]] = {
    **{f"corpus{suffix}": read_corpus for suffix in SOUND},
    "manifest.json": lambda path: RunDirectory(path.parent).manifest(),
    "sequences.csv": read_origins,
    "state.safetensors": observe.load_states,
    "norms.csv": read_table,
    "config.json": _model,
    "model.safetensors": _model,
    "tokenizer.json": lambda path: load_tokenizer(find_model(str(path.parent))),
    "model.gguf": lambda path: load_config(find_model(str(path))),
    "DONE": lambda path: read_finished(path.parent),
    "sites.csv": lambda path: read_finished(path.parent),
    "predictions.csv": lambda path: read_finished(path.parent),
}
"""What reads each file of a corpus, a run or a model."""

_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_JSON = st.recursive(_VALUES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=8), v, max_size=4))


def _contents(sound: bytes) -> st.SearchStrategy[bytes]:
    """Any bytes, any JSON, and what is sound with a part taken out and another put in."""
    cut = st.tuples(st.integers(0, len(sound)), st.binary(max_size=4), st.integers(0, len(sound)))
    spliced = cut.map(lambda c: sound[: c[0]] + c[1] + sound[c[2] :])
    return st.binary(max_size=80) | _JSON.map(lambda value: json.dumps(value).encode()) | spliced


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A finished run and a model, side by side in one directory."""
    made = tmp_path_factory.mktemp("sound")
    measure(torch.nn.Sequential(torch.nn.RMSNorm(8)), [torch.ones(4, 8)], made)
    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, n_positions=8)).save_pretrained(made)
    for suffix, content in SOUND.items():
        (made / f"corpus{suffix}").write_bytes(content)
    return made


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_content_is_read_or_refused_in_one_line(name: str, folder: Path, data: Any) -> None:
    path = folder / name
    sound = path.read_bytes() if path.exists() else b""
    content = data.draw(_contents(sound))
    try:
        path.write_bytes(content)
        assert refused_or(f"{name} {content!r}", lambda: READERS[name](path)) == ""
    finally:
        path.write_bytes(sound)


def test_sound_corpora_are_read_right(folder: Path) -> None:
    for suffix, content in SOUND.items():
        corpus = open_corpus(str(folder / f"corpus{suffix}"))
        if corpus.has_ids:
            assert corpus.token_ids().tolist() == (list(range(20)) if suffix == ".npy" else [*range(256, 5000, 514)])
        else:
            expected = {"txt": [SOUND[".txt"].decode()], "jsonl": [f"text {n}" for n in range(5)], "xml": ["Albedo b"]}
            assert list(corpus.documents()) == expected[suffix.split(".")[1]], content
