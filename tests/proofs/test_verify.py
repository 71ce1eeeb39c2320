import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lngeom.checker import digest
from lngeom.cli import main
from lngeom.proofs import find, theorems
from lngeom.proofs._coqc import Library
from lngeom.proofs.certificates import build_checker, replay, replays as _verify, write
from lngeom.proofs.certificates.coq_text import source
from lngeom.prover import ProofCertificate
from lngeom.theorems import CheckError
from tests.support import refused, said

from .test_prove import OWN

IDS = ("projection.fixes_hyperplane", "projection.trace", "standardization.norm", "irreversibility.lines")

# What is changed in a certificate: where, and into what. Numbers count from 0, as in the file.
TAMPERED = {
    "another claim": ("projection.fixes_hyperplane", ("statement", "conclusion", 1), ">"),
    "a claim without its hypothesis": ("projection.fixes_hyperplane", ("statement", "hypotheses"), []),
    "a stronger hypothesis than stated": ("projection.fixes_hyperplane", ("steps", 0, "conclusion", 0), 0),
    "another combination": ("projection.fixes_hyperplane", ("steps", 1, "arguments"), [[0]]),
    "a hypothesis dropped on the way": ("projection.fixes_hyperplane", ("steps", 1, "hypotheses"), []),
    "the last step left out": ("projection.fixes_hyperplane", ("steps", 1), None),
    "another trace": ("projection.trace", ("statement", "conclusion", 0), 0),
    "an operator that is not linear": ("projection.trace", ("terms", 2), ["q", 1, 1]),
    "a sum for a difference": ("standardization.norm", ("terms", 3, 0), "+"),
    "a relation made stronger": ("irreversibility.lines", ("statement", "hypotheses", 0, 1), ">="),
}


@pytest.fixture(scope="session")
def checker(compiled: Callable[[Library], Path]) -> Path:
    return compiled(_verify._COQ)


def test_certificates_of_any_id_and_name_are_replayed(checker: Path) -> None:
    text = json.dumps(find("epsilon.interior").certificates()[-1])
    given = (("0.1", "x"), ("_._", "Theorem"), ("a.b", "mod"), ("a.b", "eq_out"), ("a.b_steps", "forall"))
    named = [json.loads(text.replace('"eps"', f'"{name}"')) | {"id": id} for id, name in given]
    replay([*(find(id).certificates()[-1] for id in IDS), *named], checker, "Accepted")
    assert (checker / "Accepted.vo").exists()


def tampered(kind: str) -> ProofCertificate:
    """A certificate with one change, under an id of its own."""
    id, path, value = TAMPERED[kind]
    data = json.loads(json.dumps(find(id).certificates()[-1]))
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        assert place[path[-1]] != value
        place[path[-1]] = value
    return data | {"id": f"tampered.{kind.replace(' ', '_')}"}


def test_tampered_certificates_are_refused(checker: Path) -> None:
    """Of each the lemma that it is accepted fails; one run of Coq, since each loads its library anew."""
    text = _verify.HEADER
    for kind in TAMPERED:
        stated, accepted, _ = source(tampered(kind)).partition("vm_cast_no_check (erefl true). ")
        assert stated.count("Lemma") == 1
        text += f"{stated}{accepted}Fail Qed. Abort.\n"
    _verify._COQ.compile(checker, "Refused", text)


def test_a_refusal_names_the_certificate(checker: Path) -> None:
    data = tampered("another claim")
    with pytest.raises(CheckError, match=rf"(?s){data['id']}.*accepts"):
        replay([find("projection.idempotent").certificates()[-1], data], checker, "Refused")


def test_what_rests_on_an_axiom_is_a_fault(checker: Path, tmp_path, monkeypatch, capsys) -> None:
    """Also of a single file, whatever the translation does."""
    file, wrong = tmp_path / "given.json", "Theorem wrong : False. Admitted."
    file.write_text(json.dumps(find("projection.idempotent").certificates()), encoding="utf-8")
    monkeypatch.setattr(_verify, "source", lambda data: f"{wrong} Definition projection__idempotent := wrong.\n")
    assert main(["verify", str(file), "--keep", str(checker)]) == 1
    assert "rests on an axiom" in capsys.readouterr().err


