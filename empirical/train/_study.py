"""The study: many small runs by one plan, gathered in one table."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..runs import Ranks
from ..support import read_table, write_table
from ._data import TokenData
from ._execution import Execution
from ._model import CONTROLS
from ._plan import Condition
from ._summary import CELL
from ._trainer import Report, train


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
        data, runs: The text of all runs; cells and seeds, from :func:`plan`.
        out: Receives ``runs/NAME-seedN/`` and the gathered tables.
        steps, sequences, sequence_length: Length of each run, and the size of its steps.
        execution: Size of the measurement; networks should not be kept, and a page of the study takes gradients that
            were checked.
        processes, report: From ``empirical.runs.ranks``; progress in tokens, over all runs.
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
    """Gather the tables of those runs that are finished.

    ``study.csv`` (every site at every checkpoint), ``writers.csv`` (after training) and ``gradients.csv``; runs of
    control arms go to ``controls.csv``.
    """
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("controls", "study", "writers", "gradients")}
    for condition, seed in runs:
        folder = out / "runs" / f"{condition.name}-seed{seed}"
        if not (folder / "summary.json").exists():
            continue
        cell = {**{name: getattr(condition, name) for name in CELL}, "seed": seed}
        losses = {row["step"]: row["loss"] for row in read_table(folder / "held_out.csv")}
        control, last = condition.norm in CONTROLS, max(losses)
        sites = read_table(folder / ("directions.csv" if control else "norms.csv"))
        rows = [{**cell, **row, "held_out_loss": losses[row["step"]]} for row in sites]
        tables["controls" if control else "study"] += rows
        if not control:
            writers, gradients = (read_table(folder / f"{name}.csv") for name in ("writers", "gradients"))
            tables["writers"] += [{**cell, **row} for row in writers if row["step"] == last]
            tables["gradients"] += [{**cell, **row} for row in gradients]
    for name, rows in tables.items():
        write_table(out / f"{name}.csv", rows, digits=None if name == "controls" else 5)
