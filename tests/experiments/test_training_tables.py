"""What the study concludes from its tables, on tables that were made up."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from experiments.training import tables
from experiments.training.tables import MARGIN, ratio_mean, student_mean

Energy = Callable[[str, int, int], float]
CELL: dict[str, Any] = {"optimizer": "adamw", "weight_decay": 0.0, "layers": 4, "width": 128}


def study(energy: Energy, losses: Energy = lambda *_: 5.0) -> tables.Table:
    """A made-up study of three norms; `energy` of (norm, step, seed) is d·E[cos²θ] behind block 0."""
    rows = []
    for norm, seed, step, site in product(("layer", "rms"), range(5), (0, 10, 20), ("h.0.ln_1", "h.1.ln_1", "ln_f")):
        value = 1.0 if "h.0" in site else energy(norm, step, seed)
        measured = {"d_cos2": value, "random_d_cos2_median": 0.9, "rank_among_random": 0 if value < 0.1 else 32}
        measured |= {"directions": 64, "held_out_loss": losses(norm, step, seed)}
        rows.append({"norm": norm, **CELL, "seed": seed, "step": step, "site": site, **measured})
    return pd.DataFrame(rows)


def collapsing(norm: str, step: int, seed: int) -> float:
    return (0.01 if norm == "layer" and step else 1.0) * (1 + 0.01 * seed)


def alike(norm: str, step: int, seed: int) -> float:
    return 0.7 + 0.1 * seed


def growing(norm: str, step: int, seed: int) -> float:
    return (10.0 if norm == "layer" and step else 1.0) * (1 + 0.01 * seed)


def shared(norm: str, step: int, seed: int) -> float:
    return 0.01 * (1 + 0.01 * seed)


@pytest.mark.parametrize(
    ("energy", "expected"), [(collapsing, "holds"), (alike, "undecided"), (growing, "violated"), (shared, "undecided")]
)
def test_verdicts_follow_the_numbers(energy: Energy, expected: str) -> None:
    assert tables.verdicts(tables.summarize(study(energy))) == {("layer", *CELL.values()): expected}


def test_summaries_leave_out_what_block_0_reads() -> None:
    layer, rms = tables.summarize(study(collapsing)).itertuples()
    expected: Any = ratio_mean([0.01 * (1 + 0.01 * seed) for seed in range(5)])
    # Logarithms are below 5 and sums of five below 25; either way takes at most a dozen such steps, each right to 25u,
    # and the exponential makes of what is off in its argument what is off relative to the mean.
    assert layer.energy == pytest.approx(expected, rel=2 * 12 * 25 * 2.0**-53)
    assert (layer.lowest, rms.lowest) == ((10, 10), (0, 10))
    assert (layer.rank.mean, rms.rank.mean) == (0.0, 0.5)


def test_first_step_below_is_the_start_of_what_lasts() -> None:
    for bad, expected in ((None, 10), (10, 20), (20, None)):
        rows = study(lambda norm, step, seed, bad=bad: collapsing(norm, step * (step != bad), seed))
        assert dict(tables.first_step_below(rows)) == ({("layer", *CELL.values()): expected} if expected else {})


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=9))
def test_intervals_are_students(values: list[float]) -> None:
    if np.std(values) == 0:
        assert len({*student_mean(values)[:3]}) == 1
        return
    expected: Any = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    # Both are a mean of n numbers plus a multiple of a standard deviation, each rounded some n times.
    slack = 100 * len(values) * 2.0**-53 * max(values) * float(stats.t.ppf(0.975, 1))
    assert student_mean(values)[1:3] == pytest.approx(expected, abs=slack)


def test_one_seed_says_nothing() -> None:
    assert ratio_mean([2.0])[1:] == (0.0, math.inf, 1)
    assert student_mean([2.0])[1:] == (-math.inf, math.inf, 1)
    assert tables.equivalence(student_mean([0.0])) == "undecided"


@pytest.mark.parametrize(("seeds", "directions"), [(1, 9), (2, 9), (3, 6)])
def test_chance_of_ranks_bounds_the_exact_probability(seeds: int, directions: int) -> None:
    """Against all (K + 1)^n equally likely outcomes, for sums of ranks up to half of the largest."""
    outcomes = [sum(ranks) for ranks in product(range(directions + 1), repeat=seeds)]
    for total in range(seeds * directions // 2 + 1):
        exact = sum(outcome <= total for outcome in outcomes) / len(outcomes)
        ranks = [total // seeds + (seed < total % seeds) for seed in range(seeds)]
        # The quotient of integers is rounded once.
        assert tables.chance_of_ranks(ranks, directions) >= exact * (1 - 2.0**-52)
    assert tables.chance_of_ranks([directions] * seeds, directions) == 1
    assert tables.chance_of_ranks([0] * seeds, directions) < 2 * seeds**seeds / (directions + 1) ** seeds


def test_losses_are_compared_seed_by_seed() -> None:
    """Seeds differ by 1 nat and the norms by 0.01: only the paired difference can see it."""
    rows = study(alike, lambda norm, _, seed: 5.0 + seed + 0.01 * (norm == "layer") + 1e-4 * (seed % 2))
    pairs = tables.paired_losses(rows)
    difference = student_mean(pairs["difference"])
    assert difference.low > 0
    # A loss below 10, a difference of two and a mean of five: a few roundings of numbers below 16, of 8u each.
    assert difference.mean == pytest.approx(0.01, abs=(2 + 1 + 5) * 8 * 2.0**-53)
    assert tables.pooled_loss(pairs).mean == pytest.approx(difference.mean, abs=(1 + 5) * 8 * 2.0**-53)
    assert tables.equivalence(difference) == "equivalent, and different"


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([-MARGIN / 8, MARGIN / 8, 0.0], "equivalent"), ([0.2, -0.2, 0.1], "undecided"), ([0.5, 0.6, 0.55], "different")],
)
def test_equivalence_is_two_tests(differences: list[float], expected: str) -> None:
    assert tables.equivalence(student_mean(differences)) == expected


def test_writers_are_summarized_by_kind() -> None:
    now = {"size": 6.0, "uniform_size": 0.5, "share": 0.5, "change_size": 4.0, "change_share": 1e-12}
    starts = {"h.wte.weight": (3.0, 0.5), "h.0.mlp.c_proj.weight": (3.0, 0.5), "h.0.mlp.c_proj.bias": (0.0, 0.0)}
    made = (
        {"norm": "layer", **CELL, "seed": seed, "writer": name, "start_size": start, "start_uniform_size": uniform}
        for seed, (name, (start, uniform)) in product(range(3), starts.items())
    )
    summary = tables.summarize_writers(pd.DataFrame(made).assign(**now))
    kinds = {kind: means for (*_, kind), *means in summary.itertuples(name=None)}
    assert kinds.keys() == {"embeddings", "projections", "biases"}
    # The logarithm of a ratio of 2, a mean of three and the exponential: fewer than eight roundings.
    assert kinds["projections"][0].mean == pytest.approx(2, rel=8 * 2.0**-53)
    assert [each.text() for each in kinds["biases"]] == ["–", "–", "1.0e-12 [1.0e-12, 1.0e-12]"]
