"""Documents of plain text and JSON-lines files."""

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

    A piece ends with a line, or before a word where a line is longer.
    """
    read, kept = 0, b""
    with opened(path) as stream:
        while more := stream.read(_PIECE):
            kept += more
            end = kept.rfind(b"\n") + 1 or max(kept.rfind(b" "), 0)
            if not end and len(kept) > _PIECE:  # a word of a megabyte, or a script without spaces: before a character
                end = next((at for at in range(len(kept) - 4, len(kept) - 8, -1) if kept[at] & 0xC0 != 0x80), len(kept))
            piece, kept = kept[:end], kept[end:]
            if piece:
                yield _decoded(path, piece, read)
            read += len(piece)
    if kept:
        yield _decoded(path, kept, read)


def _decoded(path: Path, piece: bytes, begins: int) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError as error:
        at = begins + error.start
        msg = f"corpus {path}: not UTF-8 ({error.reason} at byte {at}); convert it, for example with iconv"
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
