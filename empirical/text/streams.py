"""Files that may be compressed, opened as streams of bytes."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..support import CorpusError

_OPENERS = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
COMPRESSIONS = tuple(_OPENERS)


def content_suffix(path: Path) -> str:
    """The suffix that names the format: that of the file once decompressed."""
    return Path(path.stem).suffix if path.suffix in _OPENERS else path.suffix


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix."""
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
            yield stream
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if path.suffix not in _OPENERS:
            raise
        msg = f"corpus {path}: cannot be decompressed ({error}); the file is cut off or damaged, download it again"
        raise CorpusError(msg) from None
