"""The targets of the attack: every command that writes to the disk, on a tiny network, and its results."""

import contextlib
import errno
import functools
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from lngeom.cli import main
from lngeom.errors import LngeomError


class Stage(NamedTuple):
    """A command: its words but the directories; what of the scene it reads, or works on; and the results to compare."""

    words: str
    reads: tuple[str, ...]
    results: tuple[str, ...]
    within: str = ""


_SHORT = "--sequence-length 16 --device cpu"
STAGES = {
    "sweep": Stage(
        f"sweep --tokens 128 --shard-tokens 32 --directions 2 {_SHORT}",
        ("model", "--corpus", "ids.npy"),
        ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy", "DONE"),
    ),
    "report": Stage("report", (), ("report.html",), within="finished"),
    "ablate": Stage(
        f"ablate --tokens 60 --site-tokens 30 --shard-tokens 20 {_SHORT}",
        ("model", "--corpus", "ids.npy"),
        ("ablation.csv",),
    ),
    "fold": Stage("fold --tokens 32", ("model", "--corpus", "ids.npy"), ("model.safetensors",)),
}


def said(*words: object) -> tuple[str, str]:
    """The outcome of a command and its output: "refused" in one line, "done", or anything else, which is a fault."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            code = main([str(word) for word in words])
        except SystemExit as error:  # of the parser
            code = error.code
        except Exception as error:  # what is wrong is just this: an error that no one foresaw
            return f"{type(error).__name__}: {error}", ""
    lines = errors.getvalue().strip().splitlines()
    if code == 2 and len(lines) == 1:
        return "refused", lines[0]
    return "done" if code == 0 else f"exit code {code}: {lines}", output.getvalue()


def in_child(action: Callable[[], str], seconds: int = 120) -> str:
    """The answer of an action in a forked process in a directory of its own; else "killed", or the exit code."""
    return in_children([action], seconds)[0]


def in_children(actions: Sequence[Callable[[], str]], seconds: int = 120) -> list[str]:
    """The answers of actions that run at the same time, each as :func:`in_child` gives it."""
    with tempfile.TemporaryDirectory() as folder:
        answers = [Path(tempfile.mkdtemp(dir=folder), "answer") for _ in actions]
        children = [_forked(action, answer, seconds) for action, answer in zip(actions, answers, strict=True)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        ended = ["killed" if code == -signal.SIGKILL else f"exit code {code}" if code else "" for code in codes]
        told = [answer.read_text() if answer.exists() else "nothing said" for answer in answers]
        return [end or answer for end, answer in zip(ended, told, strict=True)]


def _forked(action: Callable[[], str], answer: Path, seconds: int) -> int:
    if (child := os.fork()) == 0:
        signal.alarm(seconds)  # one that hangs is ended, and told as the exit code of that
        os.chdir(answer.parent)  # a word that is taken for a file name writes there
        with contextlib.suppress(BaseException):
            answer.write_text(action())
        os._exit(0)
    return child


_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
_hindrance: tuple[str, Callable[[], None]] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _hindrance is None or not arguments or _hindrance[0] not in str(arguments[0]):
        return
    if event == "open":
        _, mode, flags = arguments
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not set(mode or "") & set("wax+"):
            return
    elif event not in _CHANGES:
        return
    _hindrance[1]()


@functools.cache
def _listening() -> None:
    """Have the hook called from now on: it cannot be taken away again, and every test would pay for it."""
    sys.addaudithook(_hook)


@contextlib.contextmanager
def hindered(folder: Path, from_change: int, what: int, until: float = float("inf")) -> Iterator[None]:
    """Make changes of the disk in a folder fail with an error number, or kill this process at the first (number 0).

    Opening for writing, renaming, removing, making a directory, changing permissions: what a dying process leaves
    changes only there. The changes that fail are those from the given one on, until another.
    """
    global _hindrance
    _listening()
    seen = 0

    def change() -> None:
        nonlocal seen
        seen += 1
        if from_change <= seen < until:
            if not what:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(what, os.strerror(what), str(folder))

    _hindrance = (str(folder), change)
    try:
        yield
    finally:
        _hindrance = None


def read_only(folder: Path) -> contextlib.AbstractContextManager[None]:
    """A folder of a disk that nobody writes to."""
    return hindered(folder, 1, errno.EROFS)


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
    """A tiny model, a text of ids, and what each stage makes of them when left in peace.

    `longest` is how many bytes a line of text has that is attacked with; `more` are the stages beside the sweep.
    """

    def __init__(self, base: Path, longest: int = 1 << 16, *, more: Sequence[str] = tuple(STAGES)[1:]) -> None:
        torch.set_num_threads(1)  # processes are forked from this one
        self.base, self.model, self.longest = base, base / "model", longest
        torch.manual_seed(0)
        shape: dict[str, Any] = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 16, "n_positions": 32}
        GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0)).save_pretrained(self.model)
        self.ids = np.random.default_rng(0).integers(0, 16, 2048).astype(np.uint16)
        np.save(base / "ids.npy", self.ids)
        with mock.patch("lngeom.empirical.sweep.stages._finish"):
            self._made("sweep", base / "stopped")
        self._made("sweep", base / "finished")
        self.expected = {"sweep": self.results("sweep", base / "finished")}
        np.save(base / "beside.npy", self.ids[:64] + 1 & 15)
        self._made("sweep", base / "beside", "--corpus", base / "beside.npy", "--tokens", 64)
        shutil.copytree(base / "finished", base / "report")
        for name in more:
            self._made(name, base / name)
            self.expected[name] = self.results(name, base / name)

    def _made(self, stage: str, output: Path, *more: object) -> None:
        assert (done := self.run(stage, output, *more)) == "done", f"{stage}: {done}"

    @staticmethod
    def results(stage: str, output: Path) -> list[bytes]:
        """The results by which a stage is judged; a draft left behind is one more."""
        drafts = [bytes(path) for path in output.rglob("*.draft")]
        return [*((output / name).read_bytes() for name in STAGES[stage].results), *drafts]

    def run(self, stage: str, output: Path, *more: object) -> str:
        """Run a stage into a directory, or go on with it; pages are drawn in the stage that is about them."""
        return self.said(stage, output, *more)[0]

    def said(self, stage: str, output: Path, *more: object, reads: Sequence[object] = ()) -> tuple[str, str]:
        """The outcome of a stage and its output; `more` options override those of the stage, `reads` what it reads."""
        (command, *options), chosen = STAGES[stage].words.split(), STAGES[stage]
        reads = reads or [self.base / name if (self.base / name).exists() else name for name in chosen.reads]
        where = [output] if chosen.within else ["--output", output]
        pages: Any = dict.fromkeys(() if chosen.within else ("draw_figures", "write_report"), mock.DEFAULT)
        with mock.patch.multiple("lngeom.empirical.pages", **pages) if pages else contextlib.nullcontext():
            return said(command, *reads, *options, *where, *more)

    def judged(self, stage: str, done: str, output: Path, what: str = "") -> str:
        """The fault in a command's outcome or results; empty if it was refused, or they are as they should be."""
        if done == "refused":
            return ""
        same = done == "done" and self.results(stage, output) == self.expected[stage]
        return "" if same else f"{stage} {what}: {done}" + (", and the result is another" if done == "done" else "")

    @contextlib.contextmanager
    def copy(self, *names: str) -> Iterator[list[Path]]:
        """Copies of directories, to be damaged."""
        with tempfile.TemporaryDirectory(dir=self.base) as folder:
            yield [Path(shutil.copytree(self.base / name, Path(folder, name))) for name in names]


Attack = Callable[[Scene, random.Random], str]
AREAS: dict[str, tuple[Attack, float]] = {}
"""Attempts of one kind, each of which returns what was wrong, or nothing; and the share of all that an area gets."""


def area(name: str, share: float = 1.0) -> Callable[[Attack], Attack]:
    """Add an attack under a name; those that run commands several times, and take longer, get a smaller share."""
    return lambda attack: AREAS.setdefault(name, (attack, share))[0]


def refused_or(what: str, action: Callable[[], object]) -> str:
    """The fault of an action that may be refused in one line; words that it returns describe a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = action()
    except LngeomError as error:
        return f"{what}: {error!r} is not a single line" if "\n" in str(error) else ""
    except Exception as error:  # what is wrong here is just this: an error that no one foresaw
        return f"{what}: {type(error).__name__}: {error}"
    return answer if isinstance(answer, str) else ""


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
