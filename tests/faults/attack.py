"""Attack the measurements from all sides and count what is right: the right result, or one clear line.

``python -m tests.faults.attack`` makes 1,000 bit flips and truncations over the files of a sweep and of a training, and
as many damaged inputs to the loaders; ``--times 10`` fewer. It prints a table and exits with 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from rich.console import Console
from transformers import LlamaConfig, LlamaForCausalLM

from empirical.corpora import open_corpus
from empirical.models import find_model, load_model
from empirical.sweep import Sweep, run_sweep
from lngeom import LngeomError
from lngeom.cli import main

Attempt = Callable[[random.Random], str]
"""One attack; returns what was wrong, or nothing."""


def damage(path: Path, generator: random.Random) -> str:
    """Flip one bit of a file or cut it off; returns what was done."""
    data = bytearray(path.read_bytes())
    if not data or generator.random() < 0.1:
        path.write_bytes(data[: generator.randrange(len(data) + 1)])
        return f"{path.name} cut"
    place = generator.randrange(len(data))
    data[place] ^= 1 << generator.randrange(8)
    path.write_bytes(data)
    return f"{path.name}, bit of byte {place}"


def outcome(*words: object) -> str:
    """What a command said in one line if it refused, "done" if it was done; anything else is wrong."""
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            code = main([str(word) for word in words])
        except Exception as error:  # what is wrong is just this: an error that no one foresaw
            return f"{type(error).__name__}: {error}"
    lines = told.getvalue().strip().splitlines()
    if code == 2 and len(lines) == 1:
        return "refused"
    return "done" if code == 0 else f"exit code {code}: {lines}"


class Scene:
    """A tiny model, a text of ids, a sweep stopped after its shards, one that is finished, and a training."""

    def __init__(self, base: Path) -> None:
        self.base, self.model, self.ids = base, base / "model", base / "ids.npy"
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
        )
        LlamaForCausalLM(config).save_pretrained(self.model)
        np.save(self.ids, np.random.default_rng(0).integers(0, 16, 2048).astype(np.uint16))
        self.sweep_words = ["--tokens", 64, "--sequence-length", 8, "--shard-tokens", 16, "--directions", 2]
        with mock.patch("empirical.sweep._sweep._finish"):
            assert self.sweep(base / "stopped") == "done"
        assert self.sweep(base / "finished") == "done"
        np.save(base / "other.npy", np.random.default_rng(1).integers(0, 16, 64))
        sweep = Sweep(
            str(self.model), str(base / "other.npy"), tokens=64, sequence_length=8, directions=2,
            output=str(base / "beside"),
        )  # fmt: skip
        run_sweep(sweep, console=Console(quiet=True), show=False)
        assert self.merge(base / "finished", base / "merged") == "done"
        assert self.train(base / "whole", base / "data") == "done"
        assert self.train(base / "trained", base / "data", "--minutes", 1e-9) == "done"  # stopped after a step

    def sweep(self, output: Path) -> str:
        """Run or resume the sweep."""
        return outcome(
            "sweep", self.model, "--corpus", self.ids, "--output", output, "--device", "cpu", *self.sweep_words
        )

    def merge(self, run: Path, output: Path) -> str:
        """Merge a finished run with the one beside it."""
        return outcome("merge", run, self.base / "beside", "--output", output)

    def train(self, output: Path, data: Path, *more: object) -> str:
        """Run or resume the training."""
        return outcome(
            "train", "--norm", "rms", "--corpus", self.ids, "--data", data, "--output", output, "--layers", 1,
            "--width", 8, "--heads", 1, "--steps", 4, "--batch-size", 2, "--sequence-length", 8, "--no-networks",
            "--held-out-tokens", 16, "--directions", 2, "--device", "cpu", "--save-every", 2, *more,
        )  # fmt: skip

    @contextlib.contextmanager
    def copy(self, *names: str) -> Iterator[list[Path]]:
        """Copies of directories, to be damaged."""
        with tempfile.TemporaryDirectory(dir=self.base) as folder:
            yield [Path(shutil.copytree(self.base / name, Path(folder, name))) for name in names]

    def _judged(self, done: str, what: str, found: Path, expected: Path) -> str:
        if done == "refused" or (done == "done" and found.read_bytes() == expected.read_bytes()):
            return ""
        return f"{what}: {done}, and the table is another" if done == "done" else f"{what}: {done}"

    def stopped(self, generator: random.Random) -> str:
        """A run that was stopped, one of its files damaged, and resumed."""
        with self.copy("stopped") as (run,):
            what = damage(generator.choice(_files(run)), generator)
            return self._judged(self.sweep(run), what, run / "sites.csv", self.base / "finished" / "sites.csv")

    def finished(self, generator: random.Random) -> str:
        """A finished run, one of its files damaged, and merged with another."""
        with self.copy("finished") as (run,):
            what = damage(generator.choice([p for p in _files(run) if p.suffix not in (".svg", ".html")]), generator)
            done = self.merge(run, run.parent / "merged")
            return self._judged(done, what, run.parent / "merged" / "sites.csv", self.base / "merged" / "sites.csv")

    def trained(self, generator: random.Random) -> str:
        """A training that was stopped, a file of it or of its tokens damaged, and resumed."""
        with self.copy("trained", "data") as (run, data):
            what = damage(generator.choice([*_files(run), *_files(data)]), generator)
            return self._judged(self.train(run, data), what, run / "norms.csv", self.base / "trained" / "norms.csv")

    def model_files(self, generator: random.Random) -> str:
        """A model directory, one of its files damaged: refused, or loaded; its fingerprint says what was."""
        with self.copy("model") as (model,):
            what = damage(generator.choice([model / "config.json", model / "model.safetensors"]), generator)
            return _refused_or_done(what, lambda: load_model(find_model(str(model)), device="cpu"))

    def corpora(self, generator: random.Random) -> str:
        """A file of random bytes, or a sound one damaged, under each suffix that is known."""
        suffix = generator.choice(_SUFFIXES)
        path = self.base / f"attacked{suffix}"
        sound = _SOUND.get(suffix, b"")
        path.write_bytes(sound or generator.randbytes(generator.randrange(200)))
        what = damage(path, generator) if sound else f"random bytes as {suffix}"

        def read() -> None:
            corpus = open_corpus(str(path))
            corpus.token_ids().sum() if corpus.has_ids else list(corpus.documents())

        return _refused_or_done(f"{what}: {path.read_bytes()[:80]!r}", read)


def _npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(20, dtype=np.uint16))
    return stream.getvalue()


_SUFFIXES = (".txt", ".jsonl", ".xml", ".npy", ".bin", ".txt.gz", ".jsonl.xz", ".xml.bz2")
_SOUND = {
    ".npy": _npy(),
    ".jsonl": b"".join(json.dumps({"text": f"text {n}", "more": [n, {"a": None}]}).encode() + b"\n" for n in range(5)),
    ".xml": b"<?xml version='1.0' encoding='utf-8'?><mediawiki><page><ns>0</ns><revision><text>'''Albedo''' [[a|b]]"
    b"</text></revision></page></mediawiki>",
}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def _refused_or_done(what: str, action: Callable[[], Any]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
    except LngeomError as error:
        return f"{what}: {error!r} is not a single line" if "\n" in str(error) else ""
    except Exception as error:  # what is wrong here is just this: an error that no one foresaw
        return f"{what}: {type(error).__name__}: {error}"
    return ""


def attack(base: Path, times: int, seed: int = 0) -> dict[str, list[str]]:
    """Attack each area so many times; returns what each attempt had wrong, by area."""
    pages = ("report.draw_figures", "report.write_report", "report.write_run_report")
    with contextlib.ExitStack() as patches:
        for page in pages:
            patches.enter_context(mock.patch(f"empirical.{page}"))
        scene, generator = Scene(base), random.Random(seed)
        areas: list[Attempt] = [scene.stopped, scene.finished, scene.trained, scene.model_files, scene.corpora]
        return {str(area.__name__): [area(generator) for _ in range(times)] for area in areas}


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000, help="attempts in each area (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = attack(Path(folder), arguments.times, arguments.seed)
    print("area          tried  right  wrong")
    for area, wrongs in found.items():
        wrong = [each for each in wrongs if each]
        print(f"{area:12} {len(wrongs):6} {len(wrongs) - len(wrong):6} {len(wrong):6}")
        print("".join(f"    {each}\n" for each in wrong), end="")
    return int(any(any(wrongs) for wrongs in found.values()))


if __name__ == "__main__":
    sys.exit(_main())
