import copy
import json
import math
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from lngeom.check import check
from lngeom.empirical.models import find_model, load_model, load_network, refuse_lost_blocks, sites_of
from lngeom.empirical.observe import Observer
from lngeom.empirical.pages import summary
from lngeom.empirical.runs import RunDirectory
from lngeom.empirical.sweep import MeasureOptions, measure, read_finished
from lngeom.empirical.text import TokenPolicy, encoded
from lngeom.errors import LngeomError
from lngeom.options import json_alone
from tests.empirical.scene import Scene
from tests.support import failed, python, refused, said

from ..conftest import Weights, rewritten, word_tokenizer

OPTIONS = MeasureOptions(directions=2, shard_batches=1)


def _stopped(model: nn.Module, batches: list[torch.Tensor], output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as stopped:
        stopped.setattr("lngeom.empirical.sweep.live.write_results", lambda *_: None)
        measure(model, batches, output, OPTIONS)


@pytest.mark.parametrize("change", ["weights", "seed", "fewer batches", "finished, other batches"])
@pytest.mark.usefixtures("without_pages")
def test_a_run_in_memory_goes_on_with_what_it_was_begun_with(change: str, tmp_path, monkeypatch) -> None:
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
    with pytest.raises(LngeomError, match=r"holds another run|beyond the last"):
        measure(model, batches[: 2 if change == "fewer batches" else 3], tmp_path / "run", options)


class Shifted(nn.Module):
    """A network whose numbers are decided by more than its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm, self.activation = nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU()
        self.later = 1.0
        self.register_buffer("offset", torch.ones(8), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        amount = 1.0 if x.shape[1] > 4 else _scaled(self.later)
        return self.norm(self.activation(self.inner(x) * amount) + self.offset)


def _scaled(amount: float) -> float:
    return amount * 3


UNSAVED: dict[str, Callable[[Any], object]] = {
    "ε": lambda model: setattr(model.norm, "eps", 0.1),
    "buffer": lambda model: model.offset.add_(1),
    "activation": lambda model: setattr(model.activation, "approximate", "tanh"),
    "hook": lambda model: model.inner.register_forward_hook(lambda _, __, y: y * torch.arange(8.0)),
    "later batches": lambda model: setattr(model, "later", 2.0),
    "forward": lambda model: setattr(model, "forward", lambda x: model.norm(torch.relu(model.inner(x)) + 5)),
    "function": lambda _: setattr(_scaled, "__code__", (lambda amount: amount).__code__),
}


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "stopped"])
@pytest.mark.parametrize("change", UNSAVED)
@pytest.mark.usefixtures("without_pages")
def test_a_run_in_memory_is_not_shown_for_a_model_that_computes_otherwise(
    change: str, finished: bool, tmp_path, monkeypatch
) -> None:
    torch.manual_seed(0)
    model: Any = Shifted()
    batches, run = [torch.randn(2, 5 - k, 8) for k in range(3)], tmp_path / "run"
    monkeypatch.setattr(_scaled, "__code__", _scaled.__code__)
    if finished:
        for _ in range(2):  # the second time it is shown
            measure(model, batches, run, OPTIONS)
    else:
        _stopped(model, batches, run, monkeypatch)
    UNSAVED[change](model)
    with pytest.raises(LngeomError, match=r"on the (first|last) batch .*: the code or settings .* differ"):
        measure(model, batches, run, OPTIONS)


@pytest.mark.usefixtures("without_pages")
def test_a_model_that_draws_numbers_is_shown(tmp_path) -> None:
    class Noisy(Shifted):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x + torch.randn_like(x))

    batches = [torch.randn(2, 5, 8)]
    run = measure(model := Noisy(), batches, tmp_path / "run", OPTIONS)
    measure(model, batches, run.path, OPTIONS)
    entry, threads = "last_batch_numbers_sha256", {"threads": 0}
    run.amend(**{entry: "of other numbers"}, **threads)
    with pytest.raises(LngeomError, match="its threads differ"):
        measure(model, batches, run.path, OPTIONS)


def test_a_shard_of_another_run_is_measured_again(scene: Scene) -> None:
    with scene.copy("stopped") as (run,):
        other = run.parent / "other"
        with pytest.MonkeyPatch.context() as stopped:
            stopped.setattr("lngeom.empirical.sweep.stages._finish", lambda *_, **__: None)
            assert scene.run("sweep", other, "--seed", 1) == "done"
        for path in (other / "shards").iterdir():
            path.replace(run / "shards" / path.name)
        done, told = scene.said("sweep", run)
        assert "belongs to another run, with other weights or options; set aside" in " ".join(told.split())
        assert scene.judged(done, run) == ""


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("tokens_sha256", "the corpus has changed since this run began; choose another --output"),
        ("weights_sha256", "was started with other weights of model .*; choose another --output"),
    ],
)
def test_a_run_of_other_tokens_or_weights_is_refused(entry: str, line: str, scene: Scene) -> None:
    with scene.copy("stopped") as (stopped,):
        RunDirectory(stopped).amend(**{entry: "of what is gone"})
        refused(scene.said("sweep", stopped), line)


def test_what_is_checked_stays_as_it_is() -> None:
    norm = nn.LayerNorm(8, dtype=torch.bfloat16).train()
    before = copy.deepcopy(norm.state_dict())
    assert check(norm, d=8).verdict == "rounding"
    assert norm.training
    assert all(
        value.dtype == torch.bfloat16 and torch.equal(value, before[n]) for n, value in norm.state_dict().items()
    )


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


MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "int8 in a subfolder": (_indexed("a/b.safetensors", _as(torch.int8, "c_fc.weight")), "stored quantized .* is I8"),
    "bool bias": (lambda m: rewritten(m, _as(torch.bool, "ln_1.bias")), "stored quantized .* is BOOL"),
    "a shard outside": (
        _indexed("../out.safetensors", lambda w: w),
        r"out\.safetensors: is outside of the folder; keep",
    ),
    "a pipe": (lambda m: os.mkfifo(m / "more.json"), "more.json: is a pipe or a device; put a file"),
    "a link to itself": (lambda m: (m / "more.json").symlink_to(m / "more.json"), "more.json: .*symbolic links; down"),
    "7 billion weights": (lambda m: rewritten(m, n_embd=4096, n_layer=32), "asks for .* and the files hold"),
    "a million blocks": (lambda m: rewritten(m, n_layer=10**6), "asks for 1,000,000 blocks.* 1[46] tensors"),
    "kernels of the hub": (lambda m: rewritten(m, _attn_implementation="a/b"), "runs code of the hub; remove"),
}
"""What is done to a model, and what every command that loads it says."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("stage", ["sweep", "fold"])
def test_models_that_are_not_what_they_seem(stage: str, name: str, scene: Scene, tmp_path) -> None:
    change, line = MODELS[name]
    with scene.copy("model") as (model,):
        change(model)
        words = [stage, model, "--corpus", scene.base / "ids.npy", "--output", tmp_path / "run", "--tokens", 32]
        refused(said(*words, "--sequence-length", 16), line)


def test_an_integer_beside_the_weights_is_no_quantization(scene: Scene) -> None:
    with scene.copy("model") as (model,):
        save_file({"step": torch.ones(1, dtype=torch.int64)}, model / "optimizer.safetensors")
        load_model(find_model(str(model)), device="cpu")


@pytest.mark.parametrize("part", ["h.0.", "h.0.attn.c_attn.bias"])  # which a pattern of transformers hides
def test_a_fold_does_not_lose_a_block(part: str, scene: Scene, tmp_path) -> None:
    def second(weights: Weights) -> Weights:
        return weights | {n.replace("h.0.", "h.1."): v.clone() for n, v in weights.items() if part in n}

    with scene.copy("model") as (model,):
        rewritten(model, second)
        options = ["--corpus", scene.base / "ids.npy", "--tokens", 32, "--output", tmp_path / "out"]
        assert said("fold", model, *options)[0].startswith("exit code 2")  # beside the line about unused weights
        assert not (tmp_path / "out").exists()
        network: Any = load_network(find_model(str(model)))
        with pytest.raises(LngeomError, match="leaves out block 1 of the checkpoint"):
            refuse_lost_blocks(network, network.unused_weights)


ALTERED: dict[str, tuple[Callable[[Weights], Weights], str]] = {
    "a tensor more": (lambda w: w | {"more": w["transformer.ln_f.bias"] + 0}, "more is in model.safetensors, but the"),
    "one that is passed over": (lambda w: w | {"transformer.h.0.attn.bias": torch.ones(1)}, "attn.bias is in model.s"),
    "a tensor less": (lambda w: {n: v for n, v in w.items() if "ln_1.b" not in n}, "lacks 1 .*the file is incomplete"),
    "another dtype": (_as(torch.float64, "c_proj.weight"), "c_proj.weight is F64 in model.safetensors, in another"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALTERED)
@pytest.mark.parametrize("command", ["fold", "gauge"])
def test_a_fold_of_other_tensors_fails(command: str, name: str, scene: Scene) -> None:
    with scene.copy("fold") as (folder,):
        rewritten(folder, ALTERED[name][0])
        failed(said(command, "--verify", folder), f"FAIL (.|\n)*{ALTERED[name][1]}")


@pytest.mark.parametrize("changed", ["weights", "text"])
def test_files_are_known_by_all_their_bytes(changed: str, scene: Scene) -> None:
    with scene.copy("finished", "model") as (run, model):
        path = model / "model.safetensors" if changed == "weights" else scene.base / "ids.npy"
        kept = path.read_bytes()
        words = ["--corpus", scene.base / "ids.npy", "--tokens", 128, "--shard-tokens", 32, "--directions", 2]
        words = [*words, "--sequence-length", 16, "--device", "cpu"]
        assert said("sweep", model, *words, "--output", run)[0] == "done"
        path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        try:
            refused(said("sweep", model, *words, "--output", run), "holds another run .*(revision|corpus_sha256) is")
        finally:
            path.write_bytes(kept)


LINES: dict[str, tuple[str, str]] = {
    "a seed of 65 bits": ("doctor MODEL MODEL --seed 18446744073709551616", "is not a whole number from 0, below 2"),
    "tokens of 65 bits": ("sweep MODEL --tokens 18446744073709551616", "is not a whole number from 1"),
    "a table that is a folder": ("compare A B --html /", "'/' cannot be written: give a file in a folder"),
    "a function that is no model": ("norms json:loads", r"json:loads: TypeError: .*; give MODULE:FUNCTION"),
    "one token": ("ablate MODEL --corpus IDS --sequence-length 1 --output OUT", "no token would be predicted; use 2"),
    "no rotation": ("gauge MODEL --corpus IDS --rotate q.npy --output OUT", "--rotate q.npy: give a seed, .* or 'dom"),
    "no tokens": ("sweep MODEL --tokens 0", "is not a whole number from 1"),
    "no run": ("compare nowhere nothing", "nowhere"),
    "no model": ("fold", "no model given: name one, or give --verify DIR$"),
    "nothing to verify": ("fold --verify OUT", "has no readable certificate.json"),
    "steering signs": ("sweep ./\x1b[31m", "no such file or directory"),
    "an adapter": ("norms ADAPTER", "it is an adapter; merge it"),
}
"""A command line, and the one line that it says."""


@pytest.mark.parametrize("name", LINES)
def test_a_command_line_that_cannot_be_is_told_in_one_line(name: str, scene: Scene, tmp_path) -> None:
    words, line = LINES[name]
    places = {"MODEL": scene.model, "IDS": scene.base / "ids.npy", "OUT": tmp_path / "out"}
    if "ADAPTER" in words:
        places["ADAPTER"] = shutil.copytree(scene.model, tmp_path / "model")
        (tmp_path / "model" / "adapter_config.json").write_text("{}")
    done = said(*(places.get(word, word) for word in words.split()))
    refused(done, line)
    assert "\x1b" not in done[1]


def test_a_terminal_without_utf_8_and_a_foreign_backend_are_no_traceback() -> None:
    environment = {**os.environ, "MPLBACKEND": "nonsense", "PYTHONIOENCODING": "ascii"}
    done = python("-m", "lngeom", "norms", "./ä\x1b[31m", env=environment)
    assert (done.returncode, len(done.stderr.splitlines()), "\x1b" in done.stderr) == (2, 1, False)


def test_lengths_beyond_the_model_are_those_of_the_model(scene: Scene, tmp_path) -> None:
    assert said("doctor", scene.model, scene.model)[0] == "done"
    ids = ["--corpus", scene.base / "ids.npy", "--device", "cpu", "--no-sites", "--directions", 1, "--tokens", 64]
    assert said("ablate", scene.model, *ids, "--output", tmp_path / "run")[0] == "done"


def _broken(path: Path, **arrays: Any) -> None:
    np.savez(path, **{"labels": np.arange(5), "input_ids": np.arange(5), **arrays})


PASSAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: (_broken(path), path.write_bytes(path.read_bytes()[:200])),
    "damaged": lambda path: (_broken(path), path.write_bytes(path.read_bytes().replace(b"\x01\x00v\x00", b"\xff" * 4))),
    "float ids": lambda path: _broken(path, input_ids=np.zeros(5)),
    "labels that are NaN": lambda path: _broken(path, labels=np.full(5, np.nan)),
    "labels beyond": lambda path: _broken(path, labels=np.full(5, 99)),
    "nothing to predict": lambda path: _broken(path, labels=np.full(5, -100)),
    "too long": lambda path: _broken(path, labels=np.zeros(99, np.int64), input_ids=np.zeros(99, np.int64)),
}


@pytest.mark.parametrize("name", PASSAGES)
def test_passages_that_cannot_be_are_refused(name: str, scene: Scene, tmp_path) -> None:
    (tmp_path / "cases").mkdir()
    PASSAGES[name](tmp_path / "cases" / "a.npz")
    words = ["ablate", scene.model, "--corpus", tmp_path / "cases", "--output", tmp_path / "run", "--device", "cpu"]
    refused(said(*words, "--no-sites"), "a.npz: is not a passage|corpus '.*': ")


@pytest.mark.usefixtures("one_figure")
def test_nothing_is_left_out_in_silence(scene: Scene, tmp_path) -> None:
    model: Any = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    model[0].weight.data.zero_()
    model[0].bias.data.zero_()
    run = measure(model, [torch.randn(2, 5, 8)], tmp_path / "run", replace(OPTIONS, name=r"$\frac{1}{$"))
    assert r"$\frac{1}{$" in (run.path / "energy.svg").read_text(encoding="utf-8")
    rows = read_finished(run.path).rows
    assert any("left out as zero: " in line for line in summary(rows))
    assert all(row["rank_among_random"] != 0 for row in rows if not row["tokens"])
    json_alone({"a": [math.nan, math.inf, 1.5]}, str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [None, None, 1.5]}


def test_a_second_thread_is_refused() -> None:
    layer, failed = nn.Sequential(nn.LayerNorm(8)), list[Exception]()

    def forward(module: nn.Module = layer) -> None:
        try:
            module(torch.randn(2, 3, 8))
        except LngeomError as error:
            failed.append(error)

    with Observer(layer, sites_of(layer, torch.randn(2, 3, 8)), directions=2):
        forward()
        for module in (layer, layer[0]):
            thread = threading.Thread(target=forward, args=(module,))
            thread.start()
            thread.join()
    assert ["runs in two threads under one observer" in str(error) for error in failed] == [True, True]


def test_a_text_that_the_tokenizer_does_not_know_is_refused() -> None:
    tokenizer = word_tokenizer("[unk]", "a", unk_token="[unk]")
    assert next(encoded(["a a b"], tokenizer, TokenPolicy(None, None))).tolist() == [1, 1, 0]
    with pytest.raises(LngeomError, match="2 of the first 3 tokens of the text are unknown to the tokenizer; give"):
        next(encoded(["a b c"], tokenizer, TokenPolicy(None, None)))
