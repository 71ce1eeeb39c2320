"""The script of the training study: its networks, their gradients, its text, and runs that were stopped."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from empirical.models import RMSNorm, find_model, load_model
from empirical.support import CorpusError, RunError, read_table
from empirical.text import open_corpus
from experiments.training import study, tables, train as script
from experiments.training.gradients import uniform_energy, writer_gradients, writers
from experiments.training.networks import UNorm, build_model
from experiments.training.recipe import CONFIGS, CONTROLS, Norm, Recipe, checkpoint_steps, learning_rate
from experiments.training.text import Sequences, TokenData, prepare, train_tokenizer
from lngeom.errors import InputError, LngeomError

SMALL = Recipe("layer", layers=2, width=32, heads=2, vocabulary=64, sequence_length=16)


def shaken(norm: Norm, seed: int = 0, dtype: torch.dtype = torch.float64) -> Any:
    """A small network whose gains, biases and weights are far from where training starts."""
    model: Any = build_model(replace(SMALL, norm=norm, seed=seed))
    model = model.to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=dtype))
    return model


def ids(seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, SMALL.vocabulary, (3, SMALL.sequence_length + 1), generator=generator)


@pytest.mark.parametrize(
    ("name", "millions", "tied_millions"),
    [("70m", 70.9, 45.2), ("160m", 163.0, 124.4), ("410m", 406.3, 354.8), ("1b", 1013.7, 910.8)],
)
def test_networks_have_the_sizes_of_their_names_only_with_untied_embeddings(
    name: str, millions: float, tied_millions: float
) -> None:
    recipe = Recipe("layer", name)
    with torch.device("meta"):
        layer, rms = (build_model(replace(recipe, norm=norm)) for norm in ("layer", "rms"))
    counts = layer.num_parameters(), layer.num_parameters() - layer.lm_head.weight.numel()
    assert tuple(round(count / 1e6, 1) for count in counts) == (millions, tied_millions)
    # The only parameters that RMSNorm lacks are the biases of the 2L + 1 norms.
    assert layer.num_parameters() - rms.num_parameters() == (2 * recipe.layers + 1) * recipe.width


LACKS = {"rms": 2 * SMALL.layers + 1, "u": 0, "post": 2, "none": 4 * SMALL.layers + 2}
"""How many parameters of the network with LayerNorm the others do not have."""


@pytest.mark.parametrize("norm", LACKS)
def test_every_arm_starts_from_the_weights_of_layer_norm(norm: Norm) -> None:
    before = torch.get_rng_state()
    layer, arm = (dict(build_model(replace(SMALL, norm=kind)).named_parameters()) for kind in ("layer", norm))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(layer[name], parameter) for name, parameter in arm.items())
    assert len(layer) - len(arm) == LACKS[norm]
    assert all(name.rpartition(".")[0].endswith(("ln_1", "ln_2", "ln_f")) for name in layer.keys() - arm.keys())
    other = build_model(replace(SMALL, norm=norm, seed=1))
    assert not torch.equal(other.lm_head.weight, arm["lm_head.weight"])
    assert LACKS.keys() == {"rms", *CONTROLS}


def test_writers_are_what_the_stream_is_made_of() -> None:
    """Zero writers leave a stream of zeros: nothing else is added to it."""
    model, seen = shaken("layer"), list[torch.Tensor]()
    with torch.no_grad():
        for _, parameter in writers(model):
            parameter.zero_()
    model.transformer.ln_f.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.inference_mode():
        model(input_ids=ids()[:, :-1])
    assert not seen[0].any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_writers_are_orthogonal_to_1_with_layer_norm(dtype: torch.dtype, seed: int) -> None:
    gradients = writer_gradients(shaken("layer", seed, dtype), ids(seed))
    assert len(gradients) == 2 + 4 * SMALL.layers
    assert all(writer["excess"] <= 1 for writer in gradients)


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_gradients_are_not_orthogonal_with_rms_norm_nor_where_one_reader_has_no_norm(norm: Norm) -> None:
    """The hypothesis is needed: a head that reads the stream past the final norm sees the component along 1."""
    model = shaken(norm)
    if norm == "layer":
        model.transformer.ln_f = nn.Identity()
    assert not any(writer["excess"] <= 1 for writer in writer_gradients(model, ids()))


def test_an_rms_norm_in_one_block_breaks_it_for_the_writers_before_it() -> None:
    model = shaken("layer")
    model.transformer.h[1].ln_1 = RMSNorm(SMALL.width, 1e-5).double()
    broken = {writer["writer"] for writer in writer_gradients(model, ids()) if writer["excess"] > 1}
    assert broken == {name for name, _ in writers(model) if ".h.1." not in name}


def test_energy_along_1() -> None:
    assert uniform_energy(torch.ones(3, 7)) == pytest.approx(7, rel=14 * 2.0**-53)  # 7 squares and sums of 2, rounded
    assert uniform_energy(torch.tensor([[1.0, -1.0], [3.0, -3.0]])) == 0
    assert math.isnan(uniform_energy(torch.zeros(2, 5)))


def test_u_norm_is_blind_to_its_direction_and_layer_norm_for_the_uniform_one() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32))
    direction = np.random.default_rng(1).normal(size=16)
    layer = UNorm(direction, eps=1e-5)
    shifted = x + 3 * torch.from_numpy(direction.astype(np.float32))
    unit = torch.from_numpy(direction / np.linalg.norm(direction)).float()
    kept = (x - (x @ unit)[:, None] * unit).norm(dim=-1)
    with torch.no_grad():
        # Rounding the direction and the shifted vector, and taking the component off again: d + 8 roundings of the
        # length of that vector. They show in what is kept and once more in the length that it is divided by.
        off = 2 * (16 + 8) * 2.0**-24 * shifted.norm(dim=-1) / kept
        moved = (layer(shifted) - layer(x)).norm(dim=-1)
        assert bool((moved <= off * layer(x).norm(dim=-1)).all())
        # Two formulas of one function: some tens of roundings of numbers below 4 apart.
        uniform = UNorm(np.ones(16), eps=1e-5)(x)
        assert float((uniform - nn.functional.layer_norm(x, (16,), eps=1e-5)).abs().max()) < 64 * 2.0**-23 * 4


def test_post_blocks_compute_what_their_formula_says() -> None:
    model: Any = build_model(replace(SMALL, norm="post")).eval()
    block, seen = model.transformer.h[0], dict[str, Any]()
    block.attn.register_forward_hook(lambda _, given, out: seen.update(attended=out[0]))
    block.mlp.register_forward_hook(lambda _, given, out: seen.update(mlp=out, read=given[0]))
    block.register_forward_hook(lambda _, given, out: seen.update(stream=given[0], out=out))
    with torch.no_grad():
        model(input_ids=torch.arange(6)[None])
        middle = block.ln_1(seen["stream"] + seen["attended"])
        assert torch.equal(seen["read"], middle)
        assert torch.equal(seen["out"], block.ln_2(middle + seen["mlp"]))


# ----------------------------------------------------------------------------------------------- text and schedule


def stories(folder: Path, last: str = "sea") -> Path:
    """Forty documents, each naming its own number."""
    path = folder / "stories.jsonl"
    path.write_text("".join(f'{{"text": "story {n:02} of the ships at sea and of the {last}"}}\n' for n in range(40)))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TokenData:
    folder = tmp_path_factory.mktemp("data")
    return prepare(open_corpus(str(stories(folder))), folder / "data", vocabulary=270)


def test_one_document_in_ten_is_held_out_and_closed(data: TokenData) -> None:
    closed = data.tokenizer.eos_token
    numbers = [text.split()[1] for text in data.tokenizer.decode(data.held_out).split(closed)[:-1]]
    assert numbers == ["09", "19", "29", "39"]
    assert data.tokenizer.decode(data.train).count(closed) == 36
    assert (data.train[-1], data.held_out[-1]) == (data.tokenizer.eos_token_id,) * 2
    assert len(data.tokenizer) == 270


def test_held_out_sequences_are_apart(data: TokenData) -> None:
    many = data._replace(held_out=np.arange(500))
    rows = many.held_out_sequences(10, 95)
    assert rows.shape == (10, 11)
    assert torch.equal(rows, rows[:, :1] + torch.arange(11))
    assert bool((rows[1:, 0] >= rows[:-1, 0] + 10).all())


def test_unigram_entropy(data: TokenData) -> None:
    exact = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    found = data._replace(held_out=np.tile([3, 3, 3, 5], 100)).unigram_entropy()
    assert found == pytest.approx(exact, rel=8 * 2.0**-53)  # four rounded operations a side


@given(st.integers(0, 5), st.integers(2, 9), st.integers(20, 90))
def test_each_pass_visits_every_sequence_once(seed: int, length: int, tokens: int) -> None:
    text = Sequences(np.arange(tokens), length=length, count=100, seed=seed)
    rows = torch.stack([text[n]["input_ids"] for n in range(2 * text.per_pass)])
    for part in rows.split(text.per_pass):
        starts = np.sort(part[:, 0].numpy())
        assert np.array_equal(starts, starts[0] + length * np.arange(text.per_pass))
        assert starts[-1] + length < tokens
    assert torch.equal(rows, rows[:, :1] + torch.arange(length + 1))


def test_learning_rate_warms_up_and_falls_to_the_floor() -> None:
    recipe = replace(SMALL, learning_rate=2.0, steps=1000, warmup=0.1)
    rates = [learning_rate(recipe, step) for step in range(recipe.steps)]
    assert rates[:100] == [2.0 * (step + 1) / 100 for step in range(100)]
    assert rates[-1] == 0.1 * 2.0
    assert rates[99:] == sorted(rates[99:], reverse=True)


@pytest.mark.parametrize("name", sorted(CONFIGS.keys() - {"tiny"}))
def test_checkpoints_of_the_published_schedule(name: str) -> None:
    late = [60, 70, 80, 90, 100] if name in ("70m", "160m") else []
    expected = (0, *(1000 * k for k in [*range(1, 10), 10, 20, 30, 40, 50, *late]))
    assert checkpoint_steps(Recipe("layer", name)) == expected


# ------------------------------------------------------------------------------------------------------------ runs

RUN = script.Options(
    "layer", layers=1, width=16, heads=2, steps=12, batch_size=4, vocabulary=270, sequence_length=16, warmup=0.2,
    first_checkpoint=0.25, held_out_tokens=64, directions=4, cpu=True,
)  # fmt: skip
TABLES = ("losses", "held_out", "norms", "writers", "gradients")


def written(out: Path) -> dict[str, bytes]:
    return {name: (out / f"{name}.csv").read_bytes() for name in TABLES}


class Killed(BaseException):
    """Stands for a kill inside this process: nothing in the code catches it."""


def killed(run: script.Options, data: TokenData, step: int, patch: pytest.MonkeyPatch) -> None:
    """A run that ends when it would have taken a step."""
    loss = script.next_token_loss

    def dying(*given: Any) -> torch.Tensor:
        nonlocal step
        if (step := step - 1) < 0:
            raise Killed
        return loss(*given)

    with patch.context() as patched:
        patched.setattr(script, "next_token_loss", dying)
        with pytest.raises(Killed):
            script.train(run, data)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(
    optimizer: Any, data: TokenData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, stopped = (replace(RUN, optimizer=optimizer, output=tmp_path / name) for name in ("whole", "stopped"))
    script.train(whole, data)
    for step in (1, 8):  # before the first state, and between two
        killed(stopped, data, step, monkeypatch)
    (stopped.output / "checkpoint-9").mkdir()  # a state that a dying process began to write
    assert not (stopped.output / "losses.csv").exists()
    torch.manual_seed(1)
    script.train(stopped, data)
    assert written(stopped.output) == written(whole.output)
    losses = [row["loss"] for row in read_table(whole.output / "losses.csv")]
    assert len(losses) == RUN.steps
    assert losses[-1] < losses[0]
    gradients = read_table(whole.output / "gradients.csv")
    assert {row["step"] for row in gradients} == {0, RUN.steps}
    assert all(row["excess"] <= 1 for row in gradients)
    assert len(load_model(find_model(str(whole.output / "checkpoint-3"))).sites) == 3
    assert [path.parent.name for path in whole.output.glob("*/optimizer.pt")] == ["checkpoint-12"]


REFUSED: list[tuple[Callable[[TokenData, script.Options], object], type[LngeomError], str]] = [
    (lambda data, run: script.train(replace(run, seed=1), data), RunError, "is of another run .recipe is"),
    (lambda data, run: script.train(run, data._replace(source={})), RunError, "is of another run .data is"),
    (lambda data, run: script.train(replace(run, vocabulary=60), data), InputError, "train a smaller tokenizer"),
    (lambda data, run: script.train(replace(run, held_out_tokens=10_000), data), CorpusError, "lower --held-out-"),
    (lambda _, run: replace(run, heads=3), InputError, "3 heads do not divide the width 16"),
    (lambda *_: Sequences(np.arange(16), length=8, count=1, seed=0), CorpusError, "fewer than two sequences"),
    (lambda *_: train_tokenizer(["a few words"], 256), InputError, "the text yields 257 tokens, not the 256 asked for"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "error", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_what_cannot_be_trained_is_refused(
    action: Callable[[TokenData, script.Options], object], error: type[LngeomError], message: str,
    data: TokenData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = replace(RUN, output=tmp_path)
    killed(run, data, 0, monkeypatch)
    with pytest.raises(error, match=message):
        action(data, run)


def test_another_text_is_not_taken_for_the_one_that_was_tokenized(data: TokenData, tmp_path: Path) -> None:
    prepare(open_corpus(str(stories(tmp_path))), tmp_path / "data", vocabulary=270)
    with pytest.raises(RunError, match=r"holds the tokens of .*, not of .*: choose another --output"):
        prepare(open_corpus(str(stories(tmp_path, "moon"))), tmp_path / "data", vocabulary=270)


def test_a_loss_that_is_not_finite_ends_the_run(data: TokenData, tmp_path: Path) -> None:
    wild = replace(RUN, optimizer="sgd", learning_rate=1e30, warmup=0.0, clip=0.0, output=tmp_path)
    with pytest.raises(RunError, match=r"the loss of step \d+ is (nan|inf): training has diverged; lower"):
        script.train(wild, data)


def test_the_plan_compares_norms_optimizers_decays_and_sizes() -> None:
    runs = list(study.plan(study.Options(seeds=2, seeds_elsewhere=1, controls=1)))
    assert len({run.output for run in runs}) == len(runs) == 2 * 8 + 8 + 6
    assert [run.seed for run in runs] == [0] * 8 + [1] * 8 + [0] * 14
    of_norm = [[run for run in runs if run.norm == norm] for norm in ("layer", "rms", *CONTROLS)]
    cells = [{tuple(getattr(run, name) for name in tables.CELL[1:]) for run in each} for each in of_norm]
    assert cells[0] == cells[1] > cells[2] == cells[3] == cells[4]
    assert {cell[:2] for cell in cells[0]} == {("adamw", 0.0), ("adamw", 0.1), ("sgd", 0.0), ("sgd", 5e-4)}
    assert len({cell[2:] for cell in cells[0]}) == 5


def test_a_small_study_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell and arm once: four tables, three figures, and a second call that finds everything done."""
    monkeypatch.setattr(study, "DECAYS", {"adamw": (0.0, 0.1), "sgd": (0.0,)})
    monkeypatch.setattr(study, "OTHER_SIZES", ((1, 32),))
    out, text = tmp_path / "study", stories(tmp_path, "sea " * 40)
    words = f"--corpus {text} --output {out} --vocabulary 270 --seeds 1 --seeds-elsewhere 1 --controls 1 --steps 1"
    command = f"{words} --batch-size 1 --directions 2 --held-out-tokens 128".split()
    study.main(command)
    rows, gradients = (read_table(out / f"{name}.csv") for name in ("study", "gradients"))
    controls = read_table(out / "controls.csv", words=("direction",))
    assert len(rows) == 2 * (6 * 9 + 2 * 3)  # two checkpoints, of nine norms at tiny and three at the other size
    assert {(row["norm"], row["direction"]) for row in controls} == {*product(CONTROLS, ("1", "u"))}
    assert all((row["excess"] <= 1) == (row["norm"] == "layer") for row in gradients if row["share"] is not None)
    assert all((out / f"{name}.svg").stat().st_size > 10_000 for name in ("steps", "depth", "sizes"))
    before = {path: path.read_bytes() for path in out.rglob("*.csv")}
    study.main(command)
    assert {path: path.read_bytes() for path in out.rglob("*.csv")} == before
