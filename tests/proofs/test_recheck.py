"""The second checker must be able to say no, to every kind of forged certificate, and must not know the first."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lngeom.kernel import Table, steps
from proofs import find
from proofs.certificates import Refused, _recheck, certificate, digest, recheck

from . import test_false_statements as audit

PERMISSIVE = audit.environment(audit.TREES)
for _module in ("_terms", "_rules"):
    sys.modules[f"changed.{_module}"]._require = lambda condition, rule: None  # type: ignore[attr-defined]


def of(theorem: Any) -> dict[str, Any]:
    """The certificate of a theorem of a kernel that refuses nothing."""
    table = Table()
    done = steps(theorem, table)
    statement = {key: done[-1][key] for key in ("hypotheses", "conclusion")}
    head = {"format": _recheck.FORMAT, "id": "a.b", "words": {}}
    return signed(head | {"statement": statement, "steps": done, "terms": table.nodes})


def signed(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"sha256": digest(data)}


# Without its conditions a rule still makes something true of these: the one vector in a multiple is replaced.
HARMLESS = {"a multiple is replaced", "a power is replaced", "a product is replaced"}


def misused() -> dict[str, Any]:
    """Each misuse of a rule, in a kernel without side conditions."""
    made = {}
    for name in set(audit.MISUSED) - HARMLESS:
        try:
            theorem = audit.attempted("MISUSED", name, PERMISSIVE)
        except Exception:
            continue
        if type(theorem).__name__ == "Proved":
            made[name] = theorem
    return made


MISUSES = misused()


@pytest.mark.parametrize("name", sorted(MISUSES))
def test_a_misused_rule_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"step|is not a relation"):
        recheck(of(MISUSES[name]))


@pytest.mark.parametrize("relation", _recheck.RELATIONS)
def test_a_product_without_a_sign_is_refused_whatever_it_states(relation: str) -> None:
    products = [theorem for theorem in MISUSES.values() if theorem.certificate[0] == "multiply"]
    signless = [t for t in products if {factor.conclusion.relation for factor in t.certificate[2]} == {">=", "!="}]
    assert len(signless) >= 2
    for theorem in signless:
        data = of(theorem)
        for formula in (data["steps"][-1]["conclusion"], data["statement"]["conclusion"]):
            formula[1] = relation
        with pytest.raises(Refused, match="step"):
            recheck(signed(data))


def test_most_misuses_make_a_certificate() -> None:
    total = {"assume", "dimension", "inverse_total", "root_nonnegative", "square", "inverse_sign", "cut"}
    rules = {theorem.certificate[0] for theorem in MISUSES.values()}
    assert rules >= set(_recheck._PREMISES) - total
    assert len(MISUSES) > 70


@pytest.mark.parametrize("rule", audit.KEPT)
def test_each_rule_used_well_is_accepted(rule: str) -> None:
    assert recheck(of(audit.KEPT[rule][0]())) >= 1


Data = dict[str, Any]
IDS = ("projection.fixes_hyperplane", "projection.trace", "epsilon.interior", "standardization.norm")


@pytest.fixture(scope="session")
def examples() -> list[Data]:
    return [{**certificate(find(id))} for id in IDS]


FORGERIES: dict[str, Callable[[Data], Any]] = {
    "a hypothesis of the statement is dropped": lambda c: c["statement"]["hypotheses"].clear(),
    "the statement says more": lambda c: c["statement"]["conclusion"].__setitem__(1, ">"),
    "the statement is about another term": lambda c: c["statement"]["conclusion"].__setitem__(0, 0),
    "a hypothesis of a step is dropped": lambda c: c["steps"][-1]["hypotheses"].clear(),
    "a hypothesis is added": lambda c: c["steps"][-1]["hypotheses"].append([0, "!="]),
    "a step concludes another term": lambda c: c["steps"][-1]["conclusion"].__setitem__(0, 0),
    "a step concludes another relation": lambda c: c["steps"][-1]["conclusion"].__setitem__(1, "!="),
    "a step of no rule": lambda c: c["steps"][-1].update(rule="because"),
    "a step of another rule": lambda c: c["steps"][-1].update(rule="inverse_total", premises=[], arguments=[0]),
    "an internal name as a rule": lambda c: c["steps"][-1].update(rule="_class__", premises=[]),
    "a step that is its own premise": lambda c: c["steps"][-1].update(premises=[len(c["steps"]) - 1]),
    "a premise that comes later": lambda c: c["steps"][0].update(premises=[1]),
    "a premise counted from the end": lambda c: c["steps"][-1].update(premises=[-1]),
    "a premise too many": lambda c: c["steps"][-1]["premises"].append(0),
    "an argument too many": lambda c: c["steps"][-1]["arguments"].append(0),
    "True as an index": lambda c: c["steps"][-1].update(premises=[False]),
    "no step": lambda c: c["steps"].clear(),
    "the last two steps are missing": lambda c: c["steps"].__delitem__(slice(-2, None)),
    "a member of a step is missing": lambda c: c["steps"][0].pop("arguments"),
    "a member is missing": lambda c: c.pop("id"),
    "a member too many": lambda c: c.update(trusted=1),
    "another format": lambda c: c.update(format="lngeom certificate 0"),
    "a term that refers to itself": lambda c: c["terms"].append(["S", len(c["terms"])]),
    "a term of unknown kind": lambda c: c["terms"].append(["log", 0]),
    "a term of too many parts": lambda c: c["terms"].append(["inv", 0, 0]),
    "an empty term": lambda c: c["terms"].append([]),
    "a float": lambda c: c["terms"].append(["q", 0.5, 1]),
    "a denominator of 0": lambda c: c["terms"].append(["q", 1, 0]),
    "a negative power": lambda c: c["terms"].append(["^", 0, -1]),
    "a name that is none": lambda c: c["terms"].append(["v", "1/d"]),
    "a trace of what is not linear": lambda c: c["terms"].extend([["^", 0, 2], ["trace", "x", len(c["terms"])]]),
    "steps as an object": lambda c: c.update(steps={"0": c["steps"][0]}),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_certificate_is_refused(forgery: str, examples: list[Data]) -> None:
    refused = 0
    for example in examples:
        changed = copy.deepcopy(example)
        FORGERIES[forgery](changed)
        if changed != example:
            refused += 1
            with pytest.raises(Refused):
                recheck(signed(changed))
    assert refused


def test_a_change_without_a_new_hash_is_refused() -> None:
    with pytest.raises(Refused, match="hash"):
        recheck(certificate(find("projection.idempotent")) | {"id": "projection.other"})


def test_it_runs_alone(tmp_path: Path) -> None:
    """In a Python that cannot import this project, on files."""
    good: Data = {**certificate(find("epsilon.interior"))}
    bad: Data = {**certificate(find("projection.idempotent"))}
    bad["steps"][-1]["conclusion"][1] = ">"
    for name, data in (("good", good), ("bad", signed(bad))):
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    code = (
        "import runpy, sys\n"
        "for name in ('lngeom', 'proofs', 'empirical'): sys.modules[name] = None\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    command = [sys.executable, "-c", code, _recheck.__file__, str(tmp_path / "good.json"), str(tmp_path / "bad.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    first, second = done.stdout.splitlines()
    assert first.endswith(f"{len(good['steps'])} steps follow")
    assert "refused, step 0 (combine) states what does not follow" in second


def _file(terms: str, extra: str = "") -> str:
    """A signed certificate of one step, 1 > 0, with other terms beside it."""
    formula = [0, ">"]
    step = {"rule": "constant", "premises": [], "arguments": [], "hypotheses": [], "conclusion": formula}
    data = {"format": _recheck.FORMAT, "id": "a.b", "words": {}, "steps": [step]}
    nodes = [["q", 1, 1], ["v", "x"], ["s", "a"], ["+", 1, 2], *json.loads(terms)]
    data |= {"statement": {"hypotheses": [], "conclusion": formula}, "terms": nodes}
    return json.dumps(signed(data))[:-1] + extra + "}"


PRIMES = (10**29 + 319, 10**30 + 57)
HOSTILE = {
    "a member twice": (_file("[]", ', "id": "another"'), "two members 'id'"),
    "lists in lists": ("[" * 100_000 + "]" * 100_000, "too deep"),
    "a root of two large primes": (_file(f'[["q", {PRIMES[0] * PRIMES[1]}, 1], ["sqrt", 4]]'), "brought out"),
    "a power of a thousand": (_file('[["^", 1, 1000]]'), "1000 is not an integer from 0 to below 1000"),
    "a power of a sum": (
        _file('[["S", 3], ["+", 3, 4], ["inv", 3], ["+", 5, 6], ["^", 7, 999]]'),
        "products of monomials",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, message = HOSTILE[name]
    (tmp_path / "hostile.json").write_text(text, encoding="utf-8")
    assert _recheck.main([str(tmp_path / "hostile.json")]) == 1
    printed = capsys.readouterr().out
    assert "refused, " in printed
    assert message in printed
    assert printed.count("\n") == 1


def test_what_is_hostile_is_not_the_rest_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text(_file("[]"), encoding="utf-8")
    assert _recheck.main([str(tmp_path / "plain.json")]) == 0
