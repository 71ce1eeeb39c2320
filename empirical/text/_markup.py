"""Wiki markup to plain text."""

import re
from collections.abc import Collection

import mwparserfromhell
from mwparserfromhell.nodes import Tag, Wikilink

_QUOTES = re.compile(r"'{2,5}")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_APART = {"ref", "references", "table", "gallery", "timeline", "math", "score", "syntaxhighlight", "source", "imagemap"}
"""Tags whose content is not running text."""
_SPACES = re.compile(r"[ \t]+")


def plain_text(markup: str, media: Collection[str] = ("file", "image", "category")) -> str:
    """The words of an article: templates, tables, references, comments and markup removed.

    Args:
        markup: Wikitext of one page.
        media: Lower-case names of the namespaces whose links are not part of the text (files and categories).

    >>> from empirical.text import plain_text
    >>> plain_text("'''Albedo''' is [[reflectivity|reflecting power]].{{citation needed}}[[Category:Optics]]")
    'Albedo is reflecting power.'
    """
    code = mwparserfromhell.parse(markup, skip_style_tags=True)

    def is_media(link: Wikilink) -> bool:
        namespace, colon, _ = str(link.title).partition(":")
        return bool(colon) and namespace.strip().lower() in media

    def is_apart(tag: Tag) -> bool:
        return str(tag.tag).strip().lower() in _APART

    # Emptied, not removed: removing searches the whole tree for every node.
    for link in code.filter_wikilinks(recursive=code.RECURSE_OTHERS, matches=is_media):
        link.title = link.text = ""
    for tag in code.filter_tags(recursive=code.RECURSE_OTHERS, matches=is_apart):
        tag.contents = ""
    text = _QUOTES.sub("", str(code.strip_code(normalize=True, collapse=True)))
    text = _SPACES.sub(" ", text)
    return _BLANK_LINES.sub("\n\n", text).strip()
