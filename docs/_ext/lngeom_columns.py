"""Sphinx directive ``columns``: the columns of ``sites.csv`` as the table that writes the file states them."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from empirical.observe import TABLE


class Columns(SphinxDirective):
    """``{columns}``: name, unit, meaning and theorem of each column."""

    def run(self) -> list[nodes.Node]:
        """Insert a table."""
        lines = ["| column | unit | what it is | theorem |", "|---|---|---|---|"]
        for column in TABLE:
            theorem = f"{{prf:ref}}`{column.theorem} <{column.theorem}>`" if column.theorem else ""
            meaning = column.doc.replace("|", "\\|")
            lines.append(f"| `{column.name}` | {column.unit} | {meaning} | {theorem} |")
        return self.parse_text_to_nodes("\n".join([*lines, ""]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("columns", Columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
