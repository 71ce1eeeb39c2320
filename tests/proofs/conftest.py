"""One test for every theorem, as in ``proofs``."""

import pytest

from lngeom.proofs import theorems


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "theorem" in metafunc.fixturenames:
        metafunc.parametrize("theorem", [pytest.param(theorem, id=theorem.id) for theorem in theorems()])
