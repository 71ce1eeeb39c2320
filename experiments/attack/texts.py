"""Sound texts of every form, and text on one line of any length, read to its end and tokenized."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from experiments.training.text import train_tokenizer
from lngeom.empirical.sweep import Drawing, draw_tokens
from lngeom.empirical.text import open_corpus


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


def onnx_norm(axis: int = -1, *inputs: str, shape: Sequence[int | str] = ("a", 8)) -> bytes:
    """An ONNX file of one LayerNormalization with a gain, of an input of some shape."""
    import onnx
    from onnx import helper

    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in "xy")
    gain = onnx.numpy_helper.from_array(np.linspace(0.5, 2, 8, dtype=np.float32), "g")
    node = helper.make_node("LayerNormalization", list(inputs or "xg"), ["y"], axis=axis)
    graph = helper.make_graph([node], "norm", [x], [y], [gain])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def read_corpus(path: Path) -> None:
    """Read a corpus to its end."""
    corpus = open_corpus(str(path))
    corpus.token_ids().sum() if corpus.has_ids else list(corpus.documents())


SUFFIXES = (".txt", ".txt.gz")
_ALPHABETS = ('abc \\"ä', "漢字😀é", "x")
_TOKENS = 5_000


def write_line(path: Path, size: int, generator: random.Random) -> str:
    """Write a line of about so many bytes; returns the SHA-256 of its text."""
    block = "".join(generator.choices(generator.choice(_ALPHABETS), k=1 << 14)) + "é"
    opened = cast("Callable[..., Any]", gzip.open if path.suffix == ".gz" else open)
    written, digest = block.encode(), hashlib.sha256()
    with opened(path, "wb", **({"compresslevel": 1} if path.suffix == ".gz" else {})) as stream:
        for _ in range(max(1, size // len(written))):
            stream.write(written)
            digest.update(written)
    return digest.hexdigest()


def read_line(path: Path) -> str:
    """Read a corpus to its end and draw tokens of it; returns the SHA-256 of its text and the peak of memory in MB."""
    tokenizer = train_tokenizer(["a few words"], 258)
    Path("/proc/self/clear_refs").write_text("5")
    begun, digest = _megabytes("VmRSS"), hashlib.sha256()
    for text in open_corpus(str(path)).documents():
        digest.update(text.encode())
    with tempfile.TemporaryDirectory() as folder:
        corpus, drawing = open_corpus(str(path)), Drawing(_TOKENS // 50, 50, 258, 0)
        draw_tokens(Path(folder, "tokens.npy"), corpus, tokenizer, drawing, lambda _: None)
    return f"{digest.hexdigest()} {_megabytes('VmHWM') - begun:.1f}"


def _megabytes(entry: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(entry)) * 1024 / 1e6
