"""The seven known models one after another, and one page that compares them with what was published."""

from __future__ import annotations

import csv
import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from lngeom import LngeomError

from . import statistics
from ._comparison import COLUMNS, compare
from ._errors import one_line
from ._files import replacing
from ._run import RunDirectory
from .models import KNOWN_MODELS
from .report import write_comparison
from .sweep import Sweep, run_sweep

ALL = "all"


def _write(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def sweep_all(sweep: Sweep, *, console: Console | None = None, command: str = "") -> dict[str, str]:
    """Sweep every known model into a directory of its own; what is done is not done again.

    Parameters
    ----------
    sweep
        The options that all share; ``model`` is not looked at, ``output`` is the directory of all runs
        (default ``runs/all``, for random weights ``runs/all-random``).

    Returns
    -------
    dict
        Why models were not measured, by name; they do not keep the others from being measured.
    """
    console = console or Console()
    base = Path(sweep.output or ("runs/all-random" if sweep.random_weights else "runs/all"))
    failures: dict[str, str] = {}
    tables: dict[str, list[dict[str, Any]]] = {}
    comparison: list[dict[str, Any]] = []
    for name in KNOWN_MODELS:
        console.print(f"\n{name}", style="bold", highlight=False)
        try:
            run = run_sweep(
                replace(sweep, model=name, output=str(base / name)),
                console=console,
                command=command,
                show=False,
            )
            rows = statistics.read_csv(run.path / "sites.csv")
        except (LngeomError, OSError) as error:
            failures[name] = one_line(error)
            console.print(f"{name}: {failures[name]}", markup=False, highlight=False, soft_wrap=True)
            continue
        finally:
            # A model takes most of a GPU: it has to be gone before the next comes.
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        tables[name] = rows
        comparison += compare(name, RunDirectory(run.path).manifest(), rows)
    base.mkdir(parents=True, exist_ok=True)
    _write(base / "comparison.csv", COLUMNS, comparison)
    joined = [{"model": name, **row} for name, rows in tables.items() for row in rows]
    _write(base / "sites.csv", ("model", *statistics.COLUMNS), joined)
    about = {
        "command": command,
        "tokens per model": f"{sweep.tokens:,}",
        "corpus": sweep.corpus
        or ("random token ids" if sweep.random_weights else "bundled English Wikipedia"),
        "weights": "random, from the configurations alone" if sweep.random_weights else "trained",
        "seed": sweep.seed,
    }
    write_comparison(base / "comparison.html", comparison, tables, failures, about)
    line = f"{len(tables)} of {len(KNOWN_MODELS)} models measured; written to {base}: comparison.html, comparison.csv"
    console.print(f"\n{line}", markup=False, highlight=False, soft_wrap=True)
    return failures
