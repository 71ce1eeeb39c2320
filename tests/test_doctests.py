"""Every example in a docstring runs and prints what it says."""

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
    if not name.endswith((".__main__", ".conftest", "lngeom.symbolic")) and ".test_" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
