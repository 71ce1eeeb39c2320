"""A finished run, shown from the files it left: nothing that measures is loaded."""

import os

from rich.console import Console

from lngeom.errors import LngeomError

from .. import judge, observe, pages
from ..runs import RunDirectory
from ..support import say
from ._options import Sweep, corpus_of, output_of, source_of


def show_finished(sweep: Sweep, console: Console, command: str) -> bool:
    """Show the run of a sweep if it is finished and this very command made it; returns whether it did.

    A corpus or a local model that has changed since makes it another run, about which the sweep itself decides.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return False
    try:
        source = source_of(sweep)
        run = RunDirectory(output_of(sweep, source))
        manifest = run.finished_manifest()
        local = source.is_local and not sweep.random_weights
        same = (
            manifest.get("command") == command
            and corpus_of(sweep).sha256() == manifest["corpus_sha256"]
            and (not local or source.resolved_revision(None, random_weights=False) == manifest["revision"])
        )
    except (LngeomError, OSError):
        return False
    if same:
        say(console, f"{run.path}: this run is done")
        show_run(run, console)
    return same


def show_run(run: RunDirectory, console: Console) -> None:
    """Print the table of a finished run, if its files are what they were."""
    run.finished_manifest()
    kept = run.path / "growth.csv"
    fits = observe.read_growth(kept) if kept.exists() else None
    pages.print_table(observe.read_csv(run.path / "sites.csv"), console, fits)
    print_verdicts(run, console)
    console.print(f"see {run.path / 'report.html'}", markup=False, soft_wrap=True)


def print_verdicts(run: RunDirectory, console: Console) -> None:
    """Print one line on the predictions, if the run has any."""
    if run.predictions_path.exists():
        line = judge.summary(judge.read_csv(run.predictions_path))
        say(console, line)
