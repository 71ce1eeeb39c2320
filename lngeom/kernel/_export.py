"""Certificates as data: the statement as recorded, and each step of the proof with the sequent it proves."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypedDict

from ..checker import FORMAT, Refused, digest, recheck
from ._recorded import Node, Recorded, Table
from ._rules import Formula, Proved
from ._terms import ProofError, Term
from ._text import numbered

Place = list[Any]
"""The place of a term in a table, and its relation to 0."""


class Sequent(TypedDict):
    """The statement, or what a step proves."""

    hypotheses: list[Place]
    conclusion: Place


class Step(Sequent):
    """One sequent of the proof, and the rule, earlier steps and arguments from which it follows."""

    rule: str
    premises: list[int]
    arguments: list[Any]


class Certificate(TypedDict):
    """A proof as plain data: lists, strings and integers."""

    format: str
    id: str
    words: dict[str, str]
    statement: Sequent
    steps: list[Step]
    terms: list[Node]
    sha256: str


_GIVEN = ("assume", "constant", "weaken")
"""Rules whose arguments the concluded formula repeats."""
_CONCLUDED = ("cancel", "definite", "transport")


def certificate(
    id: str,
    proved: Proved,
    statement: tuple[Sequence[Formula], Formula],
    table: Table,
    words: Mapping[str, str] = MappingProxyType({}),
) -> Certificate:
    """A proof that the checker accepts.

    `statement` is the hypotheses and the conclusion, on recorded terms or on those of the kernel; what they are made
    of stands first in the `table`. `words` is what readers are told of the theorem.

    Raises:
        ProofError: If the checker refuses it.
    """
    hypotheses, conclusion = statement
    stated = Sequent(
        hypotheses=[place(hypothesis, table) for hypothesis in hypotheses], conclusion=place(conclusion, table)
    )
    data = {"format": FORMAT, "id": id, "words": dict(words), "statement": stated, "steps": steps(proved, table)}
    data |= {"terms": table.nodes}
    data |= {"sha256": digest(data)}
    try:
        recheck(data)
    except Refused as error:
        raise ProofError(f"the checker refuses the proof of {id}: {error}") from error
    return Certificate(**data)


def steps(proved: Proved, table: Table) -> list[Step]:
    """Every premise before its use, and what is proved twice once."""
    done: list[Step] = []
    for step, premises in numbered(proved):
        rule, arguments = step.rule, step.arguments
        # In an order of their own: what is recorded first must not depend on how a process hashes strings.
        assumed = sorted(step.hypotheses, key=repr)
        done.append(
            Step(
                rule=rule,
                premises=premises,
                arguments=_arguments(rule, arguments, table),
                hypotheses=sorted(place(hypothesis, table) for hypothesis in assumed),
                conclusion=place(step.conclusion, table),
            )
        )
    return done


def place(formula: Formula, table: Table) -> Place:
    """Where the term of a formula is in the table, a normal form as a sum of products; and its relation."""
    value = formula.term
    if isinstance(value, Recorded):
        return [table.taken(value.table, value.place), formula.relation]
    return [_term(value, table) if isinstance(value, Term) else table.number(value), formula.relation]


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
