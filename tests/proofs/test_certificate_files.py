import copy
import functools
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lngeom import checker
from lngeom.checker import digest
from lngeom.cli import main
from lngeom.proofs import certificates, find
from lngeom.proofs.certificates.coq_text import source

IDS = ("projection.fixes_hyperplane", "projection.trace", "irreversibility.lines", "epsilon.interior")
FORGED = '[:: ]. Axiom cheat : forall P : Prop, P. Redirect "written" Print nat. Definition accepts := true'
JUNK = (None, True, False, -1, 0, 1, 3, 10**9, 10**4000, 0.5, float("nan"), "", "x", "x'", "_", FORGED, "\ud800", "é",
        "\x1b[2J", "=", ">", "v", "+", "trace", "combine", [], [0], [[0]], ["v", FORGED], ["q", FORGED, 1],
        ["^", 0, FORGED], {}, {"rule": "assume"})  # fmt: skip
EDITS = 200
SENTENCES = {"Definition", "Lemma", "Proof", "vm_cast_no_check", "Qed", "Theorem", "cbv", "Qed."}
"""How each sentence begins that Coq is given."""

Run = Callable[[str], tuple[int, str, str]]


@functools.cache
def written(id: str) -> str:
    return json.dumps(find(id).certificates()[-1])


def certificate(id: str) -> Any:
    return json.loads(written(id))


def signed(data: Any) -> Any:
    """The same with its hash, as anybody can compute it."""
    try:
        return data | {"sha256": digest(data)}
    except (TypeError, UnicodeEncodeError):
        return data


def places(data: Any, *path: object) -> Iterator[tuple]:
    yield path
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from places(value, *path, key)


def edited(rng: random.Random) -> str:
    """The text of a certificate after one edit, in most of them with its right hash."""
    data = certificate(rng.choice(IDS))
    if rng.random() < 0.1:
        text = json.dumps(data)
        k = rng.randrange(len(text))
        return rng.choice([text[:k], text[:k] + rng.choice('[]{},"0\x00') + text[k:], text[: k // 2] + text[k:]])
    *path, last = rng.choice([place for place in places(data) if place])
    inner = data
    for key in path:
        inner = inner[key]
    if rng.random() < 0.2:
        del inner[last]
    elif rng.random() < 0.2 and isinstance(inner, list):
        inner.insert(last, copy.deepcopy(rng.choice(inner)))
    else:
        inner[last] = rng.choice(JUNK)
    data = signed(data) if rng.random() < 0.8 and isinstance(data, dict) else data
    return json.dumps(rng.choice([data, [data], [certificate(IDS[0]), data]]))


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


def test_an_edited_file_is_told_in_one_line_or_proves_what_it_states(verify: Run, replays: list[Any]) -> None:
    rng, codes = random.Random(0), []
    for _ in range(EDITS):
        replays.clear()
        code, out, error = verify(edited(rng))
        codes.append(code)
        assert (code == 0) == bool(replays) == bool(out)
        assert error.count("\n") == (code != 0)
        assert len(error) < 500
        for data in replays:
            assert checker.recheck(data)
            assert data["id"] in out
            sentences = re.split(r"\.\s+", source(data).strip())
            assert {sentence.partition(" ")[0] for sentence in sentences} == SENTENCES
    assert min(codes.count(code) for code in (0, 1, 2)) >= 5


def forged(change: Callable[[Any], object]) -> str:
    """A certificate that somebody changed and signed."""
    data = certificate("projection.fixes_hyperplane")
    change(data)
    return json.dumps(signed(data))


def square(*nodes: list) -> str:
    """The certificate that the square of the last of these nodes is not negative."""
    k = len(nodes)
    step = {"rule": "square", "premises": [], "arguments": [k - 1], "hypotheses": [], "conclusion": [k, ">="]}
    head = {"format": checker.FORMAT, "id": "a.b", "words": {}, "terms": [*nodes, ["^", k - 1, 2]], "steps": [step]}
    return json.dumps(signed(head | {"statement": {"hypotheses": [], "conclusion": [k, ">="]}}))


X = ["v", "x"]
MALFORMED = {
    "nothing": "",
    "no certificate": "[]",
    "bytes that are no text": "\udc80",
    "an id of Coq": forged(lambda c: c.update(id=FORGED)),
    "a name of Coq": forged(lambda c: c["terms"].__setitem__(0, ["v", FORGED])),
    "a long name": forged(lambda c: c["terms"].__setitem__(0, ["v", "x" * 101])),
    "a number of Coq": forged(lambda c: c["terms"].append(["q", FORGED, 1])),
    "a word of Coq": forged(lambda c: c["words"].update({FORGED: ""})),
    "a word that moves the cursor": forged(lambda c: c["words"].update(title="\x1b[2J")),
    "half a character": forged(lambda c: c["words"].update(title="\ud800")),
    "half of each term in half of the last": square(X, *(["+", k, k] for k in range(60))),
    "a tower of roots": square(X, *(["sqrt", k] for k in range(200))),
    "a number that Coq cannot count to": square(X, ["q", 1, 10**9], ["*", 0, 1]),
    "a number below 0 that Coq cannot count to": square(X, ["q", -(10**9), 1], ["*", 0, 1]),
    "another hash": json.dumps(certificate(IDS[0]) | {"sha256": "0" * 64}),
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
