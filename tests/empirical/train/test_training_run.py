"""A training run: the same losses after a kill at any moment, alone or together, and one run to a directory."""

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from empirical.models import find_model, load_model
from empirical.pages import load_drawn
from empirical.runs import Ranks, ranks
from empirical.support import CorpusError, RunError, StepTable, read_json, read_table, write_folder
from empirical.text import open_corpus
from empirical.train import Execution, Recipe, Shape, TokenData, open_data, prepare, train
from lngeom.cli import main
from lngeom.errors import InputError, LngeomError

from ..runs.test_ranks import first_life_of_rank_1, together

SHAPE = Shape(1, 16, 2, 5e-3, 12, 64, 16, 4, 0.25)
RECIPE = Recipe(SHAPE, "layer", "adamw", 5e-3, SHAPE.steps, SHAPE.sequences, SHAPE.positions, warmup=0.2)
EXECUTION = Execution(held_out_tokens=64, directions=4, save_every=5, keep_networks=False, check_gradients=True)
TABLES = ("losses", "held_out", "norms", "writers", "gradients")


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Token ids in which small ids are frequent, so that there is something to learn."""
    path = tmp_path_factory.mktemp("ids") / "ids.npy"
    np.save(path, (np.random.default_rng(0).random(4_000) ** 3 * SHAPE.vocabulary).astype(np.uint16))
    return path


@pytest.fixture(scope="module")
def data(ids: Path, tmp_path_factory: pytest.TempPathFactory) -> TokenData:
    return prepare(open_corpus(str(ids)), tmp_path_factory.mktemp("data"))


def run(recipe: Recipe, data: TokenData, out: Path, execution: Execution = EXECUTION, **options: object) -> bool:
    with ranks(torch.device("cpu")) as processes:
        return train(recipe, data, out, processes=processes, execution=execution, **options)  # type: ignore[arg-type]


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / f"{name}.csv").read_bytes() for name in TABLES}


def losses(out: Path) -> list[float]:
    return [row["loss"] for row in read_table(out / "losses.csv")]


@pytest.fixture(scope="module")
def whole(data: TokenData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    assert run(RECIPE, data, out)
    return out


def test_training_learns(whole: Path) -> None:
    curve = losses(whole)
    assert len(curve) == RECIPE.steps
    # An untrained network is near the uniform loss log V; frequencies alone are learnt within a few steps.
    assert curve[-1] < curve[0]
    assert read_json(whole / "summary.json")["steps"] == RECIPE.steps


class Killed(BaseException):
    """Stands for a kill inside this process: nothing in the code catches it."""


@pytest.mark.parametrize("kill", [1, 5, 12])
def test_a_run_interrupted_after_any_step_goes_on_bit_for_bit(
    kill: int, data: TokenData, whole: Path, tmp_path: Path
) -> None:
    interrupted(kill, RECIPE, data, tmp_path / "killed")
    assert tables(tmp_path / "killed") == tables(whole)


def test_so_does_one_with_momentum(data: TokenData, tmp_path: Path) -> None:
    recipe = replace(RECIPE, optimizer="sgd", learning_rate=0.1, steps=5)
    run(recipe, data, tmp_path / "whole")
    interrupted(4, recipe, data, tmp_path / "killed")
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


def interrupted(kill: int, recipe: Recipe, data: TokenData, out: Path) -> None:
    """A run that ends after `kill` steps, in the middle of a line, and is then continued by another process."""
    steps = 0

    def report(_: int) -> None:
        nonlocal steps
        steps += 1
        if steps == kill:
            raise Killed

    with pytest.raises(Killed):
        run(recipe, data, out, report=report)
    with (out / "losses.csv").open("a") as file:
        file.write("9,1")  # a line cut off in the middle
    torch.manual_seed(kill)
    assert run(recipe, data, out)


def killed_in(step: int, words: list[str]) -> None:
    """Run a command that is killed when it would write down the loss of a step."""
    append = StepTable.append

    def dying(table: StepTable, rows: Any) -> None:
        rows = list(rows)
        if table.path.name == "losses.csv" and rows[0]["step"] == step:
            os.kill(os.getpid(), signal.SIGKILL)
        append(table, rows)

    StepTable.append = dying  # type: ignore[method-assign]
    main(words)


def test_kill_9_and_the_same_command_gives_the_same_losses(ids: Path, tmp_path: Path) -> None:
    """The command itself, ended by SIGKILL between two saved states, continues to the same bits."""
    options = f"""--norm rms --corpus {ids} --data {tmp_path / "data"} --device cpu --steps 7 --save-every 6
        --layers 1 --width 16 --heads 2 --vocabulary 64 --sequence-length 16 --batch-size 4 --held-out-tokens 64
        --directions 4 --no-networks""".split()
    killed, whole = (["train", *options, "--output", str(tmp_path / name)] for name in ("killed", "whole"))
    process = multiprocessing.get_context("fork").Process(target=killed_in, args=(5, killed))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(losses(tmp_path / "killed")) == 4
    assert not (tmp_path / "killed" / "summary.json").exists()
    assert main(killed) == 0
    assert main([*whole, "--beside", str(tmp_path / "killed")]) == 0
    assert len(losses(tmp_path / "whole")) == 7
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")
    assert "<svg" in (tmp_path / "killed" / "report.html").read_text(encoding="utf-8")


FEW = replace(RECIPE, steps=4)


def by_two(data: Path, out: Path, killed: Path) -> None:
    """Train; in its first life, the process of rank 1 dies in the third step, after the state of the second."""
    calls: list[int] = []

    def dying(self: Ranks, value: Any) -> Any:
        calls.append(1)
        if len(calls) == 3 and first_life_of_rank_1():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return mean(self, value)

    mean, Ranks.mean = Ranks.mean, dying  # type: ignore[method-assign]
    assert run(FEW, open_data(data), out)


def test_two_processes_compute_what_two_micro_batches_do_also_when_one_dies(ids: Path, tmp_path: Path) -> None:
    """Halving is exact, so the mean over two processes has the bits of two accumulated halves."""
    data = prepare(open_corpus(str(ids)), tmp_path / "data")
    together(2, by_two, tmp_path / "data", tmp_path / "two", tmp_path / "killed", restarts=1)
    assert (tmp_path / "killed").exists()
    run(FEW, data, tmp_path / "one", replace(EXECUTION, micro_sequences=FEW.sequences // 2))
    assert tables(tmp_path / "two") == tables(tmp_path / "one")


def test_bfloat16_trains_in_float32_parameters_and_measures_in_float32(
    data: TokenData, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "narrow"
    assert run(FEW, data, out, replace(EXECUTION, dtype="bfloat16"))
    assert losses(out)[0] != losses(whole)[0]
    for name in ("norms", "held_out", "gradients"):
        start = [
            [line for line in (folder / f"{name}.csv").read_text().splitlines() if line.startswith("0,")]
            for folder in (out, whole)
        ]
        assert start[0] == start[1] != []
    state = load_file(next((out / "state").iterdir()) / "model.safetensors")
    assert {parameter.dtype for parameter in state.values()} == {torch.float32}


def test_accumulation_changes_rounding_only(data: TokenData, whole: Path, tmp_path: Path) -> None:
    """Parts of 2 sequences: the first loss, of equal weights, is the same mean in another order."""
    run(FEW, data, tmp_path / "parts", replace(EXECUTION, micro_sequences=3))
    first, expected = losses(tmp_path / "parts")[0], losses(whole)[0]
    assert first != losses(whole)[1]
    # n = 64 losses of size ℓ are averaged: 2n roundings of a mean, and each loss itself is a sum over V = 64 logits of
    # dot products of d = 16 terms with |logit| < ℓ, computed twice: (n + V + d) roundings each, both times.
    n = RECIPE.tokens_per_step
    assert abs(first - expected) <= 2 * (2 * n + SHAPE.vocabulary + SHAPE.width) * 2.0**-24 * expected


def test_time_limit_stops_in_a_state_that_goes_on(data: TokenData, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "limited"
    assert not run(RECIPE, data, out, replace(EXECUTION, minutes=1e-9))
    assert len(losses(out)) == 1
    assert not run(RECIPE, data, out, replace(EXECUTION, minutes=1e-9))
    assert not (out / "summary.json").exists()
    assert run(RECIPE, data, out)
    assert tables(out) == tables(whole)


def test_a_finished_run_is_left_as_it_is(data: TokenData, whole: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    assert run(RECIPE, data, whole)
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_networks_are_kept_at_checkpoints(data: TokenData, tmp_path: Path) -> None:
    run(replace(RECIPE, steps=2), data, tmp_path / "run", replace(EXECUTION, keep_networks=True))
    names = sorted(path.name for path in (tmp_path / "run" / "networks").iterdir())
    assert names == [f"step-{step:08}" for step in range(3)]
    loaded = load_model(find_model(str(tmp_path / "run" / "networks" / names[-1])))
    assert len(loaded.sites) == 3
    assert [path.name for path in (tmp_path / "run" / "state").iterdir()] == ["checkpoint-2"]


def other_text(_: TokenData, whole: Path, at: Path) -> object:
    np.save(at / "other.npy", np.arange(4_000, dtype=np.uint16) % SHAPE.vocabulary)
    return run(RECIPE, prepare(open_corpus(str(at / "other.npy")), at / "data"), whole)


def damaged(data: TokenData, whole: Path, at: Path) -> object:
    shutil.copytree(whole, at / "run")
    (next((at / "run" / "state").iterdir()) / "optimizer.pt").write_bytes(b"\0" * 64)
    return run(RECIPE, data, at / "run")


def diverging(data: TokenData, _: Path, at: Path) -> object:
    recipe = replace(RECIPE, optimizer="sgd", learning_rate=1e30, warmup=0.0, clip=0.0, weight_decay=0.0)
    return run(recipe, data, at / "run")


NARROW = replace(RECIPE, shape=replace(SHAPE, vocabulary=63))
REFUSED: list[tuple[Callable[[TokenData, Path, Path], object], type[LngeomError], str]] = [
    (lambda data, whole, _: run(replace(RECIPE, seed=1), data, whole), RunError, "another run .recipe"),
    (lambda data, whole, _: run(replace(RECIPE, norm="rms"), data, whole), RunError, "another run .recipe"),
    (lambda data, whole, _: run(replace(RECIPE, weight_decay=0.0), data, whole), RunError, "another run .recipe"),
    (other_text, RunError, "another run .data"),
    (damaged, RunError, "optimizer.pt of the state in .* has changed"),
    (diverging, RunError, r"the loss of step \d+ is (nan|inf): training has diverged; lower"),
    (lambda data, _, at: run(NARROW, replace(data, vocabulary=64), at / "run"), InputError,
     "train a smaller tokenizer or a larger network"),
    (lambda data, _, at: train(RECIPE, data, at / "run", processes=Ranks(0, 3, torch.device("cpu"))), InputError,
     "4 sequences per step do not divide among 3 processes"),
    (lambda data, _, at: load_drawn(at), RunError, r"holds no finished run \(summary\.json is missing\)"),
    (lambda data, _, at: run(RECIPE, data, at / "run", replace(EXECUTION, held_out_tokens=10_000)), CorpusError,
     "lower --held-out-tokens"),
    (lambda *_: Execution(dtype="float16"), InputError, "dtype is 'float16'"),  # type: ignore[arg-type]
    (lambda *_: Execution(save_every=0), InputError, "save_every is 0"),
    (lambda *_: Execution(directions=0), InputError, "directions is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "error", "message"), REFUSED)
def test_what_cannot_be_trained_is_refused(
    action: Callable[[TokenData, Path, Path], object], error: type[LngeomError], message: str,
    data: TokenData, whole: Path, tmp_path: Path,
) -> None:  # fmt: skip
    with pytest.raises(error, match=message):
        action(data, whole, tmp_path)


def test_two_processes_do_not_train_in_one_directory(data: TokenData, tmp_path: Path) -> None:
    """A second run, started from within the first one, is refused and disturbs nothing."""
    out, refused = tmp_path / "run", []

    def report(_: int) -> None:
        with pytest.raises(RunError, match="another process is writing this run"):
            run(FEW, data, out)
        refused.append(True)

    assert run(FEW, data, out, report=report)
    assert len(refused) == len(losses(out)) == FEW.steps


def test_a_folder_that_was_not_filled_does_not_exist(tmp_path: Path) -> None:
    def fail(draft: Path) -> None:
        (draft / "half").write_text("")
        raise Killed

    with pytest.raises(Killed):
        write_folder(tmp_path / "folder", fail)
    assert not (tmp_path / "folder").exists()
    write_folder(tmp_path / "folder", lambda draft: None)
    assert (tmp_path / "folder").is_dir()
