"""What once said something wrong, a kind a test: it is right now, or refused in one line."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from empirical.check import check
from empirical.models import find_model, load_model, load_network, refuse_lost_blocks
from empirical.sweep import MeasureOptions, measure
from experiments.attack.scene import Scene, said
from lngeom.errors import LngeomError

from .test_list import refused

OPTIONS = MeasureOptions(directions=2, shard_batches=1)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A model and what every command makes of it."""
    return Scene(tmp_path_factory.mktemp("scene"))


def _stopped(model: nn.Module, batches: list[torch.Tensor], output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as stopped:
        stopped.setattr("empirical.sweep._live.write_results", lambda *_: None)
        measure(model, batches, output, OPTIONS)


@pytest.mark.parametrize("change", ["weights", "seed", "fewer batches", "finished, other batches"])
@pytest.mark.usefixtures("without_pages")
def test_a_run_in_memory_goes_on_with_what_it_was_begun_with(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    batches = [torch.randn(2, 5, 8) for _ in range(3)]
    options = MeasureOptions(directions=2, shard_batches=1, seed=change == "seed")
    if change.startswith("finished"):
        measure(model, batches, tmp_path / "run", OPTIONS)
        batches[2] = batches[2] + 1
    else:
        _stopped(model, batches, tmp_path / "run", monkeypatch)
    if change == "weights":
        model[0].weight.data *= 2
    with pytest.raises(LngeomError, match=r"holds another run|is beyond the last"):
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
    before = copy.deepcopy(norm.state_dict())
    assert check(norm, d=8).verdict == "rounding"
    assert norm.training
    assert all(
        value.dtype == torch.bfloat16 and torch.equal(value, before[n]) for n, value in norm.state_dict().items()
    )


Weights = dict[str, torch.Tensor]


def _rewritten(model: Path, change: Callable[[Weights], Weights | None], **config: Any) -> None:
    weights = load_file(model / "model.safetensors")
    save_file(change(weights) or weights, model / "model.safetensors", {"format": "pt"})
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))


def _indexed(shard: str, change: Callable[[Weights], Weights | None]) -> Callable[[Path], None]:
    """The weights behind an index, in a shard somewhere else."""

    def moved(model: Path) -> None:
        weights = load_file(model / "model.safetensors")
        (model / "model.safetensors").unlink()
        (model / shard).parent.mkdir(exist_ok=True)
        save_file(change(weights) or weights, model / shard, {"format": "pt"})
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, shard)}
        (model / "model.safetensors.index.json").write_text(json.dumps(index))

    return moved


def _as(dtype: torch.dtype, part: str) -> Callable[[Weights], Weights]:
    return lambda weights: {n: v.to(dtype) if part in n else v for n, v in weights.items()}


def _same(weights: Weights) -> Weights:
    return weights


MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "int8 in a subfolder": (_indexed("a/b.safetensors", _as(torch.int8, "c_fc.weight")), "stored quantized .* is I8"),
    "bool bias": (lambda m: _rewritten(m, _as(torch.bool, "ln_1.bias")), "stored quantized .* is BOOL"),
    "complex bias": (lambda m: _rewritten(m, _as(torch.complex64, "ln_1.bias")), "stored quantized .* is C64"),
    "fp8": (lambda m: _rewritten(m, _as(torch.float8_e4m3fn, "mlp")), "stored quantized .* is F8_E4M3"),
    "a shard outside": (_indexed("../out.safetensors", _same), r"out\.safetensors: is outside of the folder; keep"),
    "a pipe": (lambda m: os.mkfifo(m / "more.json"), "more.json: is a pipe or a device; put a file"),
    "a device": (lambda m: (m / "more.bin").symlink_to("/dev/zero"), "more.bin: is a pipe or a device; put a file"),
    "a link to itself": (lambda m: (m / "more.json").symlink_to(m / "more.json"), "more.json: .*symbolic links; down"),
    "7 billion weights": (lambda m: _rewritten(m, _same, n_embd=4096, n_layer=32), "asks for .* and the files hold"),
    "a million blocks": (lambda m: _rewritten(m, _same, n_layer=10**6), "asks for 1,000,000 blocks.* 1[46] tensors"),
    "kernels of the hub": (lambda m: _rewritten(m, _same, _attn_implementation="a/b"), "runs code of the hub; remove"),
}
"""What is done to a model, and what every command that loads it says."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("stage", ["sweep", "fold"])
def test_models_that_are_not_what_they_seem(stage: str, name: str, scene: Scene, tmp_path: Path) -> None:
    change, line = MODELS[name]
    with scene.copy("model") as (model,):
        change(model)
        words = [stage, model, "--corpus", scene.base / "ids.npy", "--output", tmp_path / "run", "--tokens", 32]
        refused(said(*words, "--sequence-length", 16), line)


def test_an_integer_beside_the_weights_is_no_quantization(scene: Scene) -> None:
    with scene.copy("model") as (model,):
        save_file({"step": torch.ones(1, dtype=torch.int64)}, model / "optimizer.safetensors")
        load_model(find_model(str(model)), device="cpu")


def test_a_fold_does_not_lose_a_block(scene: Scene, tmp_path: Path) -> None:
    def second(weights: Weights) -> Weights:
        return weights | {n.replace("h.0.", "h.1."): v.clone() for n, v in weights.items() if "h.0." in n}

    with scene.copy("model") as (model,):
        _rewritten(model, second)
        options = ["--corpus", scene.base / "ids.npy", "--tokens", 32, "--output", tmp_path / "out"]
        assert said("fold", model, *options)[0].startswith("exit code 2")  # beside the line about unused weights
        assert not (tmp_path / "out").exists()
        network: Any = load_network(find_model(str(model)))
        with pytest.raises(LngeomError, match="leaves out block 1 of the checkpoint"):
            refuse_lost_blocks(network, network.unused_weights)


@pytest.mark.parametrize("changed", ["weights", "text"])
def test_files_of_any_size_are_known_by_all_their_bytes(
    changed: str, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("empirical.support._files._REMEMBERED_BYTES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with scene.copy("finished", "model") as (run, model):
        path = model / "model.safetensors" if changed == "weights" else scene.base / "ids.npy"
        kept = path.read_bytes()
        words = ["--corpus", scene.base / "ids.npy", "--tokens", 128, "--shard-tokens", 32, "--directions", 2]
        words = [*words, "--sequence-length", 16, "--device", "cpu"]
        assert said("sweep", model, *words, "--output", run)[0] == "done"
        assert list((tmp_path / "lngeom").iterdir())
        path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        try:
            refused(said("sweep", model, *words, "--output", run), "holds another run .*(revision|corpus_sha256) is")
        finally:
            path.write_bytes(kept)
