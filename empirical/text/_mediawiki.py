"""Articles of a MediaWiki XML dump, read as a stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ..support import CorpusError
from ._markup import plain_text
from ._streams import opened

_CHUNK, _LONGEST = 1 << 14, 1 << 26
"""Bytes that are parsed at once to begin with, and the most without an element: pages of MediaWiki have 2 MiB."""
_FILE_NAMESPACE, _CATEGORY_NAMESPACE = "6", "14"


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _field(page: Element, *names: str) -> str:
    """Text of the nested element page/names[0]/names[1]/..., whatever the version of the schema."""
    element = page
    for name in names:
        child = next((child for child in element if _local(child.tag) == name), None)
        if child is None:
            return ""
        element = child
    return element.text or ""


def _is_article(page: Element) -> bool:
    redirect = any(_local(child.tag) == "redirect" for child in page)
    return _field(page, "ns") == "0" and not redirect


class _Chunks:
    """A stream in chunks that double until an element begins or ends.

    What is cut off at the end of a chunk is parsed again with the next one: in chunks of equal size a long attribute
    would take time as the square of its length.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.size, self._since = stream, _CHUNK, 0

    def read(self, _: int) -> bytes:
        """The next chunk."""
        if self._since > _LONGEST:
            raise CorpusError(f"no element begins or ends in {_LONGEST >> 20} MiB; give a dump of pages, or its text")
        chunk = self._stream.read(self.size)
        self.size, self._since = 2 * self.size, self._since + len(chunk)
        return chunk

    def seen(self) -> None:
        """An element begins or ends."""
        self.size, self._since = _CHUNK, 0


def _read(stream: IO[bytes]) -> Iterator[str]:
    media, chunks = {"file", "image", "category"}, _Chunks(stream)
    source: Any = chunks  # iterparse asks for no more than read
    events = iterparse(source, events=("start", "end"), forbid_dtd=True)
    _, root = next(events)
    for event, element in events:
        chunks.seen()
        if event == "start":
            continue
        match _local(element.tag):
            case "namespace" if element.get("key") in (_FILE_NAMESPACE, _CATEGORY_NAMESPACE):
                media.add((element.text or "").lower())
            case "page":
                if _is_article(element) and (text := plain_text(_field(element, "revision", "text"), media)):
                    yield text
                # Finished pages would otherwise stay attached to the root: memory would grow with the dump.
                root.clear()


def articles(path: Path) -> Iterator[str]:
    """Yield the plain text of each article of a dump (``.xml``, also compressed).

    Pages outside the article namespace and redirects are dropped. The file is decompressed and parsed as a stream;
    one page at a time is in memory. Document type declarations, and with them entity bombs, are refused.
    """
    try:
        with opened(path) as stream:
            yield from _read(stream)
    except DefusedXmlException as error:
        msg = f"corpus {path}: declares entities ({type(error).__name__}), which MediaWiki dumps never do; refused"
        raise CorpusError(msg) from None
    except CorpusError as error:
        raise error if str(path) in str(error) else CorpusError(f"corpus {path}: {error}") from None
    except (ParseError, LookupError, ValueError) as error:  # the last two of encodings that the parser does not know
        msg = f"corpus {path}: not well-formed XML ({error}); the file is cut off or is not a dump, download it again"
        raise CorpusError(msg) from None
