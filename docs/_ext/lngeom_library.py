"""Sphinx directives that show the library as it is: a command's help, a figure, the columns of a table."""

import argparse
import importlib
import logging
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from lngeom_records import table
from sphinx.application import Sphinx
from sphinx.directives.patches import Figure
from sphinx.util.docutils import SphinxDirective

from empirical.observe import TABLE, gauge_dependent
from empirical.pages import save
from lngeom.cli import COMMANDS, command_parser
from lngeom.errors import LngeomError

DRAWN = "_build/figures"
"""Folder of the pictures, below that of the sources."""


_PLACES: dict[tuple[Any, Any], str] = {
    ("layernorm", "input"): "before LayerNorm", ("layernorm", "output"): "after LayerNorm",
    ("rmsnorm", "input"): "before RMSNorm", ("rmsnorm", "output"): "after RMSNorm",
}  # fmt: skip


class Columns(SphinxDirective):
    """``{columns}``: name, unit, meaning, theorem of each column of ``sites.csv``, and where the gauge changes it."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (
                f"`{column.name}`",
                column.unit,
                column.doc.replace("|", "\\|"),
                f"{{prf:ref}}`{column.theorem} <{column.theorem}>`" if column.theorem else "",
                ", ".join(name for (kind, side), name in _PLACES.items() if gauge_dependent(column.name, kind, side)),
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
        module = importlib.import_module(COMMANDS[name].module)
        parser = command_parser(name, module)
        parser.description = None  # stands above the block
        parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=84)
        block = nodes.literal_block(text=parser.format_help())
        block["language"] = "text"
        # As code, or typography would make one dash of two.
        words = re.sub(r"^Example: (.+)$|(?<![`\w-])(--[\w-]+)", _as_code, module.__doc__ or "", flags=re.MULTILINE)
        return [*self.parse_text_to_nodes(words), block]


def _as_code(found: re.Match[str]) -> str:
    return f"Example: `{found[1]}`" if found[1] else f"`{found[2]}`"


class Drawn(Figure, SphinxDirective):
    """``{drawn} axes``: what ``lngeom figure axes`` draws, made anew for the page, with a caption.

    ``:run:`` names the directory, relative to the sources, of the run that the picture shows.
    """

    option_spec = Figure.option_spec | {"run": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Draw the picture, then insert it as any figure."""
        sources = Path(self.env.srcdir)
        named = self.options.pop("run", None)
        if named is not None:
            self.env.note_dependency(str(sources / named / "sites.csv"))
        try:
            picture = save(self.arguments[0], sources / DRAWN, run=None if named is None else sources / named)
        except LngeomError as error:
            raise self.error(str(error)) from None
        self.arguments[0] = f"/{DRAWN}/{picture.name}"
        return super().run()


def setup(app: Sphinx) -> dict[str, Any]:
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # from which font it takes a symbol is not news
    app.add_directive("columns", Columns)
    app.add_directive("command", CommandHelp)
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True}
