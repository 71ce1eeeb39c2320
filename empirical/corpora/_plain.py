"""Documents of plain text and JSON-lines files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ..runs import CorpusError
from ._streams import opened

_PIECE = 1 << 20


def paragraphs(path: Path) -> Iterator[str]:
    """Yield a text file in pieces of whole lines, about a megabyte each, so that a file of any length streams."""
    read = 0
    with opened(path) as stream:
        while lines := stream.readlines(_PIECE):
            piece = b"".join(lines)
            try:
                yield piece.decode()
            except UnicodeDecodeError as error:
                at = read + error.start
                msg = f"corpus {path}: not UTF-8 ({error.reason} at byte {at}); convert it, for example with iconv"
                raise CorpusError(msg) from None
            read += len(piece)


def records(path: Path, field: str = "text") -> Iterator[str]:
    """Yield ``record[field]`` of each line of a JSON-lines file; empty lines are passed over."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                msg = f"corpus {path}, line {number}: not JSON ({error}); one JSON object per line is expected"
                raise CorpusError(msg) from None
            text = record.get(field) if isinstance(record, dict) else None
            if not isinstance(text, str):
                seen = sorted(record) if isinstance(record, dict) else type(record).__name__
                msg = f"corpus {path}, line {number}: no string under {field!r}, seen {seen}; rename the field"
                raise CorpusError(msg)
            yield text
