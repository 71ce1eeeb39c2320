"""The site leaves nothing out: every public name has its entry, every theorem its page, and no page invents one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import lngeom
import lngeom.symbolic
from proofs import CHAPTERS, theorems

DOCS = Path(__file__).parents[2] / "docs"


def entries(module: str) -> set[str]:
    """Names that the API pages document."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    return set(re.findall(rf"^\.\. auto\w+:: {re.escape(module)}\.(\w+)$", pages, flags=re.MULTILINE))


def test_every_public_name_is_documented_and_nothing_else() -> None:
    assert entries("lngeom") - {"symbolic"} == set(lngeom.__all__)


def test_every_theorem_has_one_block_on_the_page_of_its_chapter() -> None:
    blocks = Counter(
        (path.stem, label)
        for path in (DOCS / "derivations").glob("*.md")
        for label in re.findall(r"^:label: (\S+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert blocks == Counter((theorem.chapter, theorem.id) for theorem in theorems())


def test_every_theorem_block_is_followed_by_its_evidence() -> None:
    for chapter in CHAPTERS:
        page = (DOCS / "derivations" / f"{chapter}.md").read_text(encoding="utf-8")
        labels = re.findall(r"^:label: (\S+)$", page, flags=re.MULTILINE)
        shown = re.findall(r"^```\{evidence\} (\S+)$", page, flags=re.MULTILINE)
        assert shown == labels
