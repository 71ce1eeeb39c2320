"""What the study concludes: on its committed tables, and where the exact answer is known."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from experiments.training import tables
from experiments.training.tables import CELL, MARGIN, SeedMean, student_mean

COMMITTED = Path(__file__).parents[2] / "docs" / "results" / "training"


@pytest.fixture(scope="module")
def study() -> tables.Table:
    return pd.read_csv(COMMITTED / "study.csv")


def test_cells_are_judged_by_the_sites_behind_block_0(study: tables.Table) -> None:
    summary = tables.summarize(study)
    cell = ("layer", "adamw", 0.0, 4, 128)
    rows = study[study["step"] == 300].groupby(CELL).get_group(cell).query("not site.str.startswith('h.0.')")
    by_seed = np.log(rows["d_cos2"]).groupby(rows["seed"]).mean()
    # Means of some 35 logarithms below 10, each rounded a dozen times.
    assert math.log(summary.loc[cell, "energy"].mean) == pytest.approx(by_seed.mean(), abs=35 * 12 * 10 * 2.0**-53)
    assert list(summary.loc[cell, "ranks"]) == list(rows[rows["site"] == "ln_f"]["rank_among_random"])
    judged = tables.verdicts(summary)
    assert judged[cell] == "holds"
    assert tables.first_step_below(study)[cell] == 9
    swapped = study.assign(norm=study["norm"].map({"layer": "rms", "rms": "layer"}))
    assert tables.verdicts(tables.summarize(swapped))[cell] == "violated"


def test_losses_are_compared_seed_by_seed(study: tables.Table) -> None:
    pairs = tables.paired_losses(study)
    last = study[study["step"] == 300].drop_duplicates([*CELL, "seed"]).set_index([*CELL, "seed"])["held_out_loss"]
    # A difference of two numbers of five digits is rounded once.
    for row in pairs.itertuples():
        place = (row.optimizer, row.weight_decay, row.layers, row.width, row.seed)
        assert row.difference == last["layer", *place] - last["rms", *place]
    assert tables.equivalence(tables.pooled_loss(pairs)) == "equivalent"


def test_writers_are_summarized_by_kind() -> None:
    summary = tables.summarize_writers(pd.read_csv(COMMITTED / "writers.csv"))
    kinds = set(summary.index.get_level_values("kind"))
    assert kinds == {"embeddings", "projections", "biases"}
    sgd = summary.sort_index().loc[("layer", "sgd", 0.0, 4, 128)]
    # Stored with five digits; biases start at zero.
    assert sgd.loc["projections", "uniform_growth"].mean == pytest.approx(1, abs=1e-4)
    assert sgd.loc["biases", "growth"].text() == "–"


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=9))
def test_intervals_are_students(values: list[float]) -> None:
    if np.std(values) == 0:
        assert len({*student_mean(values)[:3]}) == 1
        return
    expected: Any = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    # Both are a mean of n numbers plus a multiple of a standard deviation, each rounded some n times.
    slack = 100 * len(values) * 2.0**-53 * max(values) * float(stats.t.ppf(0.975, 1))
    assert student_mean(values)[1:3] == pytest.approx(expected, abs=slack)


@pytest.mark.parametrize(("seeds", "directions"), [(1, 9), (2, 9), (3, 6)])
def test_chance_of_ranks_bounds_the_exact_probability(seeds: int, directions: int) -> None:
    """Against all (K + 1)^n equally likely outcomes, for sums of ranks up to half of the largest."""
    outcomes = [sum(ranks) for ranks in product(range(directions + 1), repeat=seeds)]
    for total in range(seeds * directions // 2 + 1):
        exact = sum(outcome <= total for outcome in outcomes) / len(outcomes)
        ranks = [total // seeds + (seed < total % seeds) for seed in range(seeds)]
        # The quotient of integers is rounded once.
        assert tables.chance_of_ranks(ranks, directions) >= exact * (1 - 2.0**-52)


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (student_mean([-MARGIN / 8, MARGIN / 8, 0.0]), "equivalent"),
        (student_mean([0.2, -0.2, 0.1]), "undecided"),
        (student_mean([0.5, 0.6, 0.55]), "different"),
        (SeedMean(0.01, 0.005, 0.015, 5), "equivalent, and different"),
        (student_mean([0.0]), "undecided"),
    ],
)
def test_equivalence_is_two_tests(mean: SeedMean, expected: str) -> None:
    assert tables.equivalence(mean) == expected
