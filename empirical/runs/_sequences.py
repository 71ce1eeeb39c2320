"""Where the sequences of a run come from: one row each, so that no token is ever counted twice."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..support import RunError, read_table, write_table


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
    write_table(path, (sequence._asdict() for sequence in sequences), Sequence._fields)


def read_sequences(path: Path) -> list[Sequence]:
    """Read what :func:`write_sequences` wrote; RunError if the file is of another kind."""
    try:
        found = [Sequence(**row) for row in read_table(path, words=("corpus", "sha256"))]
        if not found or any(type(number) is not int for _, _, *numbers, _ in found for number in numbers):
            raise ValueError("it is empty, or a number is missing")
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise RunError(f"{path}: cannot be read ({error}); measure again in another directory") from None
    return found
