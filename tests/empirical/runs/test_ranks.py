"""Several processes: the same numbers as one, also when one of them dies on the way."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from empirical import observe
from empirical.models import KNOWN_MODELS
from lngeom.cli import main

from ..sweep.test_sweep_all import shrink

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
ONE_LINE = "--tokens 512 --sequence-length 32 --batch-size 4 --shard-tokens 64 --directions 4 --device cpu"
OPTIONS = ONE_LINE.split()


def together(processes: int, *words: str, restarts: int = 0, environment: Mapping[str, str] | None = None) -> str:
    """What processes that ``torchrun`` starts print, standard error last."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [*launcher, "--max-restarts", str(restarts), *words],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("without_pages")
def test_processes_of_torchrun_measure_what_one_measures_also_when_one_is_killed(
    model_directory: Path, token_file: Path, tmp_path: Path
) -> None:
    # Nine shards, which two processes cannot share evenly.
    words = ["sweep", str(model_directory), "--corpus", str(token_file), *OPTIONS, "--tokens", "576", "--output"]
    assert main([*words, str(tmp_path / "one")]) == 0
    (tmp_path / "sitecustomize.py").write_text(KILLER)
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    printed = together(2, "-m", "lngeom", *words, str(tmp_path / "many"), restarts=1, environment=environment)
    assert "continuing after" in printed
    assert "-9" in printed
    # Shards are measured one by one and merged in order, whoever measured them: not only counts, all bits agree.
    for name in ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    states, _ = observe.load_states(tmp_path / "many" / "state.safetensors")
    assert all(int(state.tokens.sum()) == 576 for state in states.values())


TWICE = """
import sys
from pathlib import Path
import torch
from empirical.runs import ranks
for turn in range(3):
    with ranks(torch.device("cpu")) as group:
        told = group.by_leader(lambda: f"turn {turn}")
        mean = group.mean(torch.tensor(float(group.rank)))
        group.wait()
        Path(sys.argv[1], f"{turn}-{group.rank}").write_text(f"{told}, {group.count} processes, mean {mean}")
"""


def test_processes_join_more_than_once(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(TWICE)
    out = tmp_path / "out"
    out.mkdir()
    together(2, str(tmp_path / "twice.py"), str(out))
    for turn in range(3):
        for rank in range(2):
            assert (out / f"{turn}-{rank}").read_text() == f"turn {turn}, 2 processes, mean 0.5"


ALL = """
import sys
import pytest, torch
from empirical import pages
from empirical.models import KNOWN_MODELS
from lngeom.cli import main
from tests.empirical.sweep.test_sweep_all import shrink

torch.set_num_threads(1)
pages.draw_figures = pages.write_report = lambda *_: None
for name in set(KNOWN_MODELS) - {"gpt2-xl", "llama-2-7b"}:
    del KNOWN_MODELS[name]
shrink(pytest.MonkeyPatch())
sys.exit(main(["sweep", "all", "--random-weights", *sys.argv[2:], "--output", sys.argv[1]]))
"""


@pytest.mark.usefixtures("without_pages")
def test_all_models_by_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model after the other, each measured by both; one of them writes what compares them."""
    (tmp_path / "all.py").write_text(ALL)
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    printed = together(2, str(tmp_path / "all.py"), str(tmp_path / "many"), *OPTIONS, environment=environment)
    assert printed.count("2 of 2 models measured") == 1
    for name in set(KNOWN_MODELS) - {"gpt2-xl", "llama-2-7b"}:
        monkeypatch.delitem(KNOWN_MODELS, name)
    shrink(monkeypatch)
    assert main(["sweep", "all", "--random-weights", *OPTIONS, "--output", str(tmp_path / "one")]) == 0
    for name in ("comparison.csv", "sites.csv", "predictions.csv", "growth.csv"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
