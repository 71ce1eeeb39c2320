"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import empirical
import lngeom
import proofs

MODULES = [
    name
    for package in (lngeom, proofs, empirical)
    for name in (
        package.__name__,
        *sorted(info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
    )
    if not name.endswith((".__main__", ".conftest")) and ".test_" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_there_are_examples_in_the_core() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(
        len(test.examples)
        for name in MODULES[1:]
        if name.startswith("lngeom.")
        for test in finder.find(importlib.import_module(name))
    )
    assert examples >= 2 * len(lngeom.__all__), "an import and a call for each public name"
