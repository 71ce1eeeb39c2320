"""The site leaves nothing out: every public name has its entry, every theorem its page, and no page invents one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import lngeom
import lngeom.symbolic
import proofs
from lngeom.cli import COMMANDS
from proofs import CHAPTERS, theorems

DOCS = Path(__file__).parents[2] / "docs"


def entries(module: str) -> set[str]:
    """Names that the API pages document."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    directive = rf"^\.\. (?:auto\w+|py:data):: {re.escape(module)}\.(\w+)$"
    return set(re.findall(directive, pages, flags=re.MULTILINE))


def public(module: ModuleType) -> set[str]:
    """Names that a package offers: those it lists, or all it took from its own rooms."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith(f"{module.__name__}.")
    }


@pytest.mark.parametrize("module", [lngeom, lngeom.symbolic, proofs], ids=lambda module: module.__name__)
def test_every_public_name_is_documented_and_nothing_else(module: ModuleType) -> None:
    assert entries(module.__name__) - {"symbolic"} == public(module)


def test_every_command_shows_its_options() -> None:
    page = (DOCS / "api" / "commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{command\} (\S+)$", page, flags=re.MULTILINE)
    assert sorted(shown) == sorted(COMMANDS)


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
