import itertools
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from experiments.training import study, tables
from experiments.training.network import SIZES, Decoder, Recipe, Size
from experiments.training.run import train
from experiments.training.text import Text, spread
from lngeom.empirical.support import CorpusError
from lngeom.files import lock

TINY = Size(1, 8, 2, 16, 4, 6, (0.01, 0.03, 0.1))
RECIPE = Recipe("tiny", "LayerNorm", "pre", "untied", 0.01, 0, 6, "text")


@pytest.fixture(autouse=True)
def tiny(monkeypatch) -> None:
    monkeypatch.setitem(SIZES, "tiny", TINY)


def words(seed: int, count: int = 2_000) -> np.ndarray:
    return np.random.default_rng(seed).integers(97, 101, count).astype(np.uint8)


TEXT = Text(words(0), words(1), words(2))


def network(norm: Any, embeddings: Any = "untied") -> Any:
    return Decoder(replace(RECIPE, norm=norm, embeddings=embeddings)).double()


def test_networks_of_a_seed_start_from_the_same_weights() -> None:
    layer = dict(network("LayerNorm").named_parameters())
    for norm, embeddings, lacks in (("RMSNorm", "untied", 0), ("none", "untied", 3), ("LayerNorm", "tied", 1)):
        other = dict(network(norm, embeddings).named_parameters())
        assert all(torch.equal(layer[name], parameter) for name, parameter in other.items())
        assert len(layer) - len(other) == lacks


def writers(model: Decoder) -> dict[torch.Tensor, int]:
    block: Any = model.blocks[0]
    return {model.embedding.weight: 1, block.attention_write.weight: 0, block.mlp_write.weight: 0}


def test_no_gradient_of_a_writer_is_along_1_behind_layer_norm() -> None:
    along = {}
    for norm in ("LayerNorm", "RMSNorm"):
        model = network(norm)
        model.loss(spread(TEXT.test, 16, 64)).backward()
        sums = [each.grad.sum(axis).abs().max() / each.grad.norm() for each, axis in writers(model).items()]  # pyright: ignore
        along[norm] = float(max(sums))
    # Sums of 8 components, themselves sums of a thousand products.
    assert along["LayerNorm"] < 8 * 1_000 * 2.0**-53 < 1e-6 < along["RMSNorm"]


def losses_of_flipped(norm: Any, signs: torch.Tensor) -> list[float]:
    model = network(norm)
    block: Any = model.blocks[0]
    readers = dict.fromkeys([block.read.weight, block.widen.weight, model.head.weight], 1)
    for each, axis in (writers(model) | readers).items():
        each.data *= signs if axis else signs[:, None]
    steps, found = torch.optim.AdamW(model.parameters(), lr=0.01), []
    for _ in range(4):
        found.append(model.loss(spread(TEXT.train, 16, 64)))
        steps.zero_grad()
        found[-1].backward()
        steps.step()
    return [float(loss.detach()) for loss in found]


def test_1_is_a_sign_direction_like_others_without_layer_norm() -> None:
    ones, signs = torch.ones(8).double(), torch.tensor([1.0, -1, 1, 1, -1, -1, 1, -1]).double()
    # Losses below 10 from some ten thousand roundings.
    close = 1e4 * 2.0**-53
    for norm in ("RMSNorm", "none"):
        assert losses_of_flipped(norm, ones) == pytest.approx(losses_of_flipped(norm, signs), rel=close)
    assert losses_of_flipped("LayerNorm", ones) != pytest.approx(losses_of_flipped("LayerNorm", signs), rel=1e-6)


class Killed(BaseException):
    """Stands for a kill: nothing in the code catches it."""


def rows(output: Path) -> Any:
    return pd.read_csv(output / "runs.csv").drop(columns="seconds").sort_values([*tables.KEY, "step", "site"])


