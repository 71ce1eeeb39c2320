"""Tables of results: CSV files, all written and read here, whose numbers are numbers again when read."""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from lngeom.errors import RunError
from lngeom.files import replacing

T = TypeVar("T")

Row = Mapping[str, Any]
"""A row of a table: cells by column."""

Rows = list[dict[str, Any]]
"""A table."""


_FORMULA = ("=", "+", "@", "'")
"""With one of these in front, a spreadsheet would run a cell of text; an apostrophe before it prevents that."""


def _value(text: str, *, is_word: bool) -> str | int | float | None:
    if text.startswith("'"):
        return text[1:]
    if not text or is_word:
        return text or None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_table(path: Path, *, words: Collection[str] = ()) -> Rows:
    """Rows of a CSV file: int, float or text, in the columns `words` text also where it looks like a number.

    None stands for nothing.

    Raises:
        RunError: If it is not text, or a row has more or fewer cells than there are columns.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
        cells = (zip(columns, row, strict=True) for row in rows if row)
        return [{name: _value(text, is_word=name in words) for name, text in row} for row in cells]
    except (ValueError, csv.Error) as error:
        raise RunError(f"{path}: is not a table ({error}); make it again") from None


def write_table(
    path: Path, rows: Iterable[Row], columns: Sequence[str] | None = None, *, digits: int | None = None
) -> None:
    """Write rows at once, numbers in full or to some significant digits, nothing where a value is None.

    `columns` default to the keys of the first row; without rows either, nothing is written.
    """
    rows = list(rows)
    if columns is None and not rows:
        return

    def cell(value: object) -> object:
        if isinstance(value, str) and value.startswith(_FORMULA):
            return f"'{value}"
        return f"{value:.{digits}g}" if isinstance(value, float) and digits is not None else value

    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0] if columns is None else columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def write_records(path: Path, record: type[T], records: Iterable[T]) -> None:
    """Write dataclasses as CSV, a column for each field; :func:`read_records` gives them back."""
    write_table(path, (asdict(each) for each in records), [field.name for field in fields(record)])  # pyright: ignore


def read_records(path: Path, record: type[T], *, advice: str = "make it again") -> list[T]:
    """The dataclasses that :func:`write_records` wrote.

    Raises:
        RunError: If the table has other columns, or a cell of another type than its field.
    """
    types = get_type_hints(record)
    words = {name for name, kind in types.items() if kind is str or get_origin(kind) is Literal}
    try:
        rows = read_table(path, words=words)
        for row in rows:
            row |= {name: "" for name in words if row.get(name, "") is None}
            wrong = next((name for name, value in row.items() if not _fits(value, types[name])), None)
            if wrong is not None:
                raise ValueError(f"{wrong} is {row[wrong]!r}")
        return [record(**row) for row in rows]
    except (OSError, TypeError, KeyError, ValueError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise RunError(f"{path}: cannot be read as {record.__name__} ({reason}); {advice}") from None


def _fits(value: object, kind: object) -> bool:
    options = get_args(kind) or (kind,)
    if get_origin(kind) is Literal:
        return value in options
    return type(value) in options or (type(value) is int and float in options)
