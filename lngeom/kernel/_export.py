"""Certificates as data: the statement as recorded, and each step of the proof with the sequent it proves."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ._recorded import Table
from ._rules import Formula, Proved
from ._text import numbered

Record = dict[str, Any]
"""A certificate, or a step of one, as a JSON object."""

Place = list[int | str]
"""The place of a term in a table, and its relation to 0."""

FORMAT = "lngeom certificate 2"

_GIVEN = ("assume", "constant", "weaken")
"""Rules whose arguments the concluded formula repeats."""
_CONCLUDED = ("cancel", "definite", "transport")


def certified(
    id: str,
    proved: Proved,
    statement: tuple[list[Place], Place],
    table: Table,
    words: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """A proof as plain data: lists, strings and integers.

    `statement` is the hypotheses and the conclusion as they were recorded in `table`, each the place of a term and a
    relation; `words` is what readers are told of it.
    """
    hypotheses, conclusion = statement
    data = {
        "format": FORMAT,
        "id": id,
        "words": dict(words),
        "statement": {"hypotheses": hypotheses, "conclusion": conclusion},
        "steps": steps(proved, table),
        "terms": table.nodes,
    }
    return data | {"sha256": digest(data)}


def digest(data: Mapping[str, object]) -> str:
    """SHA-256 of the canonical JSON of a certificate or a record, without a hash that it states."""
    hashed = {key: value for key, value in data.items() if key != "sha256"}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def steps(proved: Proved, table: Table) -> list[Record]:
    """Every premise before its use, and what is proved twice once."""
    done: list[Record] = []
    for step, premises in numbered(proved):
        rule, arguments, _ = step.certificate
        # In an order of their own: what is recorded first must not depend on how a process hashes strings.
        assumed = sorted(step.hypotheses, key=repr)
        done.append(
            {
                "rule": rule,
                "premises": premises,
                "arguments": _arguments(rule, arguments, table),
                "hypotheses": sorted(recorded_formula(hypothesis, table) for hypothesis in assumed),
                "conclusion": recorded_formula(step.conclusion, table),
            }
        )
    return done


def recorded_formula(formula: Formula, table: Table) -> Place:
    """A formula in normal form, recorded: the place of its term, and its relation."""
    return [_term(formula.term, table), formula.relation]


def _arguments(rule: str, arguments: tuple, table: Table) -> list:
    """The arguments that the conclusion does not contain already."""
    if rule in (*_GIVEN, *_CONCLUDED):
        return []
    places = [a if isinstance(a, str) or a is None else _term(a, table) for a in arguments]
    if rule == "combine":
        return [[a] if b is None else [a, b] for a, b in zip(places[1::2], places[2::2], strict=True)]
    if rule == "instantiate":
        return [list(pair) for pair in zip(places[::2], places[1::2], strict=True)]
    return places


def _term(value: Iterable[tuple], table: Table) -> int:
    """A normal form as a sum of products."""
    parts = []
    for monomial, coefficient in value:
        c = coefficient if isinstance(coefficient, Fraction) else Fraction(*coefficient)
        factors = [] if c == 1 and monomial else [table.number(c)]
        parts.append(_joined("*", factors + _factors(monomial, table), table))
    return _joined("+", parts, table) if parts else table.number(0)


def _factors(monomial: tuple, table: Table) -> list[int]:
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
