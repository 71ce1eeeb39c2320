"""Certificates written to files, and read again."""

import json
from collections.abc import Iterable
from pathlib import Path

from lngeom.checker import Refused, loaded
from lngeom.errors import InputError
from lngeom.kernel import ProofCertificate
from lngeom.theorems import Theorem


def write(theorems: Iterable[Theorem], folder: Path) -> list[ProofCertificate]:
    """Write ``ID.json`` for each assert of each theorem; returns the certificates.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from proofs import find
    >>> from proofs.certificates import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write([find("projection.idempotent")], Path(folder))
    ...     [file.name for file in Path(folder).iterdir()]
    ['projection.idempotent.json']
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [data for theorem in theorems for data in theorem.certificates()]
    for data in written:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{data['id']}.json").write_text(text + "\n", encoding="utf-8")
    return written


def read(file: Path) -> list[ProofCertificate]:
    """The certificates of a file, one or a list of them.

    Raises:
        InputError: It holds none.
    """
    try:
        data = loaded(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, Refused) as error:
        raise InputError(f"{file} cannot be read as JSON: {error}; `lngeom check --certificate` writes one") from error
    records = data if isinstance(data, list) else [data]
    if not records or not all(isinstance(c, dict) and "steps" in c for c in records):
        raise InputError(f"{file} holds no certificates: `lngeom check --certificate FILE` writes them")
    return records