def test_a_study_that_was_stopped_goes_on(tmp_path, monkeypatch) -> None:
    planned = [*study.plan(study.Options(config="tiny", seeds=3), TEXT.identity())]
    assert len(planned) == len(set(planned)) == 3 * (9 + 9 + 2)
    recipes = [recipe for recipe in planned if recipe.embeddings == "untied" and recipe.rate > 0.01]
    study.go_on(recipes, TEXT, tmp_path / "whole")
    made = {path.name for path in (tmp_path / "whole").iterdir() if path.is_file()} - {".lock"}
    assert made == {"runs.csv", "losses.csv", "comparisons.csv", "ranks.csv", "steps.svg"}
    started: list[Recipe] = []

    def counted(recipe: Recipe, text: Text) -> Any:
        started.append(recipe)
        if len(started) == 3:
            raise Killed
        return train(recipe, text)

    monkeypatch.setattr(study, "train", counted)
    with pytest.raises(Killed):
        study.go_on(recipes, TEXT, tmp_path / "stopped")
    elsewhere = tmp_path / "stopped" / "-".join(map(str, astuple(recipes[5])))
    elsewhere.mkdir()
    hold = lock(elsewhere)
    study.go_on(recipes, TEXT, tmp_path / "stopped")
    assert recipes[5] not in started
    hold.release()
    (tmp_path / "moved").mkdir()
    (tmp_path / "stopped" / "runs.csv").rename(tmp_path / "moved" / "runs.csv")
    study.go_on(recipes, TEXT, tmp_path / "moved")
    assert [recipe for recipe in recipes if started.count(recipe) != 1] == [recipes[2]]
    assert rows(tmp_path / "moved").equals(rows(tmp_path / "whole").set_axis(rows(tmp_path / "moved").index))


def test_a_text_without_a_piece_is_refused() -> None:
    with pytest.raises(CorpusError, match="use a longer corpus"):
        spread(words(0, 16), 16, 4)


@pytest.mark.parametrize(
    ("values", "margin", "expected"),
    [
        ([-0.01, 0.01, 0.0], 0.02, "equivalent"),
        ([-0.01, 0.01, 0.0], 0.01, "not distinguished"),
        ([-0.01, 0.01, 0.0], float("nan"), "not distinguished"),
        ([0.5, 0.6, 0.55], 0.2, "different"),
        ([0.5, 0.6, 0.55], 0.7, "equivalent"),
    ],
)
def test_equivalence_is_two_tests(values: list[float], margin: float, expected: str) -> None:
    assert tables.verdict(values, margin) == expected


def test_chance_of_ranks_bounds_the_exact_probability() -> None:
    """Against all equally likely outcomes: those whose sum is as far from the middle, on either side."""
    directions, seeds = 6, 3
    sums = [sum(outcome) for outcome in itertools.product(range(directions + 1), repeat=seeds)]
    for outcome in itertools.product(range(directions + 1), repeat=seeds):
        far = abs(sum(outcome) - seeds * directions / 2)
        exact = np.mean([abs(each - seeds * directions / 2) >= far for each in sums])
        # The quotient of integers is rounded once.
        assert tables.chance_of_ranks(outcome, directions) >= exact * (1 - 2.0**-52)


def table_of(cells: dict[tuple[str, float], Sequence[float]]) -> Any:
    """Runs whose validation and test losses are given by norm and rate, seed by seed."""
    base = {**vars(RECIPE), "site": "final_norm", "step": 6}
    made = [
        base | {"norm": norm, "rate": rate, "seed": seed, "validation_loss": loss, "test_loss": loss}
        for (norm, rate), losses in cells.items()
        for seed, loss in enumerate(losses)
    ]
    return pd.DataFrame(made)


def test_norms_are_compared_at_their_own_best_rates_over_whole_seeds() -> None:
    cells: Any = {("LayerNorm", 0.1): [1.0, 1.1, 1.2], ("LayerNorm", 0.2): [0.5, 1.3, 9.0]}
    cells |= {("none", 0.1): [3.0, 3.0], ("none", 0.2): [2.0, 2.2]}
    cells |= {("RMSNorm", rate): cells["LayerNorm", rate] for rate in (0.1, 0.2)}
    found: Any = tables.comparisons(tables.whole(table_of(cells))).iloc[0]
    assert (found["rate"], found["norm"], found["seeds"]) == ("best", "none", 2)
    differences = [2.0 - 0.5, 2.2 - 1.3]
    assert found["mean"] == pytest.approx(np.mean(differences))
    expected: Any = scipy.stats.ttest_1samp(differences, 0)
    assert found["p"] == pytest.approx(expected.pvalue)
