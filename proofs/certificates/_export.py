"""Certificates as data: the statement as traced, and each step of the proof with the sequent it proves."""

import hashlib
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from lngeom import kernel
from lngeom.kernel import Formula
from lngeom.theorems import Theorem

from ._tracing import Table, traced

FORMAT = "lngeom certificate 1"

_GIVEN = ("assume", "constant", "weaken")
"""Rules whose arguments the concluded formula repeats."""
_CONCLUDED = ("cancel", "definite", "transport")


def certificates(theorem: Theorem, proved: list[kernel.Proved] | None = None) -> list[dict[str, Any]]:
    """The proof of each assert of a theorem as plain data; `proved`, if given, saves proving it again.

    The last one has the id of the theorem, those before it a number more.
    """
    proved = proved or theorem.prove()
    last = len(proved) - 1
    return [
        _certificate(theorem, k, one, theorem.id + (f"_{k + 1}" if k < last else "")) for k, one in enumerate(proved)
    ]


def certificate(theorem: Theorem) -> dict[str, Any]:
    """The proof of a theorem of one assert as plain data: lists, strings and integers.

    >>> from proofs import find
    >>> from proofs.certificates import certificate
    >>> data = certificate(find("projection.fixes_hyperplane"))
    >>> data["terms"][:3], [step["rule"] for step in data["steps"]]
    ([['v', 'x'], ['q', 1, 1], ['*', 1, 0]], ['assume', 'combine'])
    """
    return certificates(theorem)[-1]


def _certificate(theorem: Theorem, k: int, proved: kernel.Proved, id: str) -> dict[str, Any]:
    table = Table()
    hypotheses, conclusion = traced(theorem, table, k)
    data = {
        "format": FORMAT,
        "id": id,
        "statement": {"hypotheses": hypotheses, "conclusion": conclusion},
        "steps": _steps(proved, table),
        "terms": table.nodes,
    }
    return data | {"sha256": digest(data), "title": theorem.title}


def digest(data: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a certificate, without its title and without a hash that it states.

    >>> from proofs.certificates import digest
    >>> digest({"terms": []}) == digest({"terms": [], "title": "any", "sha256": "any"})
    True
    """
    said = {key: value for key, value in data.items() if key not in ("sha256", "title")}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write(theorems: Iterable[Theorem], folder: Path) -> list[dict[str, Any]]:
    """Write ``ID.json`` for each assert of each theorem; returns the certificates.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from proofs import find
    >>> from proofs.certificates import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write([find("projection.idempotent")], Path(folder))
    ...     [file.name for file in Path(folder).iterdir()]
    ['projection.idempotent.json']
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = [data for theorem in theorems for data in certificates(theorem)]
    for data in found:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{data['id']}.json").write_text(text + "\n", encoding="utf-8")
    return found


def _steps(proved: kernel.Proved, table: Table) -> list[dict[str, Any]]:
    """Every premise before its use, and what is proved twice once."""
    steps: list[dict[str, Any]] = []
    numbers: dict[tuple[Any, ...], int] = {}
    visited: dict[int, int] = {}

    def visit(step: kernel.Proved) -> int:
        if id(step) not in visited:
            said = (step.conclusion, step.hypotheses)
            if said not in numbers:
                rule, arguments, used = step.certificate
                premises = [visit(premise) for premise in used]
                steps.append(
                    {
                        "rule": rule,
                        "premises": premises,
                        "arguments": _arguments(rule, arguments, table),
                        "hypotheses": sorted(_formula(one, table) for one in step.hypotheses),
                        "conclusion": _formula(step.conclusion, table),
                    }
                )
                numbers[said] = len(steps) - 1
            visited[id(step)] = numbers[said]
        return visited[id(step)]

    visit(proved)
    return steps


def _formula(formula: Formula, table: Table) -> list[Any]:
    return [_term(formula.term, table), formula.relation]


def _arguments(rule: str, arguments: tuple[Any, ...], table: Table) -> list[Any]:
    """What the conclusion does not say."""
    if rule in (*_GIVEN, *_CONCLUDED):
        return []
    places = [one if isinstance(one, str) or one is None else _term(one, table) for one in arguments]
    if rule == "combine":
        return [[a] if b is None else [a, b] for a, b in zip(places[1::2], places[2::2], strict=True)]
    if rule == "instantiate":
        return [list(pair) for pair in zip(places[::2], places[1::2], strict=True)]
    return places


def _term(value: Iterable[Any], table: Table) -> int:
    """A normal form as a sum of products."""
    parts = []
    for monomial, coefficient in value:
        c = coefficient if isinstance(coefficient, Fraction) else Fraction(*coefficient)
        factors = [] if c == 1 and monomial else [table.number(c)]
        parts.append(_joined("*", factors + _factors(monomial, table), table))
    return _joined("+", parts, table) if parts else table.number(0)


def _factors(monomial: tuple[Any, ...], table: Table) -> list[int]:
    factors = []
    for atom, exponent in monomial:
        kind = atom[0]
        if kind == "S":
            place = table.place("S", _joined("*", _factors(atom[1], table), table))
        elif kind in ("inv", "sqrt"):
            place = table.place(kind, _term(atom[1], table))
        else:
            place = table.place(*atom)
        if exponent < 0:  # of d alone
            place = table.place("inv", place)
        factors.append(place if abs(exponent) == 1 else table.place("^", place, abs(exponent)))
    return factors


def _joined(kind: str, places: list[int], table: Table) -> int:
    return places[0] if len(places) == 1 else table.place(kind, *places)
