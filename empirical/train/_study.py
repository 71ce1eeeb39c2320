"""The study: many small runs by one plan, gathered in one table."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..runs import Ranks
from ..support import Rows, read_table, write_table
from ._data import TokenData
from ._execution import Execution
from ._model import CONTROLS
from ._plan import Condition
from ._recipe import Recipe
from ._summary import CELL
from ._trainer import Report, train


def run_study(
    data: TokenData,
    out: Path,
    *,
    runs: Sequence[tuple[Condition, Recipe]],
    execution: Execution,
    processes: Ranks,
    report: Report,
) -> None:
    """Train every network of the plan that is not finished, and gather their tables in `out`.

    `out` receives ``runs/NAME-seedN/`` and the gathered tables. A finished run leaves its tables and its manifest; its
    state is removed. A run that was interrupted resumes. A page of the study takes gradients that were checked
    (`execution`); `report` is told the progress in tokens, over all runs.
    """
    for condition, recipe in runs:
        folder = _folder(out, condition, recipe)
        if (folder / "summary.json").exists():
            report(recipe.steps * recipe.tokens_per_step)
            continue
        train(recipe, data, folder, processes=processes, execution=execution, report=report)
        shutil.rmtree(folder / "state", ignore_errors=True)
    gather(out, runs)


def _folder(out: Path, condition: Condition, recipe: Recipe) -> Path:
    return out / "runs" / f"{condition.name}-seed{recipe.seed}"


def gather(out: Path, runs: Sequence[tuple[Condition, Recipe]]) -> None:
    """Gather the tables of those runs that are finished.

    ``study.csv`` (every site at every checkpoint), ``writers.csv`` (after training) and ``gradients.csv``; runs of
    control arms go to ``controls.csv``.
    """
    tables: dict[str, Rows] = {name: [] for name in ("controls", "study", "writers", "gradients")}
    for condition, recipe in runs:
        folder = _folder(out, condition, recipe)
        if not (folder / "summary.json").exists():
            continue
        cell = {**{name: getattr(condition, name) for name in CELL}, "seed": recipe.seed}
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
