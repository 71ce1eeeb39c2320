"""The study: its plan, its intervals, what it concludes from made-up tables, and one small study from end to end."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from empirical.pages import Drawn, draw_runs, study_report, verdict, write_study_report
from empirical.support import RunError, read_table, write_table
from empirical.train import (
    _plan,
    chance_of_ranks,
    conditions,
    first_step_below,
    geometric_mean,
    paired_losses,
    plan,
    student_mean,
    summarize,
    summarize_writers,
    writer_kind,
)
from lngeom.cli import main

Energy = Callable[[str, int, int], float]
CELL: dict[str, Any] = {"optimizer": "adamw", "weight_decay": 0.0, "layers": 4, "width": 128}


def study(energy: Energy, *, seeds: int = 5, random: float = 0.9, losses: Energy | None = None) -> list[dict[str, Any]]:
    """A made-up study of three norms; `energy` of (norm, step, seed) is d·E[cos²θ] behind block 0."""
    sites = (("h.0.ln_1", 0, "pre_attn"), ("h.1.ln_1", 1, "pre_attn"), ("ln_f", None, "final"))
    rows = []
    for norm, seed, step, (site, layer, role) in product(("layer", "rms"), range(seeds), (0, 10, 20), sites):
        value = 1.0 if layer == 0 else energy(norm, step, seed)
        loss = 5.0 if losses is None else losses(norm, step, seed)
        energies = {"d_cos2": value, "random_d_cos2_median": random, "rank_among_random": 0 if value < 0.1 else 32}
        place = {"seed": seed, "step": step, "site": site, "layer": layer, "role": role}
        rows.append({**CELL, "norm": norm, **place, **energies, "directions": 64, "held_out_loss": loss})
    return rows


def collapsing(norm: str, step: int, seed: int) -> float:
    return (0.01 if norm == "layer" and step else 1.0) * (1 + 0.01 * seed)


def alike(norm: str, step: int, seed: int) -> float:
    return 0.7 + 0.1 * seed


def growing(norm: str, step: int, seed: int) -> float:
    return (10.0 if norm == "layer" and step else 1.0) * (1 + 0.01 * seed)


def test_the_plan_has_both_norms_decays_optimizers_and_several_sizes() -> None:
    cells = conditions()
    assert len(set(cells)) == len(cells)
    for cell in cells:
        twin = replace(cell, norm="rms" if cell.norm == "layer" else "layer")
        assert twin in cells
    tiny = [cell for cell in cells if (cell.layers, cell.width) == _plan.TINY]
    assert {(cell.optimizer, cell.weight_decay > 0) for cell in tiny} == {
        (optimizer, decays) for optimizer in ("adamw", "sgd") for decays in (False, True)
    }
    assert len({cell.layers for cell in cells}) >= 3
    assert len({cell.width for cell in cells}) >= 3


def test_the_plan_visits_every_cell_with_every_seed_and_tiny_first() -> None:
    runs = list(plan(5, 3))
    tiny = [(cell.layers, cell.width) == _plan.TINY for cell, _ in runs]
    assert tiny == sorted(tiny, reverse=True)
    counts = {cell: sorted(seed for other, seed in runs if other == cell) for cell in conditions()}
    for cell, seeds in counts.items():
        assert seeds == list(range(5 if (cell.layers, cell.width) == _plan.TINY else 3))


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=9))
def test_intervals_are_students(values: list[float]) -> None:
    interval = student_mean(values)
    if np.std(values) == 0:
        assert interval.low == interval.mean == interval.high
        return
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    # Both are a mean of n numbers plus a multiple of a standard deviation, each rounded some n times.
    slack = 100 * len(values) * 2.0**-53 * max(values)
    assert abs(interval.low - low) <= slack * stats.t.ppf(0.975, 1)
    assert abs(interval.high - high) <= slack * stats.t.ppf(0.975, 1)
    logs, geometric = student_mean([math.log(value) for value in values]), geometric_mean(values)
    assert (geometric.mean, geometric.low, geometric.high) == tuple(
        math.exp(part) for part in (logs.mean, logs.low, logs.high)
    )


def test_one_seed_says_nothing() -> None:
    assert (geometric_mean([2.0]).low, geometric_mean([2.0]).high) == (0.0, math.inf)
    assert (student_mean([2.0]).low, student_mean([2.0]).high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("energy", "expected"), [(collapsing, "holds"), (alike, "undecided"), (growing, "violated")])
def test_verdicts_follow_the_numbers(energy: Energy, expected: str) -> None:
    layer, rms = summarize(study(energy))
    assert verdict(layer, rms) == expected


def test_a_collapse_that_rms_norm_shares_is_not_the_prediction() -> None:
    layer, rms = summarize(study(lambda norm, step, seed: 0.01 * (1 + 0.01 * seed)))
    assert verdict(layer, rms) == "undecided"


def test_summaries_leave_out_what_block_0_reads() -> None:
    layer, rms = summarize(study(collapsing))
    expected = geometric_mean([0.01 * (1 + 0.01 * seed) for seed in range(5)]).mean
    # Logarithms are below 5 and sums of five below 25; either way takes at most a dozen such steps, each right to 25u,
    # and the exponential makes of what is off in its argument what is off relative to the mean.
    assert layer.energy.mean == pytest.approx(expected, rel=2 * 12 * 25 * 2.0**-53)
    assert layer.lowest == (10, 10)
    assert rms.lowest == (0, 10)
    assert (layer.rank.mean, rms.rank.mean) == (0.0, 0.5)
    assert layer.energy.count == 5


def test_first_step_below_is_the_start_of_what_lasts() -> None:
    rows = study(collapsing)
    cell = ("layer", "adamw", 0.0, 4, 128)
    assert first_step_below(rows, cell) == 10
    assert first_step_below(rows, ("rms", *cell[1:])) is None
    for bad, expected in ((10, 20), (20, None)):
        relapsed = study(lambda norm, step, seed, bad=bad: collapsing(norm, 0 if step == bad else step, seed))
        assert first_step_below(relapsed, cell) == expected


@pytest.mark.parametrize(("seeds", "directions"), [(1, 9), (2, 9), (3, 6)])
def test_chance_of_ranks_bounds_the_exact_probability(seeds: int, directions: int) -> None:
    """Against all (K + 1)^n equally likely outcomes, for sums of ranks up to half of the largest."""
    outcomes = [sum(ranks) for ranks in product(range(directions + 1), repeat=seeds)]
    for total in range(seeds * directions // 2 + 1):
        exact = sum(outcome <= total for outcome in outcomes) / len(outcomes)
        ranks = [total // seeds + (seed < total % seeds) for seed in range(seeds)]
        # The quotient of integers is rounded once.
        assert chance_of_ranks(ranks, directions) >= exact * (1 - 2.0**-52)
    assert chance_of_ranks([directions] * seeds, directions) == 1
    assert chance_of_ranks([0] * seeds, directions) < 2 * seeds**seeds / (directions + 1) ** seeds


def test_losses_are_compared_seed_by_seed() -> None:
    """Seeds differ by 1 nat and the norms by 0.01: only the paired difference can see it."""
    rows = study(
        alike, losses=lambda norm, step, seed: 5.0 + seed + (0.01 if norm == "layer" else 0.0) + 1e-4 * (seed % 2)
    )
    [(cell, pairs)] = paired_losses(rows)
    difference = student_mean(pairs)
    assert cell == ("adamw", 0.0, 4, 128)
    assert difference.low > 0
    # A loss below 10, a difference of two and a mean of five: a few roundings of numbers below 16, of 8u each.
    assert difference.mean == pytest.approx(0.01, abs=(2 + 1 + 5) * 8 * 2.0**-53)


def writer_rows() -> list[dict[str, Any]]:
    base = {**CELL, "norm": "layer", "optimizer": "sgd", "step": 20}
    columns = {"size": 6.0, "uniform_size": 0.5, "share": 0.5, "change_size": 4.0, "change_share": 1e-12}
    starts = {"wte.weight": (3.0, 0.5), "h.0.mlp.c_proj.weight": (3.0, 0.5), "h.0.mlp.c_proj.bias": (0.0, 0.0)}
    return [
        {**base, "seed": seed, "writer": f"transformer.{name}", "start_size": a, "start_uniform_size": b, **columns}
        for seed in range(3)
        for name, (a, b) in starts.items()
    ]


def test_writers_are_summarized_by_kind() -> None:
    by_kind = {summary.kind: summary for summary in summarize_writers(writer_rows())}
    assert set(by_kind) == {"embeddings", "projections", "biases"}
    assert by_kind["projections"].growth is not None
    # The logarithm of a ratio of 2, a mean of three and the exponential: fewer than eight roundings.
    assert by_kind["projections"].growth.mean == pytest.approx(2, rel=8 * 2.0**-53)
    assert by_kind["biases"].growth is None
    assert writer_kind("transformer.wpe.weight") == "embeddings"


def test_a_small_study_from_end_to_end(
    token_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two cells with two seeds and two with one: one table, one page, and a second call that finds everything done."""
    chosen = [
        _plan.Condition(norm, "adamw", decay, *size)
        for decay, size in ((0.0, _plan.TINY), (0.1, (1, 32)))
        for norm in _plan.NORMS
    ]
    monkeypatch.setattr(_plan, "conditions", lambda: chosen)
    out = tmp_path / "study"
    command = ["study", "--corpus", str(token_file), "--output", str(out), "--seeds", "2", "--seeds-elsewhere", "1"]
    command += ["--steps", "1", "--batch-size", "1", "--sequence-length", "8", "--held-out-tokens", "16"]
    command += ["--directions", "4"]
    assert main(command) == 0
    runs = sorted(path.name for path in (out / "runs").iterdir())
    assert len(runs) == 2 * 2 + 2
    rows = read_table(out / "study.csv")
    assert {row["norm"] for row in rows} == {"layer", "rms"}
    # Checkpoints 0 and 1 of nine sites at tiny and of three at the other size.
    assert len(rows) == 4 * 2 * 9 + 2 * 2 * 3
    assert {row["norm"] for row in read_table(out / "writers.csv")} == {"layer", "rms"}
    gradients = read_table(out / "gradients.csv")
    assert all((row["excess"] <= 1) == (row["norm"] == "layer") for row in gradients if row["share"] is not None)
    page = (out / "report.md").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', html := (out / "report.html").read_text(encoding="utf-8"))
    assert len(set(ids)) == len(ids)
    assert html.count("<td>LayerNorm</td>") == 2
    assert page.count("| LayerNorm |") == page.count("| RMSNorm |") == 2
    for figure in ("steps.svg", "depth.svg", "sizes.svg"):
        assert figure in page
        assert (out / figure).stat().st_size > 10_000
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main(command) == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_study_that_the_page_is_not_about_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no gathered study \(study\.csv is missing\)"):
        write_study_report(tmp_path)
    write_table(tmp_path / "study.csv", [{**row, "weight_decay": 0.1} for row in study(collapsing)])
    for name in ("writers", "gradients"):
        write_table(tmp_path / f"{name}.csv", writer_rows())
    with pytest.raises(RunError, match=r"holds no run of 4 blocks, d = 128, without weight decay"):
        write_study_report(tmp_path)


