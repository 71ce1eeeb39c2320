"""Records of the checks, and how a page writes them."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from lngeom.empirical.observe import TABLE


def cell(text: str) -> str:
    """`text` as it must stand in a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


def table(head: Sequence[str], rows: Iterable[Iterable[str]], *, numbers: int = 0) -> str:
    """A Markdown table; the last columns, `numbers` of them, hold numbers."""
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rules, *rows))


def worded(verdict: str) -> str:
    """A verdict as words."""
    return verdict.replace("_", " ")


def load(app: Sphinx, name: str) -> Any:
    """Content of a JSON file of the folder of evidence; the page at hand is written anew when it changes."""
    path = Path(app.confdir) / app.config.lngeom_evidence / name
    if not path.exists():
        raise ExtensionError(f"{path} is missing: build the site with `make docs`, which writes the evidence first")
    app.env.note_dependency(str(path))
    return _read(path)


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def settled(claim: dict[str, Any], kind: str) -> tuple[str, ...]:
    """Names of one kind, such as ``theorem``, by which a claim is settled."""
    return tuple(one.removeprefix(f"{kind} ") for one in claim["settled_by"] if one.startswith(f"{kind} "))


def coq_record() -> dict[str, Any]:
    """The record that `lngeom verify` wrote when it last replayed the certificates in Coq."""
    return _read(Path(__file__).parents[2] / "proofs" / "certificates" / "coq" / "results.json")


def columns(theorem: str) -> list[str]:
    """Columns of ``sites.csv`` that the theorem explains, or by which they are computed."""
    return [column.name for column in TABLE if column.theorem == theorem]
