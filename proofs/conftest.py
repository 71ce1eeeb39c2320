"""One test for every theorem and check, from the same list that ``lngeom prove`` runs."""

from __future__ import annotations

from typing import Any

import pytest

from ._registry import theorems


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = metafunc.fixturenames
    if "theorem" not in names:
        return
    if "mutant" in names:
        cases: list[Any] = [
            pytest.param(theorem, mutant, id=f"{theorem.id}-{mutant.title}")
            for theorem in theorems()
            for mutant in theorem.mutants
        ]
        metafunc.parametrize(("theorem", "mutant"), cases)
    elif "hypothesis" in names:
        cases = [
            pytest.param(theorem, said, id=f"{theorem.id}-{said}")
            for theorem in theorems()
            for said in theorem.hypotheses
        ]
        metafunc.parametrize(("theorem", "hypothesis"), cases)
    else:
        metafunc.parametrize("theorem", [pytest.param(theorem, id=theorem.id) for theorem in theorems()])
