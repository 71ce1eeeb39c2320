"""The quick form of the attack; ``make attack`` is the whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from empirical.runs import read_table

from .areas import AREAS, stopped_sweep
from .scene import Scene, outcome


def test_nothing_wrong_passes(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.faults.attack", "--times", "6", "--csv", str(tmp_path / "table.csv")]
    # A process of its own: it limits its memory and forks, which one that runs tests on threads must not.
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    table = read_table(tmp_path / "table.csv")
    assert (done.returncode, sum(row["wrong"] for row in table)) == (0, 0), done.stdout
    assert [row["area"] for row in table] == list(AREAS)
    assert all(row["right"] == row["tried"] >= 2 for row in table)


def test_an_attack_that_goes_unnoticed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("empirical.statistics._storage._digest", lambda *_: "")
    monkeypatch.setattr("empirical.runs._files._seal", lambda _: "")
    scene, generator = Scene(tmp_path), random.Random(0)
    assert any(stopped_sweep(scene, generator) for _ in range(25))


def test_what_counts_as_refused() -> None:
    assert outcome("sweep", "./none") == "refused"
