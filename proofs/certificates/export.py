"""Certificates written to files, and read again."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lngeom.checker import Malformed, Refused, loaded, recheck
from lngeom.errors import InputError, LngeomError
from lngeom.prover import ProofCertificate
from lngeom.theorems import CheckError, Theorem

from .files import bounded

_BYTES = 2**24
"""Of a file; the largest certificate of this project has 2^15."""


def write(theorems: Iterable[Theorem], folder: Path) -> list[ProofCertificate]:
    """Write ``ID.json`` for each assert of each theorem; returns the certificates."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [data for theorem in theorems for data in _certificates(theorem)]
    for data in written:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{data['id']}.json").write_text(text + "\n", encoding="utf-8")
    return written


def _certificates(theorem: Theorem) -> list[ProofCertificate]:
    """The certificates of a theorem; an error says whose it is, and in which line."""
    try:
        return theorem.certificates()
    except LngeomError as error:
        from lngeom.theorems.checks import line_of

        line = line_of(theorem, error) or theorem.body.__code__.co_firstlineno
        error.args = (f"{theorem.id}, line {line}: {error}",)
        raise


def read(file: Path) -> list[ProofCertificate]:
    """The certificates of a file, one or a list of them, each judged by the checker.

    Raises:
        InputError: It holds something else, or a statement too large to be written out.
        CheckError: A proof does not prove its statement.
    """
    data: Any = {}
    try:
        with file.open("rb") as stream:
            text = stream.read(_BYTES + 1)
        if len(text) > _BYTES:
            raise InputError(f"it is longer than {_BYTES} bytes")
        records = loaded(text.decode())
        for data in records:
            recheck(data)
            bounded(data)
    except (ValueError, Malformed) as error:
        raise InputError(f"{file} holds no certificates: {error}; `lngeom check --certificate` writes them") from error
    except Refused as error:
        raise CheckError(f"{data['id']} is not proved by {file}: {error}") from error
    return records
