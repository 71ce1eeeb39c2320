"""Every guide of the site is executed: what it prints is what a reader gets."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from empirical.corpora import bundled_wikipedia
from empirical.models import bundled_model
from lngeom import LngeomError

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
MEASURING = {"sweep"}
"""Guides that run the bundled model on the bundled text."""

FLAGS = doctest.REPORT_NDIFF | doctest.ELLIPSIS


def names() -> list[str]:
    """Every guide, by the name of its page."""
    return sorted(path.stem for path in GUIDES.glob("*.md") if path.stem != "index")


def execute(name: str) -> None:
    failed, attempted = doctest.testfile(
        str(GUIDES / f"{name}.md"), module_relative=False, encoding="utf-8", optionflags=FLAGS
    )
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("name", [name for name in names() if name not in MEASURING])
def test_guide_prints_what_it_says(name: str) -> None:
    execute(name)


@pytest.mark.real_data
@pytest.mark.parametrize("name", sorted(MEASURING))
def test_measuring_guide_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        bundled_model()
        bundled_wikipedia()
    except LngeomError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    execute(name)


def test_measuring_guides_exist() -> None:
    assert set(names()) >= MEASURING
