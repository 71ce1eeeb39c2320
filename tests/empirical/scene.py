"""A tiny network, a text, and what commands that write to the disk make of them, to be damaged and gone on with."""

import contextlib
import errno
import functools
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.support import said

_OPTIONS = {
    "sweep": "--tokens 128 --shard-tokens 32 --directions 2 --sequence-length 16 --device cpu",
    "fold": "--tokens 32",
}
"""The commands that read the model and the text, and the options of each."""
_RESULTS = ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy", "DONE")
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
_locked: Path | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _locked is None or not arguments or str(_locked) not in str(arguments[0]):
        return
    writes = event == "open" and (arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or {*"wax+"} & {*arguments[1]})
    if writes or event in _CHANGES:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(_locked))


@functools.cache
def _listening() -> None:
    """Have the hook called from now on: it cannot be taken away again, and every test would pay for it."""
    sys.addaudithook(_hook)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder of a disk that nobody writes to."""
    global _locked
    _listening()
    _locked = folder
    try:
        yield
    finally:
        _locked = None


@contextlib.contextmanager
def short_files(size: int) -> Iterator[None]:
    """No file gets more than so many bytes: a write beyond fails, as on a disk that is full."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


class Scene:
    """A tiny model, a text of ids, a sweep of them that was stopped, one that is done, and a fold if asked for."""

    def __init__(self, base: Path, *, fold: bool = False) -> None:
        self.base, self.model = base, base / "model"
        torch.manual_seed(0)
        shape: dict[str, Any] = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 16, "n_positions": 32}
        GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0)).save_pretrained(self.model)
        np.save(base / "ids.npy", np.random.default_rng(0).integers(0, 16, 2048).astype(np.uint16))
        with mock.patch("lngeom.empirical.sweep.stages._finish"):
            assert self.run("sweep", base / "stopped") == "done"
        for command, name in [("sweep", "finished"), *[("fold", "fold")] * fold]:
            assert self.run(command, base / name) == "done"
        self.expected = self.results(base / "finished")

    @staticmethod
    def results(run: Path) -> list[bytes]:
        """The results by which a sweep is judged; a draft left behind is one more."""
        return [*((run / name).read_bytes() for name in _RESULTS), *(bytes(path) for path in run.rglob("*.draft"))]

    def run(self, command: str, output: Path, *more: object) -> str:
        return self.said(command, output, *more)[0]

    def said(self, command: str, output: Path, *more: object) -> tuple[str, str]:
        """The outcome of a command and its output; `more` options override its own."""
        reads: Sequence[object] = (self.model, "--corpus", self.base / "ids.npy")
        with mock.patch.multiple("lngeom.empirical.pages", draw_figures=mock.DEFAULT, write_report=mock.DEFAULT):
            return said(command, *reads, *_OPTIONS[command].split(), "--output", output, *more)

    def judged(self, done: str, run: Path) -> str:
        """The fault in a sweep's outcome or results; empty if it was refused, or they are as they should be."""
        if done == "refused" or (done == "done" and self.results(run) == self.expected):
            return ""
        return f"{done}, and the result is another" if done == "done" else done

    @contextlib.contextmanager
    def copy(self, *names: str) -> Iterator[list[Path]]:
        with tempfile.TemporaryDirectory(dir=self.base) as folder:
            yield [Path(shutil.copytree(self.base / name, Path(folder, name))) for name in names]
