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

_HEADS = {
    ".npy": b"\x93NUMPY\x01\x00",
    ".gguf": b"GGUF\x03\x00\x00\x00",
    ".gz": b"\x1f\x8b\x08\x00",
    ".bz2": b"BZh9",
    ".xz": b"\xfd7zXZ\x00",
    ".xml": b"<?xml version='1.0' encoding='",
    ".csv": b"site,side,bucket,tokens\n",
}
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_JSON = st.recursive(_VALUES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=8), v, max_size=4))
_ENTRY = st.fixed_dictionaries(
    {"dtype": st.sampled_from(["F32", "I64", "X"]), "shape": st.lists(st.integers(-1, 1 << 62), max_size=3),
     "data_offsets": st.lists(st.integers(-1, 1 << 62), min_size=1, max_size=3)}
)  # fmt: skip
_SAFETENSORS = st.builds(
    lambda head, size, rest: (len(head) + size).to_bytes(8, "little") + head + rest,
    st.dictionaries(st.sampled_from(["a", "__metadata__"]), _ENTRY | _JSON).map(lambda v: json.dumps(v).encode()),
    st.sampled_from([0, 0, 1, 1 << 40]), st.binary(max_size=40),
)  # fmt: skip
_SHAPE = st.tuples(st.sampled_from(["<u2", "<f8", "|O", "zz", ">i8"]), st.booleans(), _JSON | st.just((1 << 60,)))
_NPY = _SHAPE.map(lambda t: f"{{'descr': {t[0]!r}, 'fortran_order': {t[1]}, 'shape': {t[2]!r}}}\n".encode()).map(
    lambda head: _HEADS[".npy"] + len(head).to_bytes(2, "little") + head + bytes(16)
)


def _contents(name: str, sound: bytes) -> st.SearchStrategy[bytes]:
    head = next((value for suffix, value in _HEADS.items() if name.endswith(suffix)), b"")
    cut = st.tuples(st.integers(0, len(sound)), st.binary(max_size=4), st.integers(0, len(sound)))
    return st.one_of(
        st.binary(max_size=80), st.binary(max_size=60).map(lambda rest: head + rest), _NPY if "npy" in name else
        _SAFETENSORS if "safetensors" in name else _JSON.map(lambda value: json.dumps(value).encode()),
        cut.map(lambda c: sound[: c[0]] + c[1] + sound[c[2] :]),
    )  # fmt: skip


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
    content = data.draw(_contents(name, sound))
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
