"""Every guide of the site is executed: what it prints is what a reader gets."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.parametrize("name", sorted(path.stem for path in GUIDES.glob("*.md") if path.stem != "index"))
def test_guide_prints_what_it_says(name: str) -> None:
    failed, attempted = doctest.testfile(
        str(GUIDES / f"{name}.md"), module_relative=False, optionflags=doctest.REPORT_NDIFF
    )
    assert attempted > 0
    assert failed == 0
