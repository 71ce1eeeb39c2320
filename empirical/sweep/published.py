"""The seven known models one after another, and one page that compares them with the published numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from lngeom.errors import LngeomError

from .. import judge, observe
from ..models import KNOWN_MODELS
from ..pages import Measured, beside_published, write_comparison
from ..support import Row, one_line, say, write_table
from .options import Sweep
from .reading import read_finished

__all__ = ["sweep_all"]


def sweep_all(sweep: Sweep, *, console: Console | None = None, command: str = "") -> dict[str, str]:
    """Sweep every known model into a directory of its own; finished ones are skipped.

    Args:
        sweep: The options that all share; ``model`` is not looked at, ``output`` is the directory of all runs (default
            ``runs/all``, for random weights ``runs/all-random``).

    Returns:
        dict: The reason for each model that was not measured, by name; the others are measured all the same.
    """
    import gc

    import torch

    from .stages import run_sweep

    console = console or Console()
    base = Path(sweep.output or ("runs/all-random" if sweep.random_weights else "runs/all"))
    failures: dict[str, str] = {}
    for name in KNOWN_MODELS:
        console.print(f"\n{name}", style="bold", highlight=False)
        try:
            run_sweep(replace(sweep, model=name, output=str(base / name)), console=console, command=command, show=False)
        except (LngeomError, OSError) as error:
            failures[name] = one_line(error)
            say(console, f"{name}: {failures[name]}")
        finally:
            # A model takes most of a GPU: it has to be gone before the next comes.
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
    about = {
        "command": command,
        "tokens per model": f"{sweep.tokens:,}",
        "corpus": sweep.corpus or ("random token ids" if sweep.random_weights else "bundled English Wikipedia"),
        "weights": "random, from the configurations alone" if sweep.random_weights else "from a checkpoint",
        "seed": sweep.seed,
    }
    base.mkdir(parents=True, exist_ok=True)
    runs = {name: read_finished(base / name) for name in KNOWN_MODELS if name not in failures}
    models = [Measured(name, run.manifest, run.rows, run.predictions) for name, run in runs.items()]
    write_table(base / "comparison.csv", (row for model in models for row in beside_published(model)))
    tables: tuple[tuple[str, Sequence[str], Callable[[Measured], Iterable[Row]]], ...] = (
        ("sites", observe.COLUMNS, lambda model: model.rows),
        ("predictions", judge.COLUMNS, lambda model: (asdict(prediction) for prediction in model.predictions)),
    )
    for name, columns, of in tables:  # of all models, the model in the first column
        joined = ({"model": model.name, **row} for model in models for row in of(model))
        write_table(base / f"{name}.csv", joined, ("model", *columns))
    write_comparison(base / "comparison.html", models, failures, about)
    files = "comparison.html, comparison.csv, sites.csv, predictions.csv"
    say(console, f"\n{len(models)} of {len(KNOWN_MODELS)} models measured; written to {base}: {files}")
    return failures
