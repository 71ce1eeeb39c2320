import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lngeom import checker
from lngeom.checker import digest
from lngeom.cli import main
from lngeom.proofs import certificates, find

FORGED = '[:: ]. Axiom cheat : forall P : Prop, P. Redirect "written" Print nat. Definition accepts := true'
Run = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def verify(tmp_path, monkeypatch, capsys) -> Run:
    """`lngeom verify` on a file with this text, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(text: str) -> tuple[int, str, str]:
        Path("given.json").write_text(text, encoding="utf-8", errors="surrogatepass")
        code, (out, error) = main(["verify", "given.json"]), capsys.readouterr()
        return code, out, error

    return run


@pytest.fixture
def replays(monkeypatch) -> list[Any]:
    """What would be given to Coq, which is not asked."""
    given: list[Any] = []
    monkeypatch.setattr(certificates, "build_checker", lambda folder: None)
    monkeypatch.setattr(certificates, "audit", lambda ids, folder: None)
    monkeypatch.setattr(certificates, "replay", lambda records, folder: given.extend(records))
    return given


def signed(data: dict[str, Any]) -> str:
    """The certificate with its hash, as anybody can compute it."""
    return json.dumps(data | {"sha256": digest(data)})


def forged(change: Callable[[Any], object]) -> str:
    """A certificate that somebody changed and signed."""
    data = json.loads(json.dumps(find("projection.fixes_hyperplane").certificates()[-1]))
    change(data)
    return signed(data)


def square(*nodes: list) -> str:
    """The certificate that the square of the last of these nodes is not negative."""
    k = len(nodes)
    step = {"rule": "square", "premises": [], "arguments": [k - 1], "hypotheses": [], "conclusion": [k, ">="]}
    head = {"format": checker.FORMAT, "id": "a.b", "words": {}, "terms": [*nodes, ["^", k - 1, 2]], "steps": [step]}
    return signed(head | {"statement": {"hypotheses": [], "conclusion": [k, ">="]}})


X = ["v", "x"]
MALFORMED = {
    "no certificate": "[]",
    "bytes that are no text": "\udc80",
    "an id of Coq": forged(lambda c: c.update(id=FORGED)),
    "a number of Coq": forged(lambda c: c["terms"].append(["q", FORGED, 1])),
    "a word of Coq": forged(lambda c: c["words"].update({FORGED: ""})),
    "a word that moves the cursor": forged(lambda c: c["words"].update(title="\x1b[2J")),
    "half of each term in half of the last": square(X, *(["+", k, k] for k in range(60))),
    "a tower of roots": square(X, *(["sqrt", k] for k in range(200))),
    "a number that Coq cannot count to": square(X, ["q", 1, 10**9], ["*", 0, 1]),
    "another hash": square(X).replace('"sha256": "', '"sha256": "0'),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_no_certificate_is_bad_input(kind: str, verify: Run, replays: list[Any]) -> None:
    code, out, error = verify(MALFORMED[kind])
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "--certificate" in error
    assert [file.name for file in Path().iterdir()] == ["given.json"]


def test_a_false_proof_is_a_fault(verify: Run, replays: list[Any]) -> None:
    code, out, error = verify(forged(lambda c: c["statement"].update(hypotheses=[])))
    assert (code, out) == (1, "")
    assert error.startswith("FAULT: projection.fixes_hyperplane")