def test_the_page_says_what_the_numbers_say() -> None:
    gradients = [
        {**CELL, "norm": norm, "seed": 0, "step": 0, "writer": "w", "share": 1.0, "excess": excess}
        for norm, excess in (("layer", 0.5), ("layer", 2.0), ("rms", 1e12))
    ]
    pages = {energy: study_report(study(energy), writer_rows(), gradients) for energy in (collapsing, alike, growing)}
    for energy, counts in (
        (collapsing, "1 of 1 pairs."),
        (alike, "0 of 1 pairs, 1 undecided."),
        (growing, "pairs, 1 the other way round."),
    ):
        assert counts in pages[energy]
    assert "LayerNorm: 1 of 2 gradients" in pages[alike]
    assert "RMSNorm: 0 of 1 gradients" in pages[alike]


def test_figures_show_every_site(tmp_path: Path) -> None:
    angles = {}
    for name in ("angle", "random_a_angle", "random_b_angle"):
        angles |= {f"{name}_mean_deg": 90.0, f"{name}_std_deg": 3.0}
    rows = [
        {**row, "d_cos2_low": row["d_cos2"] / 2, "d_cos2_high": 2 * row["d_cos2"], **angles}
        for row in study(collapsing, seeds=1)
    ]
    losses = [{"step": step, "loss": 5.0} for step in (0, 10, 20)]
    runs = [
        Drawn(norm, 128, losses, losses, [row for row in rows if row["norm"] == norm], 6.4) for norm in ("layer", "rms")
    ]
    draw_runs(runs, tmp_path)
    text = (tmp_path / "angles.svg").read_text(encoding="utf-8")
    for label in ("block 0, before attention", "block 1, before attention", "final norm", "random vector ã"):
        assert label in text
    assert "unigram entropy" in (tmp_path / "losses.svg").read_text(encoding="utf-8")
