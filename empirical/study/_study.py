"""The study: many small runs by one plan, gathered in one table."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..runs import Ranks, read_table, write_table
from ..training import CONTROLS, Execution, Report, TokenData, train
from ._controls import gather_controls
from ._plan import Condition

CELL_COLUMNS = ("norm", "optimizer", "weight_decay", "layers", "width", "seed")
"""Columns that name a run, before the columns of each table."""


def run_study(
    data: TokenData,
    out: Path,
    *,
    runs: Sequence[tuple[Condition, int]],
    steps: int,
    sequences: int,
    sequence_length: int,
    execution: Execution,
    processes: Ranks,
    report: Report,
) -> None:
    """Train every network of the plan that is not finished, and gather their tables in `out`.

    A finished run leaves its tables and its manifest; its state is removed. A run that was interrupted resumes.

    Args:
        data: TokenData. Text, shared by all runs.
        out: Receives ``runs/NAME-seedN/`` and the gathered tables.
        runs: sequence of (Condition, int). Cells and seeds, from :func:`plan`.
        steps, sequences, sequence_length: Length of each run, and the size of its steps.
        execution: Size of the measurement; networks should not be kept, and a page of the study takes gradients that
            were checked.
        processes: Ranks. From :func:`ranks`.
        report: Progress in tokens, over all runs.
    """
    for condition, seed in runs:
        folder = out / "runs" / f"{condition.name}-seed{seed}"
        recipe = condition.recipe(seed, steps=steps, sequences=sequences, sequence_length=sequence_length)
        if (folder / "summary.json").exists():
            report(recipe.steps * recipe.tokens_per_step)
            continue
        train(recipe, data, folder, processes=processes, execution=execution, report=report)
        shutil.rmtree(folder / "state", ignore_errors=True)
    gather(out, runs)


def gather(out: Path, runs: Sequence[tuple[Condition, int]]) -> None:
    """Write ``study.csv`` (every site at every checkpoint), ``writers.csv`` (after training) and ``gradients.csv``.

    Args:
        out: Directory of the study.
        runs: sequence of (Condition, int). Those whose tables are gathered; what is not finished is left out.
            Runs of control arms go to ``controls.csv``.
    """
    finished = [
        ({name: getattr(condition, name) for name in CELL_COLUMNS[:-1]} | {"seed": seed}, folder)
        for condition, seed in runs
        if (folder := out / "runs" / f"{condition.name}-seed{seed}").joinpath("summary.json").exists()
    ]
    controls = [run for run in finished if run[0]["norm"] in CONTROLS]
    if controls:
        gather_controls(controls, out)
    rows: dict[str, list[dict[str, Any]]] = {"study": [], "writers": [], "gradients": []}
    for cell, folder in finished:
        if cell["norm"] in CONTROLS:
            continue
        losses = {row["step"]: row["loss"] for row in read_table(folder / "held_out.csv")}
        last = max(losses)
        rows["study"] += [
            {**cell, **row, "held_out_loss": losses[row["step"]]} for row in read_table(folder / "norms.csv")
        ]
        rows["writers"] += [{**cell, **row} for row in read_table(folder / "writers.csv") if row["step"] == last]
        rows["gradients"] += [{**cell, **row} for row in read_table(folder / "gradients.csv")]
    for name, table in rows.items():
        write_table(out / f"{name}.csv", table, digits=5)
