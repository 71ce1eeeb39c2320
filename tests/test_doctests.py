"""Every example in the docstrings of the core runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import lngeom

MODULES = ["lngeom", *sorted(info.name for info in pkgutil.walk_packages(lngeom.__path__, "lngeom."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_print_what_they_say(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(
        len(test.examples) for name in MODULES[1:] for test in finder.find(importlib.import_module(name))
    )
    assert examples >= 2 * len(lngeom.__all__), "an import and a call for each public name"
