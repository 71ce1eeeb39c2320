"""Draw the figures of finished runs again, and write their pages, from the tables they left; nothing is measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from .. import report, statistics
from .._errors import RunError, one_line
from .._run import RunDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "runs", nargs="+", metavar="DIR", help="output directories of lngeom sweep or lngeom merge"
    )


def _rebuild(run: RunDirectory) -> Path:
    manifest = run.manifest()
    if not run.is_done:
        msg = f"{run.path}: is not finished; run its command again first: {manifest.get('command', 'lngeom sweep')}"
        raise RunError(msg)
    rows = statistics.read_csv(run.path / "sites.csv")
    report.draw_figures(rows, run.path, manifest)
    return report.write_report(run.path)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    for path in arguments.runs:
        try:
            page = _rebuild(RunDirectory(Path(path)))
        except OSError as error:
            raise RunError(one_line(error)) from None
        Console().print(f"written: {page}", markup=False, highlight=False, soft_wrap=True)
    return 0
