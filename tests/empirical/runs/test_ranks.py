"""Several processes: the same numbers as one, also when one of them dies on the way."""

import os
import signal
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from empirical import observe
from empirical.models import KNOWN_MODELS
from empirical.runs import ranks
from lngeom.cli import main

from ..sweep.test_sweep_all import shrink

pytestmark = pytest.mark.usefixtures("without_pages")
ONE_LINE = "--sequence-length 32 --batch-size 4 --shard-tokens 64 --directions 4 --device cpu --tokens 128"
OPTIONS = ONE_LINE.split()
LISTENED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def together(processes: int, work: Callable[..., object], *given: object, restarts: int = 0) -> None:
    """Run `work` in processes of what is behind ``torchrun``; forked, so that they import nothing anew."""
    settings = LaunchConfig(
        1, 1, processes, run_id=uuid.uuid4().hex, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=restarts, start_method="fork",
    )  # fmt: skip
    handlers = {number: signal.getsignal(number) for number in LISTENED}
    try:
        elastic_launch(settings, work)(*given)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def first_life_of_rank_1() -> bool:
    return (os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == ("1", "0")


def command(words: list[str], killed: Path | None = None) -> None:
    """Run a command; with `killed`, rank 1 is killed when it has written a shard and begins with the next."""
    renamed: list[object] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and "shards" in str(arguments[1]):
            renamed.append(arguments)
            if len(renamed) == 2 and killed is not None:
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    if killed is not None and first_life_of_rank_1():
        sys.addaudithook(hook)
    assert main(words) == 0


def test_processes_measure_what_one_measures_also_when_one_is_killed(
    model_directory: Path, token_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # Five shards, which two processes cannot share evenly.
    words = ["sweep", str(model_directory), "--corpus", str(token_file), *OPTIONS, "--tokens", "320", "--output"]
    assert main([*words, str(tmp_path / "one")]) == 0
    together(2, command, [*words, str(tmp_path / "many")], tmp_path / "killed", restarts=1)
    assert (tmp_path / "killed").exists()
    assert "continuing after" in capfd.readouterr().out
    # Shards are measured one by one and merged in order, whoever measured them: not only counts, all bits agree.
    for name in ("sites.csv", "predictions.csv", "state.safetensors", "tokens.npy"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    states, _ = observe.load_states(tmp_path / "many" / "state.safetensors")
    assert all(int(state.tokens.sum()) == 320 for state in states.values())


def joined(out: Path) -> None:
    for turn in range(3):
        with ranks(torch.device("cpu")) as group:
            told = group.by_leader(lambda turn=turn: f"turn {turn}")
            group.wait()
            (out / f"{turn}-{group.rank}").write_text(f"{told}, {group.count} processes")


def test_processes_join_more_than_once(tmp_path: Path) -> None:
    together(2, joined, tmp_path)
    for turn in range(3):
        for rank in range(2):
            assert (tmp_path / f"{turn}-{rank}").read_text() == f"turn {turn}, 2 processes"


def test_all_models_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One model after the other, each measured by both; one of them writes what compares them."""
    for name in set(KNOWN_MODELS) - {"gpt2-xl", "llama-2-7b"}:
        monkeypatch.delitem(KNOWN_MODELS, name)
    shrink(monkeypatch)
    monkeypatch.setattr("empirical.sweep._published.write_comparison", lambda *_: None)
    words = ["sweep", "all", "--random-weights", *OPTIONS, "--output"]
    together(2, command, [*words, str(tmp_path / "many")])
    assert capfd.readouterr().out.count("2 of 2 models measured") == 1
    assert main([*words, str(tmp_path / "one")]) == 0
    for name in ("comparison.csv", "sites.csv", "predictions.csv", "growth.csv"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
