"""``lngeom prove``: the table, one theorem's page, the evidence file, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lngeom as lg
from lngeom.cli import main

from ._registry import find
from .checks import Opinion
from .commands import prove

KEYS = {"id", "title", "source", "hypotheses", "status", "proof_ms", "mutants_refuted", "last_step", "cites"}


def test_table_and_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "theorems.json"
    ids = ["projection.idempotent", "projection.trace"]
    assert main(["prove", *ids, "--jobs", "1", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "2 theorems for every d: 1 proved, 1 up to cited fact; 4 wrong variants refuted" in printed
    header = printed.splitlines()[0].split()
    assert header == ["theorem", "statement", "source", "status", "ms", "refuted"]
    written = json.loads(file.read_text(encoding="utf-8"))
    assert (written["coq"]["status"], written["coq"]["theorems"]) == ("not run", [])
    assert "Coq" not in printed
    evidence = written["theorems"]
    assert [one["id"] for one in evidence] == ids
    assert all(set(one) >= KEYS for one in evidence)
    assert [one["status"] for one in evidence] == ["proved", "up to cited fact"]
    assert evidence[1]["mutants_refuted"] == 2
    assert evidence[1]["cites"] == ["trace of an idempotent matrix is its rank"]


@pytest.mark.parametrize(
    ("coq", "line", "code"),
    [
        (Opinion("verified", "", 2.06, ("t",)), "verified in 2.1 s", 0),
        (Opinion("not run", "coqc is not installed", 0, ("t",)), "not run, coqc is not installed", 0),
        (Opinion("failed", "Error: no.", 1.0, ("t",)), "failed, Error: no.", 1),
    ],
    ids=lambda value: value.status if isinstance(value, Opinion) else None,
)
def test_all_theorems_come_with_a_second_opinion(
    coq: Opinion,
    line: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = (find("projection.idempotent"), find("projection.symmetric"))
    monkeypatch.setattr(prove, "theorems", lambda: chosen)
    monkeypatch.setattr(prove, "second_opinion", lambda: coq)
    file = tmp_path / "theorems.json"
    assert main(["prove", "--jobs", "1", "--json", str(file)]) == code
    assert capsys.readouterr().out.splitlines()[-1] == f"second opinion in Coq: {line}"
    written = json.loads(file.read_text(encoding="utf-8"))
    assert len(written["theorems"]) == 2
    assert written["coq"] == {
        "status": coq.status,
        "detail": coq.detail,
        "seconds": coq.seconds,
        "theorems": ["t"],
    }


def test_checking_in_several_processes_finds_the_same(tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    ids = ["projection.symmetric", "projection.uniform_norm"]
    for jobs, file in zip((1, 2), files, strict=True):
        assert main(["prove", *ids, "--jobs", str(jobs), "--json", str(file)]) == 0
    first, second = (json.loads(file.read_text(encoding="utf-8"))["theorems"] for file in files)
    for one in (*first, *second):
        del one["proof_ms"]
    assert first == second


def test_page_of_a_theorem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "epsilon.interior"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "‖y_ε‖² < d",
        "Riechers",
        "ε > 0",
        "without it false at: d = ",
        "Certificate",
        "[assume]",
        "Wrong variants",
    ):
        assert part in printed


def test_a_failing_theorem_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(lg, "project", lambda x: x)
    file = tmp_path / "theorems.json"
    assert main(["prove", "projection.annihilates_uniform", "--json", str(file)]) == 1
    assert "FAULT: projection.annihilates_uniform is not proved" in capsys.readouterr().out
    (one,) = json.loads(file.read_text(encoding="utf-8"))["theorems"]
    assert one["status"] == "failed"
    assert one["faults"]


@pytest.mark.parametrize(
    ("id", "hint"), [("projection.what", "projection.idempotent"), ("what.ever", "chapters are")]
)
def test_an_unknown_theorem_is_bad_input(id: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", id]) == 2
    error = capsys.readouterr().err
    assert f"'{id}' is no theorem" in error
    assert hint in error
    assert error.count("\n") == 1
