"""Articles of a MediaWiki XML dump, read as a stream, and their markup as plain text."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, ParseError

import mwparserfromhell
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from mwparserfromhell.nodes import Wikilink

from ..support import CorpusError
from .streams import opened

_QUOTES = re.compile(r"'{2,5}")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_APART = {"ref", "references", "table", "gallery", "timeline", "math", "score", "syntaxhighlight", "source", "imagemap"}
"""Tags whose content is not running text."""
_SPACES = re.compile(r"[ \t]+")


def plain_text(markup: str, media: Collection[str] = ("file", "image", "category")) -> str:
    """The plain text of an article, without templates, tables, references, comments and markup.

    `media` are the lower-case names of the namespaces whose links are no text (files and categories).
    """
    code = mwparserfromhell.parse(markup, skip_style_tags=True)

    def is_media(link: Wikilink) -> bool:
        namespace, colon, _ = str(link.title).partition(":")
        return bool(colon) and namespace.strip().lower() in media

    # Emptied, not removed: removing searches the whole tree for every node.
    for link in code.filter_wikilinks(recursive=code.RECURSE_OTHERS, matches=is_media):
        link.title = link.text = ""
    for tag in code.filter_tags(recursive=code.RECURSE_OTHERS, matches=lambda t: str(t.tag).strip().lower() in _APART):
        tag.contents = ""
    text = _QUOTES.sub("", str(code.strip_code(normalize=True, collapse=True)))
    text = _SPACES.sub(" ", text)
    return _BLANK_LINES.sub("\n\n", text).strip()


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


def _read(stream: IO[bytes]) -> Iterator[str]:
    media = {"file", "image", "category"}
    events = iterparse(stream, events=("start", "end"), forbid_dtd=True)
    _, root = next(events)
    for event, element in events:
        if event == "start":
            continue
        match _local(element.tag):
            case "namespace" if element.get("key") in (_FILE_NAMESPACE, _CATEGORY_NAMESPACE):
                media.add((element.text or "").lower())
            case "page":
                is_article = _field(element, "ns") == "0" and all(_local(child.tag) != "redirect" for child in element)
                if is_article and (text := plain_text(_field(element, "revision", "text"), media)):
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
    except CorpusError:
        raise
    except (ParseError, LookupError, ValueError) as error:  # the last two of encodings that the parser does not know
        msg = f"corpus {path}: not well-formed XML ({error}); the file is cut off or is not a dump, download it again"
        raise CorpusError(msg) from None