def test_the_record_is_of_these_theorems_and_of_these_sources() -> None:
    """`make verify` renews it; what it records of each certificate is compared where all are made."""
    record = json.loads(_verify.RESULTS.read_text(encoding="utf-8"))
    assert record["sources"] == _verify._COQ.hashes()
    assert record["sha256"] == digest(record)
    ids = {f"{each.id}_{k}" for each in theorems() for k in range(1, len(each.goals))} | {t.id for t in theorems()}
    assert set(record["certificates"]) == ids
    assert record["exported"] == record["replayed"] == len(ids)
    assert record["axioms"] == []


@pytest.mark.parametrize("part", ["title", "statement", "last_step", "exporter", "record"])
def test_what_is_read_is_what_was_replayed(part: str, tmp_path, monkeypatch) -> None:
    """Other words, another translation into Coq, or a record changed by hand: the proof was not replayed as it is."""
    theorem = find("projection.trace")
    words = {
        "title": "The projector has trace d − 2",
        "statement": "tr Π = d − 2",
        "last_step": "The rank of Π is d − 2.",
    }
    record = {"coq": "8.16.1", "sources": _verify._COQ.hashes(), "axioms": []}
    record["certificates"] = {theorem.id: _verify._exported(theorem.certificates()[-1])}
    monkeypatch.setattr(_verify, "RESULTS", tmp_path / "results.json")
    for changed in (False, True):
        if changed and part in words:
            monkeypatch.setattr(theorem, part, words[part])
        elif changed and part == "exporter":
            monkeypatch.setattr(_verify, "source", lambda data: "Theorem readable : True. Proof. exact I. Qed.")
        written = record | {"sha256": digest(record)} | ({"coq": "99.9"} if changed and part == "record" else {})
        _verify.RESULTS.write_text(json.dumps(written), encoding="utf-8")
        _verify._results.cache_clear()
        assert _verify.replayed(theorem.certificates()[-1]) == ("" if changed else "8.16.1")
    assert _verify.last_step_proved(theorem) is (part not in ("last_step", "record"))
    _verify._results.cache_clear()


def test_a_last_step_is_proved_in_coq_under_its_words_or_cites() -> None:
    last = {theorem.id: theorem.last_step for theorem in theorems() if theorem.last_step}
    cited = {theorem.id for theorem in theorems() if theorem.cites}
    assert cited <= set(last)
    assert {id: words for id, words in last.items() if id not in cited} == _verify.last_steps()


def test_certificates_and_theorems_of_one_s_own_are_replayed_and_told_by_what_they_state(
    checker: Path, tmp_path, capsys
) -> None:
    folder, own = tmp_path / "written", tmp_path / "own_radius.py"
    refused(said("verify", tmp_path), f"{tmp_path} is a folder without certificates: give")
    write([find("projection.fixes_hyperplane")], folder)
    own.write_text(OWN, encoding="utf-8")
    assert main(["verify", str(folder), str(own), "--keep", str(checker)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "projection.fixes_hyperplane: x − mean(x) = x, if S(1·x) = 0"
    assert told[3].startswith("  title, as it says: Vectors orthogonal to")
    assert told[-1].startswith("2 certificates replayed in Coq")
    assert told[-1].endswith("axioms: none")
    assert "Theorem own_radius__radius (R : rcfType)" in (checker / "Replay.v").read_text(encoding="utf-8")


def test_where_coq_is_absent_it_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    line = "^lngeom verify: coqc is not installed, so nothing was replayed"
    refused(said("verify", "--results", tmp_path / "results.json"), line)
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    ("script", "error", "expected"),
    [
        ("echo Error: too old. >&2; exit 1", CheckError, "Error: too old."),
        ("exit 129", CheckError, "ended with code 129"),
        ("echo System error: No space left on device. >&2; exit 1", OSError, "No space"),
    ],
    ids=["message", "silent", "full"],
)
def test_failures_of_coq_are_reported(script: str, error: Any, expected: str, tmp_path, monkeypatch) -> None:
    if os.name != "posix":
        pytest.skip("the stand-in for coqc is a script of a POSIX shell; runs on POSIX systems")
    program = tmp_path / "coqc"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(error, match=expected):
        build_checker(tmp_path)
