"""Where the sequences of a run come from: one row each, so that no token is ever counted twice."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ._errors import RunError
from ._files import write_text


class Sequence(NamedTuple):
    """One sequence of a run.

    Attributes:
        corpus: Hash of the file, or its specification.
        document: Number of the document in which the sequence begins, from 0; None where the corpus tells none.
        offset: Tokens before it in that document, or in the corpus.
        group: Its independent unit in the intervals: the rank of its document among those measured.
        sha256: First half of the hash of its token ids.
    """

    corpus: str
    document: int | None
    offset: int
    group: int
    sha256: str


def write_sequences(path: Path, sequences: Iterable[Sequence]) -> None:
    """Write sequences as CSV, replacing the file at once."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(Sequence._fields)
    writer.writerows(sequences)
    write_text(path, lines.getvalue())


def read_sequences(path: Path) -> list[Sequence]:
    """Read what :func:`write_sequences` wrote.

    Raises:
        RunError: If the file is of another kind.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        if not rows or tuple(rows[0]) != Sequence._fields:
            raise ValueError(f"it begins with {rows[0] if rows else 'nothing'}")  # noqa: EM102 - told below
        return [
            Sequence(corpus, int(document) if document else None, int(offset), int(group), digest)
            for corpus, document, offset, group, digest in rows[1:]
        ]
    except (OSError, ValueError, csv.Error) as error:
        msg = f"{path}: cannot be read ({error}); measure again in another directory"
        raise RunError(msg) from None
