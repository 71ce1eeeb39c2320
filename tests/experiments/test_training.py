import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from experiments import training

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "training"


def test_the_tables_of_the_page_are_those_of_the_runs(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_bytes((RESULTS / "runs.csv").read_bytes())
    training.main(tmp_path)
    for name in ("losses.csv", "comparisons.csv", "ranks.csv"):
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text()


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
    assert training.verdict(values, margin) == expected


def test_chance_of_ranks_bounds_the_exact_probability() -> None:
    """Against all equally likely outcomes: those whose sum is as far from the middle, on either side."""
    directions, seeds = 6, 3
    sums = [sum(outcome) for outcome in itertools.product(range(directions + 1), repeat=seeds)]
    for outcome in itertools.product(range(directions + 1), repeat=seeds):
        far = abs(sum(outcome) - seeds * directions / 2)
        exact = np.mean([abs(each - seeds * directions / 2) >= far for each in sums])
        # The quotient of integers is rounded once.
        assert training.chance_of_ranks(outcome, directions) >= exact * (1 - 2.0**-52)


def table_of(cells: dict[tuple[str, float], Sequence[float]]) -> Any:
    """Runs whose validation and test losses are given by norm and rate, seed by seed."""
    base = dict.fromkeys(training.KEY, 0) | {"place": "pre", "embeddings": "untied"}
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
    found: Any = training.comparisons(training.whole(table_of(cells))).iloc[0]
    assert (found["rate"], found["norm"], found["seeds"]) == ("best", "none", 2)
    differences = [2.0 - 0.5, 2.2 - 1.3]
    assert found["mean"] == pytest.approx(np.mean(differences))
    expected: Any = scipy.stats.ttest_1samp(differences, 0)
    assert found["p"] == pytest.approx(expected.pvalue)
