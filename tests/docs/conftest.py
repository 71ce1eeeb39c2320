"""The extensions and pictures of the site stand beside its pages, where no package is."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.extend([str(DOCS / "_ext"), str(DOCS)])


PAGES = {
    chapter: path
    for path in (DOCS / "derivations").glob("*.md")
    for chapter in re.findall(r"^```\{imprecise\} (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
}
"""The page of each chapter, by what it says of the claims that its theorems correct."""


@pytest.fixture(scope="session")
def site() -> Path:
    place = DOCS / "_build" / "html"
    if not (place / "index.html").exists():
        pytest.skip("needs the built site: run `make docs`")
    return place
