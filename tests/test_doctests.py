import doctest
import importlib
import pkgutil

import pytest

import lngeom

MODULES = [
    name
    for name in ("lngeom", *sorted(info.name for info in pkgutil.walk_packages(lngeom.__path__, "lngeom.")))
    if not name.endswith((".__main__", ".conftest")) and ".test_" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
