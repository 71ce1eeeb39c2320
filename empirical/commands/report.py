"""Regenerate the figures and reports of finished runs from their tables; nothing is measured.

In the directory of `lngeom sweep all`, the comparison page and the joined tables are regenerated as well.

Examples:
    lngeom report runs/SmolLM2-135M
    lngeom report runs/SmolLM2-135M runs/book
"""

from dataclasses import dataclass
from pathlib import Path

from lngeom.options import argument

from ..runs import RunDirectory


@dataclass(frozen=True)
class Options:
    """The runs."""

    runs: tuple[Path, ...] = argument("DIR", "output directories of lngeom sweep or lngeom sweep all")


def _rebuild(directory: Path) -> Path:
    from .. import observe
    from ..sweep import holds_all, write_all, write_pages

    if holds_all(directory):
        return write_all(directory)
    run = RunDirectory(directory)
    run.finished_manifest()
    with run.claim():
        return write_pages(run, observe.read_sites(run.path / "sites.csv"))


def run(options: Options) -> int:
    for path in options.runs:
        print(f"written: {_rebuild(path)}")
    return 0
