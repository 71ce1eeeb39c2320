"""The checker in Coq accepts the certificates, refuses what was tampered with, and says where it cannot be asked."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lngeom.cli import main
from lngeom.theorems import CheckError
from proofs import find, theorems
from proofs.certificates import _verify, build_checker, certificate, replay

IDS = ("projection.fixes_hyperplane", "projection.trace", "standardization.norm", "irreversibility.lines")

# What is changed in a certificate: where, and into what. Numbers count from 0, as in the file.
TAMPERED = {
    "another claim": ("projection.fixes_hyperplane", ("statement", "conclusion", 1), ">"),
    "a claim without its hypothesis": ("projection.fixes_hyperplane", ("statement", "hypotheses"), []),
    "a stronger hypothesis than stated": ("projection.fixes_hyperplane", ("steps", 0, "conclusion", 0), 0),
    "another combination": ("projection.fixes_hyperplane", ("steps", 1, "arguments"), [[0]]),
    "a step without its premise": ("projection.fixes_hyperplane", ("steps", 1, "premises"), []),
    "a hypothesis dropped on the way": ("projection.fixes_hyperplane", ("steps", 1, "hypotheses"), []),
    "another rule": ("projection.fixes_hyperplane", ("steps", 1, "rule"), "definite"),
    "the last step left out": ("projection.fixes_hyperplane", ("steps", 1), None),
    "another trace": ("projection.trace", ("statement", "conclusion", 0), 0),
    "an operator that is not linear": ("projection.trace", ("terms", 2), ["q", 1, 1]),
    "a sum for a difference": ("standardization.norm", ("terms", 3, 0), "+"),
    "a relation made stronger": ("irreversibility.lines", ("statement", "hypotheses", 0, 1), ">="),
}


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled checker; a skip where there is no Coq."""
    folder = tmp_path_factory.mktemp("coq")
    try:
        build_checker(folder)
    except _verify.InputError as error:
        pytest.skip(f"{error}")
    return folder


def test_certificates_are_replayed(checker: Path) -> None:
    replay([certificate(find(id)) for id in IDS], checker, "Accepted")
    assert (checker / "Accepted.vo").exists()


@pytest.mark.parametrize("kind", TAMPERED)
def test_a_tampered_certificate_is_refused(kind: str, checker: Path) -> None:
    id, path, value = TAMPERED[kind]
    data = json.loads(json.dumps(certificate(find(id))))
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        assert place[path[-1]] != value
        place[path[-1]] = value
    with pytest.raises(CheckError, match=rf"(?s)Coq refuses {id}: .*accepts|{id} is not a certificate"):
        replay([certificate(find("projection.idempotent")), data], checker, "Refused")


@pytest.mark.parametrize(
    "text", ["Axiom wrong : False.\n", "Theorem wrong : False. Admitted.\n"], ids=["axiom", "admitted"]
)
def test_what_is_assumed_is_no_proof(text: str, checker: Path) -> None:
    printed = _verify._compile(checker, "Assumed", f"{text}Print Assumptions wrong.\n")
    assert "wrong : False" in printed
    assert _verify._NO_AXIOM not in printed


def test_the_record_is_complete_in_itself() -> None:
    record = json.loads(_verify.RESULTS.read_text(encoding="utf-8"))
    assert record["exported"] == record["replayed"] == len(record["certificates"])
    assert record["axioms"] == []
    assert set(record["last_steps"]) <= set(record["certificates"])
    assert set(record["sources"]) == {file.name for file in _verify.SOURCES.glob("*.v")}


def test_a_last_step_is_proved_in_coq_or_cites() -> None:
    last = {theorem.id for theorem in theorems() if theorem.last_step}
    cited = {theorem.id for theorem in theorems() if theorem.cites}
    assert cited <= last
    assert last - cited == set(_verify.last_steps())
    assert not cited & set(_verify.last_steps())


def test_where_coq_is_absent_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["verify", "--results", str(tmp_path / "results.json")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("lngeom verify: coqc is not installed, so that nothing was replayed")
    assert error.count("\n") == 1
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("while :; do :; done", "had not finished after 0.2 s"),
        ("echo Error: too old. >&2; exit 1", "Error: too old."),
        ("exit 129", "ended with code 129"),
    ],
    ids=["endless", "message", "silent"],
)
def test_failures_of_coq_are_reported(script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "posix":
        pytest.skip("the stand-in for coqc is a script of a POSIX shell; runs on POSIX systems")
    program = tmp_path / "coqc"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_verify, "_LIMIT", 0.2 if "while" in script else 60)
    with pytest.raises(CheckError, match=said):
        build_checker(tmp_path)
