"""The quick form of the attack; ``python -m tests.faults.attack`` is the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from .attack import attack, outcome


def test_nothing_wrong_passes(tmp_path: Path) -> None:
    found = attack(tmp_path, times=12)
    assert {area: len(wrongs) for area, wrongs in found.items()} == dict.fromkeys(found, 12)
    assert [wrong for wrongs in found.values() for wrong in wrongs if wrong] == []


def test_an_attack_that_goes_unnoticed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("empirical.statistics._storage._digest", lambda *_: "")
    monkeypatch.setattr("empirical.runs._files._seal", lambda _: "")
    found = attack(tmp_path, times=25)
    assert any(found["stopped"]) or any(found["finished"])


def test_what_counts_as_refused() -> None:
    assert outcome("sweep", "./none") == "refused"
