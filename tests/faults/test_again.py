"""What once said something wrong, a kind a test: it is right now, or refused in one line."""

from pathlib import Path

import pytest
import torch
from torch import nn

from empirical.check import check
from empirical.sweep import MeasureOptions, measure, read_finished
from experiments.attack.scene import Scene
from lngeom.errors import LngeomError

OPTIONS = MeasureOptions(directions=2, shard_batches=1)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A model and what every command makes of it."""
    return Scene(tmp_path_factory.mktemp("scene"))


def _stopped(model: nn.Module, batches: list[torch.Tensor], output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr("empirical.sweep._live.write_results", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        measure(model, batches, output, OPTIONS)


@pytest.mark.parametrize("change", ["weights", "seed", "fewer batches", "finished, other batches"])
@pytest.mark.usefixtures("without_pages")
def test_a_run_in_memory_goes_on_with_what_it_was_begun_with(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batches = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)), [torch.randn(2, 5, 8) for _ in range(3)]
    options = MeasureOptions(directions=2, shard_batches=1, seed=change == "seed")
    if change.startswith("finished"):
        measure(model, batches, tmp_path / "run", OPTIONS)
        batches[2] = batches[2] + 1
    else:
        _stopped(model, batches, tmp_path / "run", monkeypatch)
    if change == "weights":
        model[0].weight.data *= 2
    with pytest.raises(LngeomError, match="holds another run|is beyond the last"):
        measure(model, batches[: 2 if change == "fewer batches" else 3], tmp_path / "run", options)


def test_a_shard_of_another_run_is_measured_again(scene: Scene) -> None:
    with scene.copy("stopped") as (run,):
        other = run.parent / "other"
        with pytest.MonkeyPatch.context() as stopped:
            stopped.setattr("empirical.sweep._sweep._finish", lambda *_, **__: None)
            assert scene.run("sweep", other, "--seed", 1) == "done"
        for path in (other / "shards").iterdir():
            path.replace(run / "shards" / path.name)
        done, told = scene.said("sweep", run)
        assert "is of another run, with other weights or options; set aside" in " ".join(told.split())
        assert scene.judged("sweep", done, run) == ""


def test_what_is_checked_stays_as_it_is() -> None:
    norm = nn.LayerNorm(8, dtype=torch.bfloat16).train()
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    assert check(norm, d=8).verdict == "rounding"
    assert norm.training
    assert all(value.dtype == torch.bfloat16 and torch.equal(value, before[n]) for n, value in norm.state_dict().items())
