"""Draw the figures of finished runs again, and write their pages, from the tables they left; nothing is measured.

The directory of `lngeom sweep all` gets its page of comparison and its joined tables again.
"""

import argparse
from pathlib import Path

from ..runs import RunDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "runs", nargs="+", metavar="DIR", help="output directories of lngeom sweep, lngeom sweep all or lngeom merge"
    )


def _rebuild(directory: Path) -> Path:
    from .. import observe
    from ..sweep import holds_all, write_all, write_pages

    if holds_all(directory):
        return write_all(directory)
    run = RunDirectory(directory)
    run.finished_manifest()
    return write_pages(run, observe.read_csv(run.path / "sites.csv"))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    for path in arguments.runs:
        print(f"written: {_rebuild(Path(path))}")
    return 0
