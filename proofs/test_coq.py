"""The second opinion by Coq: it agrees, it refuses what is wrong, and it says so where it was not asked."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from .checks import SOURCE, Opinion, second_opinion

TEXT = SOURCE.read_text(encoding="utf-8")

MUTANTS = [
    pytest.param("~ exists f", "exists f", "no_left_inverse", id="a left inverse exists"),
    pytest.param(
        "eps : (1 < n)%N", "eps : (0 < n)%N", "no_left_inverse", id="dimension 1 has vectors that vary"
    ),
    pytest.param(
        r"\col_i ((x i 0 - mean x)", r"\col_i ((x i 0)", "LN_centered", id="mean 0 without centring"
    ),
    pytest.param("(LN 0 x) = n%:R", "(LN 0 x) = 1", "LN_length", id="outputs of length 1"),
    pytest.param("0 < a ->", "a != 0 ->", "LN_invariant", id="invariance under negative scale"),
    pytest.param("1%:M - n%:R^-1", "1%:M - 2%:R^-1", "PiE", id="one projector for every n"),
]


@pytest.fixture(scope="session")
def opinion() -> Opinion:
    """What Coq says of the source; a skip where it cannot be asked."""
    found = second_opinion()
    if found.status == "not run":
        pytest.skip(f"{found.detail}; runs with coqc on the PATH: apt install coq libcoq-mathcomp-algebra")
    return found


def test_coq_agrees(opinion: Opinion) -> None:
    assert opinion.detail == ""
    assert opinion.status == "verified"
    assert {"Pi_idempotent", "Pi_symmetric", "Pi_uniform", "LN_centered", "LN_length"} < set(opinion.theorems)
    assert {"LN_projected", "LN_invariant", "LN_shift", "no_left_inverse"} < set(opinion.theorems)
    assert re.fullmatch(r"verified in \d+\.\d s", str(opinion))


@pytest.mark.usefixtures("opinion")
@pytest.mark.parametrize(("right", "wrong", "name"), MUTANTS)
def test_coq_refuses_what_is_wrong(right: str, wrong: str, name: str) -> None:
    assert right in TEXT
    mutated = TEXT.replace(right, wrong, 1)
    found = second_opinion(mutated)
    assert found.status == "failed"
    assert "Error" in found.detail
    line = re.search(r"line (\d+), characters", found.detail)
    assert line is not None, found.detail
    assert _statement_at(mutated, int(line[1])) == name


def _statement_at(text: str, line: int) -> str:
    """The theorem or lemma that a line of a Coq file belongs to."""
    return re.findall(r"^(?:Theorem|Lemma) (\w+)", "\n".join(text.splitlines()[:line]), re.MULTILINE)[-1]


@pytest.mark.usefixtures("opinion")
@pytest.mark.parametrize(
    "source",
    [
        "Theorem wrong : 0 = 1.\nProof.\nAdmitted.\nTheorem right : 0 = 0.\nProof. reflexivity. Qed.\n",
        "Axiom wrong : 0 = 1.\nTheorem too : 1 = 0.\nProof. symmetry; exact wrong. Qed.\n",
    ],
    ids=["admitted", "axiom"],
)
def test_what_is_assumed_is_not_verified(source: str) -> None:
    found = second_opinion(source)
    assert found.status == "failed"
    assert "rests on an axiom" in found.detail
    assert "wrong : 0 = 1" in found.detail


@pytest.mark.usefixtures("opinion")
def test_coq_without_mathcomp_is_not_run() -> None:
    absent = TEXT.replace("all_ssreflect", "of_another_version", 1)
    assert str(second_opinion(absent)) == "not run, mathcomp, a library of Coq, is not installed"


def test_without_coqc_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = second_opinion()
    assert str(found) == "not run, coqc is not installed"
    assert found.as_json()["status"] == "not run"
    assert found.seconds == 0
    assert "no_left_inverse" in found.theorems


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("while :; do :; done", "failed, coqc had not finished after 0.2 s"),
        ("echo Error: too old. >&2; exit 1", "failed, Error: too old."),
        ("exit 129", "failed, coqc ended with code 129"),
        ("echo Closed under the global context", "failed, a theorem rests on an axiom: Closed under"),
    ],
    ids=["endless", "message", "silent", "one answer for many theorems"],
)
def test_failures(script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "posix":
        pytest.skip("the stand-in for coqc is a script of a POSIX shell; runs on POSIX systems")
    program = tmp_path / "coqc"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert str(second_opinion(limit=0.2 if "while" in script else 60)).startswith(said)


def test_a_source_without_theorems_verifies_nothing() -> None:
    assert str(second_opinion("Lemma trivial : True.")) == "failed, the source states no theorem"
