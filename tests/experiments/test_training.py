"""The script of the training study: its networks, their gradients, its text, and runs that were stopped."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from experiments.training import study, tables, train as script
from experiments.training.measure import gradients
from experiments.training.networks import UNorm, build_model
from experiments.training.recipe import CONFIGS, Norm, Recipe, checkpoint_steps
from experiments.training.text import TokenData, prepare, train_tokenizer
from experiments.training.train import train
from lngeom.empirical.models import find_model, load_model
from lngeom.empirical.support import CorpusError, read_table
from lngeom.empirical.text import open_corpus
from lngeom.errors import InputError, LngeomError, RunError

SMALL = Recipe("layer", layers=2, width=32, heads=2, vocabulary=64, sequence_length=16)


@pytest.mark.parametrize(("name", "millions"), [("70m", 70.9), ("160m", 163.0), ("410m", 406.3), ("1b", 1013.7)])
def test_networks_have_the_sizes_of_their_names(name: str, millions: float) -> None:
    recipe = Recipe("layer", name)
    with torch.device("meta"):
        layer, rms = (build_model(replace(recipe, norm=norm)) for norm in ("layer", "rms"))
    assert round(layer.num_parameters() / 1e6, 1) == millions
    # The only parameters that RMSNorm lacks are the biases of the 2L + 1 norms.
    assert layer.num_parameters() - rms.num_parameters() == (2 * recipe.layers + 1) * recipe.width


LACKS = {"rms": 2 * SMALL.layers + 1, "u": 0}
"""How many parameters of the network with LayerNorm the others do not have."""


@pytest.mark.parametrize("norm", LACKS)
def test_every_arm_starts_from_the_weights_of_layer_norm(norm: Norm) -> None:
    layer, arm = (dict(build_model(replace(SMALL, norm=kind)).named_parameters()) for kind in ("layer", norm))
    assert all(torch.equal(layer[name], parameter) for name, parameter in arm.items())
    assert len(layer) - len(arm) == LACKS[norm]


def test_gradients_of_writers_are_orthogonal_to_1_with_layer_norm_alone() -> None:
    shares: dict[str, list[float]] = {}
    for norm in ("layer", "rms"):
        model: Any = build_model(replace(SMALL, norm=norm)).double()
        found = gradients(model, torch.randint(0, 64, (3, 17), generator=torch.Generator().manual_seed(0)))
        shares[norm] = [row["share"] for row in found]
    assert len(shares["layer"]) == 2 + 4 * SMALL.layers
    # A share is a square: that of an error of a million roundings is below the unit roundoff.
    assert max(shares["layer"]) < 2.0**-53 < 1e-6 < min(shares["rms"])


def test_u_norm_is_layer_norm_where_its_direction_is_1() -> None:
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    uniform = UNorm(np.ones(16), eps=1e-5)(x).detach()
    # Two formulas of one function: some tens of roundings of numbers below 4 apart.
    assert float((uniform - torch.nn.functional.layer_norm(x, (16,), eps=1e-5)).abs().max()) < 64 * 2.0**-23 * 4


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


@pytest.mark.parametrize("name", sorted(CONFIGS.keys() - {"tiny"}))
def test_checkpoints_of_the_published_schedule(name: str) -> None:
    late = [60, 70, 80, 90, 100] if name in ("70m", "160m") else []
    expected = (0, *(1000 * k for k in [*range(1, 10), 10, 20, 30, 40, 50, *late]))
    assert checkpoint_steps(Recipe("layer", name)) == expected


RUN = Recipe(
    "layer", layers=1, width=16, heads=2, steps=12, batch_size=4, vocabulary=270, sequence_length=16,
    first_checkpoint=0.25, held_out_tokens=64, cpu=True,
)  # fmt: skip


def written(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.glob("*.csv")}


class Killed(BaseException):
    """Stands for a kill inside this process: nothing in the code catches it."""


def killed(data: TokenData, out: Path, step: int, patch: pytest.MonkeyPatch) -> None:
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
            train(RUN, data, out)


def test_a_run_that_was_stopped_goes_on_bit_for_bit(
    data: TokenData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(RUN, data, whole)
    for step in (1, 8):  # behind the first state, and between two
        killed(data, stopped, step, monkeypatch)
    (stopped / ".state.pt.draft").write_bytes(b"")  # a state that a dying process began to write
    assert not written(stopped)
    torch.manual_seed(1)
    taken, loss = [], script.next_token_loss
    monkeypatch.setattr(script, "next_token_loss", lambda *given: (taken.append(1), loss(*given))[1])
    train(RUN, data, stopped)
    assert len(taken) == RUN.steps - 6, "from the last state on"
    assert written(stopped) == written(whole)
    assert written(whole).keys() == {"losses", "sites", "writers", "gradients"}
    losses = [row["loss"] for row in read_table(whole / "losses.csv")]
    assert len(losses) == RUN.steps
    assert losses[-1] < losses[0]
    assert len(load_model(find_model(str(whole / "checkpoint-12"))).sites) == 3


REFUSED: list[tuple[Callable[[TokenData, Path], object], type[LngeomError], str]] = [
    (lambda data, out: train(replace(RUN, seed=1), data, out), RunError, "is of another run .recipe is"),
    (lambda data, out: train(RUN, data._replace(source={}), out), RunError, "is of another run .data is"),
    (lambda data, out: train(replace(RUN, vocabulary=60), data, out), InputError, "train a smaller tokenizer"),
    (lambda data, out: train(replace(RUN, held_out_tokens=10_000), data, out), CorpusError, "lower --held-out-"),
    (lambda *_: replace(RUN, heads=3), InputError, "3 heads do not divide the width 16"),
    (lambda data, _: data.batch(0, 2, 10**6, 0), CorpusError, "fewer than 2 sequences"),
    (lambda *_: train_tokenizer(["a few words"], 256), InputError, "the text yields 257 tokens, not the 256 asked for"),
    (
        lambda data, out: train(replace(RUN, optimizer="sgd", learning_rate=1e30), data, out / "wild"),
        RunError, r"the loss of step \d+ is (nan|inf): training has diverged; lower",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def begun(data: TokenData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped before its first step."""
    out = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        killed(data, out, 0, patch)
    return out


