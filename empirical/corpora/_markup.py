"""Wiki markup to plain text."""

from __future__ import annotations

import re
from collections.abc import Collection

import mwparserfromhell

_QUOTES = re.compile(r"'{2,5}")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_SPACES = re.compile(r"[ \t]+")


def plain_text(markup: str, media: Collection[str] = ("file", "image", "category")) -> str:
    """The words of an article: templates, tables, references, comments and markup removed.

    Parameters
    ----------
    markup
        Wikitext of one page.
    media
        Lower-case names of the namespaces whose links are no part of the text (files and categories).

    Examples
    --------
    >>> plain_text("'''Albedo''' is [[reflectivity|reflecting power]].{{citation needed}}[[Category:Optics]]")
    'Albedo is reflecting power.'
    """
    code = mwparserfromhell.parse(markup, skip_style_tags=True)
    for link in code.ifilter_wikilinks(recursive=False):
        namespace, colon, _ = str(link.title).partition(":")
        if colon and namespace.strip().lower() in media:
            code.remove(link)
    text = _QUOTES.sub("", str(code.strip_code(normalize=True, collapse=True)))
    text = _SPACES.sub(" ", text)
    return _BLANK_LINES.sub("\n\n", text).strip()
