"""Wiki markup to plain text."""

import re
from collections import Counter
from collections.abc import Collection

import mwparserfromhell
from mwparserfromhell.definitions import is_single
from mwparserfromhell.nodes import Wikilink

_QUOTES = re.compile(r"'{2,5}")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_APART = {"ref", "references", "table", "gallery", "timeline", "math", "score", "syntaxhighlight", "source", "imagemap"}
"""Tags whose content is not running text."""
_SPACES = re.compile(r"[ \t]+")
_OPEN = 100
"""Constructs that a page may leave open: behind each the parser reads to the end, and then once more from there."""
_PAIRS = {"{{": "}}", "[[": "]]", "{|": "|}", "<!--": "-->", "[": "]"}
_CLOSES = {closing: opening for opening, closing in _PAIRS.items()}
_MARKS = re.compile(r"<!--|-->|</?\w+[^<>]*>?|\{\{|\}\}|\[\[|\]\]|\{\||\|\}|\[(?=\w+:|//)|\]")


def _open(markup: str) -> Counter[str]:
    """How often each opening mark, or name of a tag, is still open when its parent closes."""
    stack, inside, left = list[str](), Counter[str](), Counter[str]()
    for mark in _MARKS.findall(markup):
        name = re.sub(r"^</?(\w+).*", r"<\1", mark, flags=re.DOTALL)
        if name != mark and mark[-1] != ">":
            left[name] += 1
        elif mark in _PAIRS or (name != mark and mark[1] != "/" and mark[-2] != "/" and not is_single(name[1:])):
            stack.append(name)
            inside[name] += 1
        elif inside[opening := _CLOSES.get(mark, name)]:
            while (top := stack.pop()) != opening:
                left[top] += 1
                inside[top] -= 1
            inside[opening] -= 1
    return left + Counter(stack)


def _bounded(markup: str) -> str:
    """The markup; with more than `_OPEN` unclosed marks, those are removed, so that the parser takes linear time."""
    left = _open(markup)
    if left.total() > _OPEN:
        markup = re.sub("|".join(map(re.escape, sorted(left, key=len, reverse=True))), " ", markup)
    return markup


def plain_text(markup: str, media: Collection[str] = ("file", "image", "category")) -> str:
    """The plain text of an article, without templates, tables, references, comments and markup.

    `media` are the lower-case names of the namespaces whose links are no text (files and categories).

    >>> from lngeom.empirical.text import plain_text
    >>> plain_text("'''Albedo''' is [[reflectivity|reflecting power]].{{citation needed}}[[Category:Optics]]")
    'Albedo is reflecting power.'
    """
    code = mwparserfromhell.parse(_bounded(markup), skip_style_tags=True)

    def is_media(link: Wikilink) -> bool:
        namespace, colon, _ = str(link.title).partition(":")
        return bool(colon) and namespace.strip().lower() in media

    # Emptied, not removed: removing searches the whole tree for every node.
    for link in code.filter_wikilinks(recursive=code.RECURSE_OTHERS, matches=is_media):
        link.title = link.text = ""
    for tag in code.filter_tags(
        recursive=code.RECURSE_OTHERS, matches=lambda tag: str(tag.tag).strip().lower() in _APART
    ):
        tag.contents = ""
    text = _QUOTES.sub("", str(code.strip_code(normalize=True, collapse=True)))
    text = _SPACES.sub(" ", text)
    return _BLANK_LINES.sub("\n\n", text).strip()
