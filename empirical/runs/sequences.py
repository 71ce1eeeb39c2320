"""Where the sequences of a run come from: one row each."""

from dataclasses import dataclass
from pathlib import Path

from lngeom.errors import RunError

from ..support import read_records

_ADVICE = "measure again in another directory"


@dataclass(frozen=True)
class Origin:
    """Where one sequence of a run comes from; ``sequences.csv`` has a row for each.

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


def read_origins(path: Path) -> list[Origin]:
    """The origins of the sequences of a run; RunError if the file holds none."""
    origins = read_records(path, Origin, advice=_ADVICE)
    if not origins:
        raise RunError(f"{path}: is empty; {_ADVICE}")
    return origins
