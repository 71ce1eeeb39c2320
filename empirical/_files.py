"""Files that are either whole or absent, whenever the process dies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a draft beside ``path``; on leaving it is on the disk and takes the place of ``path`` at once.

    If the block raises, ``path`` is left as it was and the draft is removed.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        yield draft
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        # Some libraries write for the owner alone.
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file by ``text`` at once."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Replace a file by a JSON value at once."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
