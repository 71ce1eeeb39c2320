"""One test for every theorem, from the same list that ``lngeom prove`` runs."""

import pytest

from ._registry import theorems


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "theorem" in metafunc.fixturenames:
        metafunc.parametrize("theorem", [pytest.param(theorem, id=theorem.id) for theorem in theorems()])
