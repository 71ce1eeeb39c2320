"""Kill a sweep again and again at random moments, each time start it anew, and tell how it ended.

Run as ``python kill_and_resume.py MODEL CORPUS DIRECTORY KILLS``. What a killed process leaves on the disk changes only
where it opens a file for writing, renames, removes, makes a directory or changes permissions; those moments are
counted by an audit hook, and the process sends itself SIGKILL at one of them, drawn at random. Processes are forked
from one that has everything imported, so that a start costs little.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

import empirical.report
from lngeom.cli import main

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}


def changes_disk(event: str, arguments: tuple[Any, ...], directory: str) -> bool:
    """Whether an audit event changes what is in the run directory."""
    if not arguments or directory not in str(arguments[0]):
        return False
    if event == "open":
        _, mode, flags = arguments
        return bool(flags & _WRITING) or bool(set(mode or "") & set("wax+"))
    return event in _CHANGES


def in_child(action: Callable[[], int]) -> int:
    """Run `action` in a forked process; returns its exit code, or the negative number of the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                os._exit(action())
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def sweep(words: list[str], directory: Path, fatal: int, counted: Path | None = None) -> int:
    """A sweep that is killed at its `fatal`-th change of the disk; tells how many there were."""
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if changes_disk(event, arguments, str(directory)):
            seen += 1
            if seen == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    code = main(words)
    if counted is not None:
        counted.write_text(str(seen))
    return code


def run(model: str, corpus: str, base: Path, kills: int) -> dict[str, Any]:
    """Kill until `kills` processes are dead; every run that comes to its end is compared with one left in peace."""
    torch.set_num_threads(1)
    for name in ("draw_figures", "write_report"):  # made from what is compared here, and most of the time
        setattr(empirical.report, name, lambda *_: None)
    options = "--tokens 512 --sequence-length 32 --batch-size 4 --shard-tokens 64 --directions 4 --device cpu"
    words = ["sweep", model, "--corpus", corpus, *options.split(), "--output"]
    peace, war = base / "peace", base / "war"
    code = in_child(lambda: sweep([*words, str(peace)], peace, 0, base / "changes"))
    moments = int((base / "changes").read_text())
    results = ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy", "DONE")
    expected = {name: (peace / name).read_bytes() for name in results}
    draw = random.Random(0)
    report: dict[str, Any] = {"code": code, "moments": moments, "kills": 0, "runs": 0, "starts": 0, "different": []}
    while report["kills"] < kills:
        ended = None
        while ended != 0:
            fatal = draw.randint(1, moments)
            ended = in_child(lambda fatal=fatal: sweep([*words, str(war)], war, fatal))
            report["starts"] += 1
            if ended == -signal.SIGKILL:
                report["kills"] += 1
            elif ended != 0:
                report["different"].append(f"exit code {ended}")
                return report
        report["runs"] += 1
        report["different"] += [name for name, data in expected.items() if (war / name).read_bytes() != data]
        report["different"] += [path.name for path in war.rglob("*.draft")]
        shutil.rmtree(war)
    return report


if __name__ == "__main__":
    _, model, corpus, base, kills = sys.argv
    print(json.dumps(run(model, corpus, Path(base), int(kills))))
