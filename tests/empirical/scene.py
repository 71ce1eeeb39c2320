"""A tiny network, a text, and what commands that write to the disk make of them, to be damaged and gone on with."""

import contextlib
import resource
import shutil
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
