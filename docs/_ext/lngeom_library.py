"""Sphinx directives that show the library as it is: a command's help, a figure, the columns of a table."""

import argparse
import logging
import re
import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import pictures
from docutils import nodes
from lngeom_records import table
from sphinx.application import Sphinx
from sphinx.directives.patches import Figure
from sphinx.util.docutils import SphinxDirective

from lngeom.cli import COMMANDS, command_parser, load
from lngeom.empirical.observe import TABLE
from lngeom.empirical.pages import STYLE

DRAWN = "_build/figures"
"""Folder of the pictures, below that of the sources."""


class Columns(SphinxDirective):
    """``{columns}``: name, unit, meaning, theorem of each column of ``sites.csv``, and whether gauges change it."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (
                f"`{column.name}`",
                column.unit,
                column.doc.replace("|", "\\|"),
                f"{{prf:ref}}`{column.theorem} <{column.theorem}>`" if column.theorem else "",
                "yes" * column.is_stored,
            )
            for column in TABLE
        ]
        return self.parse_text_to_nodes(table(("column", "unit", "what it is", "theorem", "of the gauge"), rows))


class CommandHelp(SphinxDirective):
    """``{command} sweep``: what ``lngeom sweep --help`` prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Insert what the command says of itself, and what argparse makes of its options."""
        name = self.arguments[0]
        if name not in COMMANDS:
            raise self.error(f"{name!r} is not a command; known: {', '.join(COMMANDS)}")
        module = load(name)
        parser = command_parser(name, module)
        parser.description = None  # stands above the block
        parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=84)
        block = nodes.literal_block(text=parser.format_help())
        block["language"] = "text"
        # As code, or typography would make one dash of two.
        words = re.sub(r"(?m)^Examples:\n((?:    .+\n)+)|(?<![`\w-])(--[\w-]+)", _as_code, module.__doc__ or "")
        return [*self.parse_text_to_nodes(words), block]


def _as_code(found: re.Match[str]) -> str:
    return f"Examples:\n\n```shell\n{textwrap.dedent(found[1])}```\n" if found[1] else f"`{found[2]}`"


def draw(name: str, folder: Path) -> Path:
    """Draw a picture into a folder, which is made if it is missing; returns the path of ``NAME.svg`` there."""
    folder.mkdir(parents=True, exist_ok=True)
    # Formulas are set from many small pieces of text, which only outlines keep in place on every machine.
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "path"}):
        figure = getattr(pictures, name.replace("-", "_"))()
        figure.savefig(folder / f"{name}.svg", dpi=150, metadata={"Date": None})
    return folder / f"{name}.svg"


class Drawn(Figure, SphinxDirective):
    """``{drawn} axes``: what the function ``axes`` of ``pictures`` draws, made anew for the page, with a caption."""

    def run(self) -> list[nodes.Node]:
        """Draw the picture, then insert it as any figure."""
        name = self.arguments[0]
        if name.replace("-", "_") not in pictures.__all__:
            raise self.error(f"{name!r} is not a picture; known: {', '.join(pictures.__all__)}")
        draw(name, Path(self.env.srcdir) / DRAWN)
        self.arguments[0] = f"/{DRAWN}/{name}.svg"
        return super().run()


def setup(app: Sphinx) -> dict[str, Any]:
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # from which font it takes a symbol is not news
    app.add_directive("columns", Columns)
    app.add_directive("command", CommandHelp)
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True}
