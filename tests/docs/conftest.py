"""The extensions and pictures of the site stand beside its pages, where no package is."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.extend([str(DOCS / "_ext"), str(DOCS)])


@pytest.fixture(scope="session")
def site() -> Path:
    place = DOCS / "_build" / "html"
    if not (place / "index.html").exists():
        pytest.skip("needs the built site: run `make docs`")
    return place
