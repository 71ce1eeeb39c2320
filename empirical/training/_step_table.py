"""A table that grows with the steps of a run, and goes on where the run does."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..runs import sync, write_text


class StepTable:
    """A CSV file whose rows belong to steps; a resumed run first drops the rows of steps it will repeat.

    Args:
        path: The file.
        columns: iterable of str. Its columns; the first is ``step``.
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
