"""Tables of results: CSV files whose numbers are numbers again when read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._files import write_text


def _value(text: str) -> int | float | str | None:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_table(path: Path) -> list[dict[str, Any]]:
    """Rows of a CSV file; whole numbers become int, others float, empty cells None, all else stays text."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with the columns of the first one, numbers to five significant digits; nothing for no rows."""
    if not rows:
        return
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"{v:.5g}" if isinstance(v, float) else v for name, v in row.items()})
    write_text(path, lines.getvalue())
