"""Certificates as data: the statement as recorded, and each step of the proof with the sequent it proves."""

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypedDict

from ..checker import FORMAT, Refused, digest, recheck
from .recorded import Node, Recorded, Table
from .rules import Formula, Proved
from .terms import ProofError

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


class ProofCertificate(TypedDict):
    """A proof as plain data: lists, strings and integers."""

    format: str
    id: str
    words: dict[str, str]
    statement: Sequent
    steps: list[Step]
    terms: list[Node]
    sha256: str


_CONCLUDED = ("assume", "cancel", "constant", "definite", "transport", "weaken")
"""Rules whose arguments the concluded formula repeats."""


def certificate(
    id: str,
    proved: Proved,
    statement: tuple[Sequence[Formula], Formula],
    table: Table,
    words: Mapping[str, str] = MappingProxyType({}),
) -> ProofCertificate:
    """A proof that the checker accepts.

    `statement` is the hypotheses and the conclusion, on recorded terms or terms of the prover; their parts come first
    in the `table`. `words` describes the theorem to readers.

    Raises:
        ProofError: If the checker refuses it.
    """
    hypotheses, conclusion = statement
    stated = Sequent(hypotheses=[place(h, table) for h in hypotheses], conclusion=place(conclusion, table))
    data = {"format": FORMAT, "id": id, "words": dict(words), "statement": stated, "steps": steps(proved, table)}
    data |= {"terms": table.nodes}
    data |= {"sha256": digest(data)}
    try:
        recheck(data)
    except Refused as error:
        raise ProofError(f"the checker refuses the proof of {id}: {error}") from error
    return ProofCertificate(**data)


def steps(proved: Proved, table: Table) -> list[Step]:
    """The steps of a proof: every premise before its use, none twice."""
    done: list[Step] = []
    places: dict[tuple, int] = {}

    @functools.cache
    def visited(step: Proved) -> int:
        statement = (step.conclusion, step.hypotheses)
        if statement not in places:
            premises = [visited(premise) for premise in step.premises]
            places[statement] = len(done)
            # Sorted: the order of records must not depend on how a process hashes strings.
            assumed = sorted(step.hypotheses, key=repr)
            done.append(
                Step(
                    rule=step.rule,
                    premises=premises,
                    arguments=_arguments(step.rule, step.arguments, table),
                    hypotheses=sorted(place(hypothesis, table) for hypothesis in assumed),
                    conclusion=place(step.conclusion, table),
                )
            )
        return places[statement]

    visited(proved)
    return done


def place(formula: Formula, table: Table) -> Place:
    """Where the term of a formula is in the table, a normal form as a sum of products; and its relation."""
    value = formula.term
    if isinstance(value, Recorded):
        return [table.taken(value.table, value.place), formula.relation]
    return [table.written(value.pairs), formula.relation]


def _arguments(rule: str, arguments: tuple, table: Table) -> list:
    """The arguments that the conclusion does not contain already."""
    if rule in _CONCLUDED:
        return []
    places = [a if isinstance(a, str) or a is None else table.written(a.pairs) for a in arguments]
    if rule == "combine":
        return [[a] if b is None else [a, b] for a, b in zip(places[1::2], places[2::2], strict=True)]
    if rule == "instantiate":
        return [list(pair) for pair in zip(places[::2], places[1::2], strict=True)]
    return places