@pytest.mark.parametrize(("action", "error", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_what_cannot_be_trained_is_refused(
    action: Callable[[TokenData, Path], object], error: type[LngeomError], message: str, data: TokenData, begun: Path
) -> None:
    with pytest.raises(error, match=message):
        action(data, begun)


def test_another_text_is_not_taken_for_the_one_that_was_tokenized(tmp_path: Path) -> None:
    prepare(open_corpus(str(stories(tmp_path))), tmp_path / "data", vocabulary=270)
    with pytest.raises(RunError, match=r"holds the tokens of .*, not of .*: choose another --output"):
        prepare(open_corpus(str(stories(tmp_path, "moon"))), tmp_path / "data", vocabulary=270)


def test_a_small_study_from_end_to_end(data: TokenData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every arm once: four tables, a figure, and a second call that finds everything done."""
    monkeypatch.setattr(tables, "TINY", (1, 32))
    small = {"steps": 1, "batch_size": 1, "vocabulary": 270, "sequence_length": 16, "held_out_tokens": 64, "cpu": True}
    cells = study.grid(("layer", "rms", "u"), study.OPTIMIZERS[:2], [(1, 32), (2, 32)], 1, **small)
    study.run(cells, data, tmp_path)
    before = written(tmp_path)
    assert before.keys() == {"study", "controls", "writers", "gradients"}
    rows = read_table(tmp_path / "study.csv")
    controls = read_table(tmp_path / "controls.csv", words=("direction",))
    assert len(rows) == 2 * 2 * 2 * (3 + 5)  # two checkpoints, norms and decays, at three and at five sites
    assert {(row["norm"], row["direction"]) for row in controls} == {("u", "1"), ("u", "u")}
    assert (tmp_path / "steps.svg").stat().st_size > 10_000
    monkeypatch.setattr(study, "write_figure", lambda *_: None)
    study.run(cells, data, tmp_path)
    assert written(tmp_path) == before
