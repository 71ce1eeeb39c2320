"""Certificates as files: the statement as the library computes it, every step, a hash that notices any change."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lngeom as lg
from lngeom.checker import digest
from lngeom.cli import main
from lngeom.kernel import summed
from lngeom.theorems import BodyError, Theorem, Vector, theorem
from proofs import find
from proofs.certificates._coq import source

RELATIONS = {"=", "!=", ">", ">="}
SIZES = {"v": 1, "s": 1, "d": 0, "q": 2, "^": 2, "S": 1, "inv": 1, "sqrt": 1, "mean": 1, "abs": 1, "/": 2, "trace": 2}


def test_the_command_writes_a_file_for_each_theorem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ["projection.idempotent", "projection.trace"]
    assert main(["prove", *ids, "--jobs", "1", "--certificates", str(tmp_path / "new")]) == 0
    assert f"2 certificates written to {tmp_path / 'new'}" in capsys.readouterr().out
    for id in ids:
        written = json.loads((tmp_path / "new" / f"{id}.json").read_text(encoding="utf-8"))
        assert written == find(id).certificates()[-1]
        assert written["sha256"] == digest(written)


def test_a_certificate_does_not_depend_on_how_a_process_hashes_strings() -> None:
    # Of this one the hypotheses are where a term occurs first.
    code = "from proofs import find\nprint(find('jacobian.lipschitz_outside').certificates()[-1]['sha256'])"
    seeds = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "01")
    assert len({subprocess.check_output([sys.executable, "-c", code], env=env) for env in seeds}) == 1


def test_a_certificate_is_well_formed(theorem: Theorem) -> None:
    *_, data = theorem.certificates()
    assert json.loads(json.dumps(data)) == data
    size = len(data["terms"])
    for k, (kind, *operands) in enumerate(data["terms"]):
        assert kind in ("+", "*", "-") or len(operands) == SIZES[kind]
        places = {"v": [], "s": [], "q": [], "^": operands[:1], "trace": operands[1:]}.get(kind, operands)
        assert all(place < k for place in places)
    formulas = [*data["statement"]["hypotheses"], data["statement"]["conclusion"]]
    for k, step in enumerate(data["steps"]):
        assert all(premise < k for premise in step["premises"])
        formulas += [*step["hypotheses"], step["conclusion"]]
    assert all(0 <= place < size and relation in RELATIONS for place, relation in formulas)
    assert len({json.dumps(node) for node in data["terms"]}) == size
    kind, *sides = data["terms"][data["statement"]["conclusion"][0]]
    same = kind == "-" and len(set(sides)) < len(sides)
    assert theorem.kind == "definition" or not same, "both sides are one expression"
    assert f"Theorem {theorem.id.replace('.', '__')} (R : rcfType) (n : nat)" in source(data)


def _changed(data: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(data))
    place = copy
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != value
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("id",), "projection.other"),
        (("format",), "lngeom certificate 1"),
        (("words", "title"), "The projector is symmetric"),
        (("words", "last_step"), "It is the only one."),
        (("terms", 0), ["v", "y"]),
        (("statement", "conclusion", 1), ">="),
        (("statement", "hypotheses"), []),
        (("steps", 1, "rule"), "square"),
        (("steps", 1, "premises"), []),
        (("steps", 0, "conclusion", 1), ">"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_the_hash_notices_a_change(path: tuple[Any, ...], value: Any) -> None:
    data: dict[str, Any] = {**find("projection.fixes_hyperplane").certificates()[-1]}
    assert digest(_changed(data, *path, value=value)) != data["sha256"]
    assert digest(data) == data["sha256"]


def test_the_statement_is_that_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = find("standardization.layer")
    assert ["mean", 0] in theorem.certificates()[0]["terms"]
    recorded = theorem.listing.statements[0].left.table.nodes
    monkeypatch.setattr(lg, "layer_norm", lambda x, *rest, eps: lg.project(x) + eps)
    assert replace(theorem).listing.statements[0].left.table.nodes != recorded


@pytest.mark.parametrize("index", [(..., 0), (..., 1)])
def test_a_component_of_a_vector_cannot_be_recorded(index: Any) -> None:
    @theorem
    def body(x: Vector):
        assert x[index] == 0

    with pytest.raises(BodyError, match="has no components"):
        _ = body.listing


def test_each_assert_has_a_certificate() -> None:
    @theorem
    def body(x: Vector):
        assert lg.project(lg.project(x)) == lg.project(x)
        assert summed(lg.project(x)) == 0

    first, second = body.certificates()
    assert (first["id"], second["id"]) == ("test_certificates.body_1", "test_certificates.body")
    assert first["terms"] != second["terms"]


def test_what_a_body_names_changes_nothing() -> None:
    @theorem
    def named(x: Vector):
        y = lg.project(x)
        _unused = lg.rms_norm(x, eps=1)
        assert summed(y) + summed(x) == summed(x)

    @theorem
    def inlined(x: Vector):
        assert summed(lg.project(x)) + summed(x) == summed(x)

    assert named.certificates()[0]["terms"] == inlined.certificates()[0]["terms"]
