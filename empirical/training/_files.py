"""Files that are either whole or absent, whenever the process dies."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .._files import write_text


def sync(path: Path) -> None:
    """Have the operating system write a file or the entries of a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> Any:
    """The JSON value of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` by filling a draft beside it and renaming that; a folder that exists is left as it is."""
    if folder.exists():
        return
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    fill(draft)
    for path in draft.rglob("*"):
        sync(path)
    draft.rename(folder)
    sync(folder.parent)


class StepTable:
    """A CSV file whose rows belong to steps; a resumed run first drops the rows of steps it will repeat.

    Parameters
    ----------
    path : Path
        The file.
    columns : iterable of str
        Its columns; the first is ``step``.
    """

    def __init__(self, path: Path, columns: Iterable[str]) -> None:
        self.path, self.columns = path, list(columns)

    def keep_until(self, step: int) -> None:
        """Drop the rows of later steps, and a last line that a dying process left half written."""
        kept = [",".join(self.columns)]
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]:
                number = line.partition(",")[0]
                if line.endswith("\n") and int(number) <= step:
                    kept.append(line.rstrip("\n"))
        write_text(self.path, "\n".join(kept) + "\n")

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows; floats are written with all their digits."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n").writerows(rows)

    def sync(self) -> None:
        """Have all rows on the disk."""
        sync(self.path)
