"""Pages: templates with one look, and figures inside them."""

import io
import re
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from ._style import STYLE


def _number(value: Any) -> str:
    """Four digits of a number; nothing where none applies, and a dash where none is known."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "–" if value != value else f"{value:.4g}"
    return f"{value}"


def _emphasis(text: str) -> Markup:
    """Words between stars are emphasized, as in Markdown."""
    return Markup(re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", str(escape(text))))


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("empirical.pages", "templates"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=name.endswith(".md"),
    )
    environment.filters |= {"number": _number, "emphasis": _emphasis}
    return environment.get_template(name)


def render(template: str, **entries: Any) -> str:
    """A page from one of the templates of this package."""
    return _template(template).render(**entries)


def from_markdown(text: str, folder: Path) -> Markup:
    """Markdown as a part of a page: tables that scroll, named by their heading, and the pictures of `folder` inside."""
    parts: Any = _template("parts.html").module

    def picture(found: re.Match[str]) -> str:
        svg = (folder / f"{found[1]}.svg").read_text(encoding="utf-8")
        return parts.figures([(found[1], embedded(svg, found[1]), Markup(found[2]))])

    page = MarkdownIt().enable("table").render(text).replace("<th>", '<th scope="col">')
    page = re.sub(r'<p><img src="(\w+)\.svg" alt="([^"]*)" /></p>', picture, page)
    box = r'\1<div class="scroll" tabindex="0" role="region" aria-label="\2">\n\3\n</div>'
    return Markup(re.sub(r"(?s)(<h2>([^<]*)</h2>(?:(?!<h2>).)*?)(<table>.*?</table>)", box, page))


# A figure on its own is black on white; on a page it takes the colours of the page, which may be dark.
_ON_PAGE = {
    "fill: #ffffff": "fill: none",
    "fill: #000000": "fill: currentColor",
    "stroke: #000000": "stroke: currentColor",
    "stroke: #e3e3e3": "stroke: var(--line)",
}


def embedded(svg: str, name: str) -> Markup:
    """An SVG picture to be put into a page: without its XML header, with ids that no other figure has."""
    text = svg[svg.index("<svg") :]
    for alone, on_page in _ON_PAGE.items():
        text = text.replace(alone, on_page)
    return Markup(re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", text))


def drawn(figure: Figure, name: str) -> Markup:
    """A figure to be put into a page."""
    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return embedded(stream.getvalue(), name)
