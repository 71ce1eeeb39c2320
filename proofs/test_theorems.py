"""Every theorem passes every check, and a record that cannot be read is named."""

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from . import chapters
from ._records import read
from ._registry import CHAPTERS, theorems
from ._theorem import CheckError, Theorem
from .checks import check_proof, gather

RECORD = """
[hypotheses]
"a > 0" = "a > 0"

[[theorem]]
id = "projection.test"
title = "A square times a positive number"
statement = "ax² ≥ 0"
source = ["own", "", ""]
scalars = "a"
hypotheses = ["a > 0"]
claim = "a * x * x >= 0"
proof = "as_sum(goal, [product(given[0], square(x))])"
"""


def test_every_check_of_a_theorem_passes(theorem: Theorem) -> None:
    """Proof, certificate, models, truth, floats, each wrong variant, each hypothesis: what ``lngeom prove`` runs."""
    evidence = gather(theorem)
    assert evidence.faults == []
    assert min(evidence.steps, evidence.dimensions, evidence.models, evidence.measured) >= 1
    assert list(evidence.mutants) == [mutant.title for mutant in theorem.mutants]
    assert list(evidence.hypotheses) == list(theorem.hypotheses)


def test_ids_are_unique_and_belong_to_a_chapter() -> None:
    ids = Counter(theorem.id for theorem in theorems())
    assert max(ids.values()) == 1
    assert {theorem.chapter for theorem in theorems()} <= set(CHAPTERS)


def test_a_last_step_and_its_citations_come_together() -> None:
    for theorem in theorems():
        assert not theorem.cites or theorem.last_step, theorem.id


def recorded(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Theorem, ...]:
    """What is read from a record that stands beside a module of its own."""
    (folder / "chapter.toml").write_text(text, encoding="utf-8")
    module = ModuleType("chapter")
    module.__file__ = str(folder / "chapter.py")
    monkeypatch.setitem(sys.modules, "chapter", module)
    return read("chapter")


def test_a_record_is_a_theorem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (theorem,) = recorded(RECORD, tmp_path, monkeypatch)
    assert check_proof(theorem).conclusion.relation == ">="


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("scalars", "skalars", "skalars is not a field; fields are cites, claim"),
        ("* x >= 0", "* x", "'a * x * x' has not one of == != > >= between two sides"),
        ("* x >= 0", "* x <= 0", "has not one of"),
        ("* x >= 0", "* x >= 0 > a", "has not one of"),
        ("* x >= 0", "* >= 0", "'a * x * >= 0' is not an expression"),
        ('["a > 0"]', '["b > 0"]', "'b > 0' stands under no [hypotheses]"),
        ('"as_sum(goal, [product(given[0], square(x))])"', '"nowhere"', "nowhere is not defined"),
        ('"own"', '"nobody"', "'nobody' is not a work of shared.toml"),
    ],
)
def test_a_fault_in_a_record_is_named(
    old: str, new: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in RECORD
    with pytest.raises(CheckError, match=rf"chapter.toml, projection.test: .*{re.escape(fault)}"):
        recorded(RECORD.replace(old, new), tmp_path, monkeypatch)


def test_every_hypothesis_of_a_file_is_used() -> None:
    used = {said for theorem in theorems() for said in theorem.hypotheses}
    used |= {said for theorem in theorems() for mutant in theorem.mutants for said in mutant.hypotheses or ()}
    files = Path(chapters.__path__[0]).glob("*.toml")
    tables = [tomllib.loads(file.read_text(encoding="utf-8"))["hypotheses"] for file in files]
    assert {said for table in tables for said in table} <= used
