"""One test for every theorem and check, from the same list that ``lngeom prove`` runs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ._registry import theorems

# The profiles of tests/conftest.py, for runs of this folder alone.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


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
