import gc
import os
import signal
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from lngeom.cli import main
from lngeom.empirical import observe
from lngeom.empirical.models import KNOWN_MODELS

from ..conftest import Refused, Words, tiny_model

pytestmark = pytest.mark.usefixtures("without_pages")
ONE_LINE = "--sequence-length 32 --batch-size 4 --shard-tokens 64 --directions 4 --device cpu --tokens 128"
OPTIONS = ONE_LINE.split()
COLUMNS = ("angle_mean_deg", "d_cos2", "norm_mean", "norm_max")
LISTENED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def together(processes: int, work: Callable[..., object], *given: object, restarts: int = 0) -> None:
    """Run `work` in processes of what is behind ``torchrun``; forked, so that they import nothing anew."""
    settings = LaunchConfig(
        1, 1, processes, run_id=uuid.uuid4().hex, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=restarts, start_method="fork",
    )  # fmt: skip
    handlers = {number: signal.getsignal(number) for number in LISTENED}
    gc.freeze()  # a child that ends an object of threads which it does not have waits for ever
    try:
        elastic_launch(settings, work)(*given)
    finally:
        gc.unfreeze()
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


@pytest.mark.usefixtures("tiny_known")
def test_all_models_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One model after the other, each measured by both; one of them writes what compares them."""
    monkeypatch.setattr("lngeom.empirical.sweep.published.write_comparison", lambda *_: None)
    words = ["sweep", "all", "--random-weights", *OPTIONS, "--output"]
    few = {name: KNOWN_MODELS[name] for name in ("gpt2-xl", "llama-2-7b")}
    with mock.patch.dict(KNOWN_MODELS, few, clear=True):  # which has its order afterwards
        together(2, command, [*words, str(tmp_path / "many")])
        assert capfd.readouterr().out.count("2 of 2 models measured") == 1
        assert main([*words, str(tmp_path / "one")]) == 0
    for name in ("comparison.csv", "sites.csv", "predictions.csv"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name


def apart(first: Path, second: Path) -> float:
    pairs = list(zip(*(observe.read_sites(path / "sites.csv") for path in (first, second)), strict=True))
    assert all(a[name] == b[name] for a, b in pairs for name in ("site", "bucket", "tokens", "sequences"))
    return max(abs(a[name] - b[name]) for a, b in pairs for name in COLUMNS)


def test_teams_of_processes_measure_what_one_process_does(tmp_path: Path) -> None:
    tiny_model("llama").save_pretrained(tmp_path / "model")
    words = ["sweep", str(tmp_path / "model"), "--corpus", "random", *OPTIONS]
    for name in ("float32", "float64"):
        assert main([*words, "--dtype", name, "--output", str(tmp_path / name), "--quiet"]) == 0
    # Float32 and float64 differ by the roundings of the one; the same sums in another order differ by those of float64,
    # 2⁻²⁹ as large each. The factor of 2⁶ is there because single roundings may happen to be small.
    allowed = apart(tmp_path / "float32", tmp_path / "float64") * 2.0**-29 * 2**6
    assert allowed > 0
    team = ["--tensor-parallel", "2", "--dtype", "float64", "--output", str(tmp_path / "teams")]
    together(4, command, [*words, *team])
    assert apart(tmp_path / "float64", tmp_path / "teams") <= allowed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tensor-parallel", "2"], "--tensor-parallel 2: 1 processes are not a whole number of teams"),
        (["--tensor-parallel", "2", "--random-weights"], "--tensor-parallel: takes weights from files"),
    ],
)
def test_what_cannot_be_shared_is_told(more: list[str], message: str, words: Words, refused: Refused) -> None:
    assert message in refused(*words("run", *more, corpus="random"))
