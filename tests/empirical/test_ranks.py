"""Several processes: the same numbers as one, also when one of them dies on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from empirical import statistics
from lngeom.cli import main

# A module that Python imports at its start: it kills the process of rank 1 in its first life, when it has written a
# shard and begins with the next.
KILLER = """
import os, signal, sys
if os.environ.get("RANK") == "1" and os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0":
    seen = []
    def hook(event, arguments):
        if event == "os.rename" and "shards" in str(arguments[1]):
            seen.append(1)
            if len(seen) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
"""
OPTIONS = [
    "--tokens",
    "512",
    "--sequence-length",
    "32",
    "--batch-size",
    "4",
    "--shard-tokens",
    "64",
    "--directions",
    "4",
    "--device",
    "cpu",
]


@pytest.mark.parametrize(("processes", "fault"), [(2, True), (3, False)])
@pytest.mark.usefixtures("without_pages")
def test_processes_of_torchrun_measure_what_one_measures(
    model_directory: Path, token_file: Path, tmp_path: Path, processes: int, fault: bool
) -> None:
    words = ["sweep", str(model_directory), "--corpus", str(token_file), *OPTIONS, "--output"]
    assert main([*words, str(tmp_path / "one")]) == 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if fault:
        (tmp_path / "sitecustomize.py").write_text(KILLER)
        environment["PYTHONPATH"] = str(tmp_path)
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
    ]
    done = subprocess.run(
        [*launcher, "--max-restarts", "1", "-m", "empirical", *words, str(tmp_path / "many")],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ("continuing after" in done.stdout) == fault
    assert ("-9" in done.stderr) == fault
    # Shards are measured one by one and merged in order, whoever measured them: not only counts, all bits agree.
    for name in ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    states, _ = statistics.load(tmp_path / "many" / "state.safetensors")
    assert all(int(state.tokens.sum()) == 512 for state in states.values())
