"""Pages: templates with one look, how they write numbers, and figures inside them."""

import re
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from lngeom.colors import FAINT, INK
from lngeom.files import write_text

from .console import carriers, energy, number, ranked


def _number(value: object) -> str:
    return value if isinstance(value, Markup) else number(value)


def _counted(count: int, noun: str) -> str:
    """A number with its noun: 1 norm layer, 2 norm layers."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def write_page(path: Path, template: str, **entries: object) -> Path:
    """Write a page as one HTML file that opens offline; returns its path."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__.rpartition(".")[0], "templates"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "counted": _counted, "carriers": carriers, "ranked": ranked}
    environment.filters |= {"energy": lambda row: energy(row).replace("-", "−")}  # minus signs are signs
    write_text(path, environment.get_template(template).render(**entries))
    return path


# A figure on its own is dark on white; on a page it takes the colours of the page, which may be dark.
_ON_PAGE = {
    "fill: #ffffff": "fill: none",
    f"fill: {INK}": "fill: currentColor",
    f"stroke: {INK}": "stroke: currentColor",
    f"stroke: {FAINT}": "stroke: var(--line)",
}


def _embedded(svg: str, name: str) -> Markup:
    """An SVG picture to be put into a page: without its XML header, with ids that no other figure has."""
    text = svg[svg.index("<svg") :]
    for alone, on_page in _ON_PAGE.items():
        text = text.replace(alone, on_page)
    if size := re.search(r'width="([\d.]+)pt"', text):  # a single panel is not as wide as the page, nor made so
        pixels = float(size[1]) * 4 / 3
        text = text.replace("<svg", f'<svg style="max-width: {1.3 * pixels:.0f}px"', 1)
    return Markup(re.sub(r'\b(id="|href="#(?!row-)|url\(#)', rf"\g<1>{name}-", text))


def read_svgs(folder: Path, names: Sequence[str]) -> dict[str, Markup]:
    """Figures in a folder, to be put into a page."""
    return {name: _embedded((folder / f"{name}.svg").read_text(encoding="utf-8"), name) for name in names}
