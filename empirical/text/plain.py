"""Documents of plain text and JSON-lines files."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

from ..support import CorpusError
from .streams import opened

_PIECE = 1 << 20
_HALF = re.compile("[\ud800-\udfff]")


def paragraphs(path: Path) -> Iterator[str]:
    """Yield a text file in pieces of about a megabyte, so that a file of any length streams, and a line of any length.

    A piece ends with a line where there is one that is not as long.
    """
    with opened(path) as stream:
        reader = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        try:
            while piece := reader.read(_PIECE) + reader.readline(_PIECE):
                yield piece
        except UnicodeDecodeError as error:
            msg = f"corpus {path}: not UTF-8 ({error.reason}); convert it, for example with iconv"
            raise CorpusError(msg) from None


def records(path: Path) -> Iterator[str]:
    """Yield ``record["text"]`` of each line of a JSON-lines file; empty lines are passed over."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                yield _text(json.loads(line))
            except (ValueError, RecursionError) as error:
                is_told = isinstance(error, CorpusError)
                reason = error if is_told else f"not JSON ({error}); one JSON object per line is expected"
                raise CorpusError(f"corpus {path}, line {number}: {reason}") from None


def _text(record: object) -> str:
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        seen = sorted(record) if isinstance(record, dict) else type(record).__name__
        raise CorpusError(f"no string under 'text', seen {seen}; rename the field")
    if not text.isascii() and _HALF.search(text):
        raise CorpusError("half of a surrogate pair is not a character; encode as UTF-8")
    return text
