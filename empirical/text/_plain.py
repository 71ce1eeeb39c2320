"""Documents of plain text and JSON-lines files."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..support import CorpusError
from ._streams import opened

_PIECE = 1 << 20
_LONGEST = 1 << 24
"""Bytes of a record that is held as a whole, in up to four bytes a character and again as a text."""
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPE = len(r"\ud83d\ude00")
_BODY = re.compile(r'(?:[^"\\]|\\[^u]|\\u(?![dD][89abAB])\w{4}|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)*+')
"""Inside a JSON string: characters, escapes, and the pairs of escapes that are one character and the longest part."""


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
    """Yield ``record["text"]`` of each line of a JSON-lines file; empty lines are passed over.

    The text of a record above 16 MiB comes in parts of a megabyte, each a document of its own, as that of a file does.
    """
    with opened(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST), b""), start=1):
            if not line.strip():
                continue
            try:
                is_whole = len(line) < _LONGEST or line.endswith(b"\n")
                yield from [_text(json.loads(line))] if is_whole else _parts(line, stream)
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
        raise CorpusError("half of a surrogate pair is no character; encode as UTF-8")
    return text


def _parts(line: bytes, stream: IO[bytes]) -> Iterator[str]:
    """The text of a record that is too long to be held; what stands around the text has to be short."""
    chunks = _characters(line, stream)
    kept, ended = next(chunks), False
    openings = re.finditer(r'"text"\s*:\s*"', kept[:_PIECE])
    begin = next((at for at in (match.end() for match in openings) if _opens(kept[:at])), None)
    if begin is None:
        msg = f"longer than {_LONGEST >> 20} MiB, and no string under 'text' in its first MiB; put that field first"
        raise CorpusError(msg)
    around, kept = kept[:begin], kept[begin:]
    while True:
        body = _BODY.match(kept, 0, min(_PIECE, len(kept) if ended else max(0, len(kept) - _ESCAPE)))
        end = body.end() if body else 0
        if end:
            yield _text({"text": json.loads(f'"{kept[:end]}"')})
        kept = kept[end:]
        if kept.startswith('"'):
            break
        if not ended and len(kept) < 2 * _ESCAPE:
            more = next(chunks, None)
            kept, ended = kept + (more or ""), more is None
        elif not end:
            msg = f"a string is cut off, or an escape in it is broken ({kept[:_ESCAPE]!r}); let a JSON library write it"
            raise CorpusError(msg)
    for more in chunks:
        kept += more
        if len(kept) > _LONGEST:
            msg = f"longer than {_LONGEST >> 20} MiB beside its text; put that field into a file of its own"
            raise CorpusError(msg)
    _text(json.loads(around + kept))


def _characters(line: bytes, stream: IO[bytes]) -> Iterator[str]:
    """The rest of a line, in chunks."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    while line:
        yield decode(line)
        line = b"" if line.endswith(b"\n") else stream.readline(_LONGEST)
    yield decode(b"", final=True)  # which tells a character that is cut off


def _opens(head: str) -> bool:
    """Whether the string that begins after `head` is the text of the record, and not of one within it."""
    try:
        record = json.loads(head + '"}')
    except ValueError:
        return False
    return isinstance(record, dict) and list(record)[-1] == "text"
