"""Theorems from their records: the TOML file beside the module that holds their proofs and samplers.

What a record computes with is written as Python expressions of the theorem's vectors and scalars, of ``lg`` (the
library), of the words of ``lngeom.kernel``, and of what the module beside it defines. A claim or a hypothesis has one
of ``==  !=  >  >=`` between its sides. A hypothesis is written once, under its readable form, and named by it.
"""

import ast
import functools
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import lngeom as lg
from lngeom import kernel

from . import _shared, _steps
from ._theorem import Build, CheckError, Mutant, Source, Theorem
from .checks import draw

_RELATIONS = {ast.Eq: "equal", ast.NotEq: "unequal", ast.Gt: "greater", ast.GtE: "at_least"}
_KEYS = {field.name for field in fields(Theorem)} | {"redundant"}
_SAMPLER = ["random", "d"]
_SHARED = Path(__file__).parent / "chapters" / "shared.toml"


@functools.cache
def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _function(names: Mapping[str, Any], parameters: list[str], body: ast.expr, place: str) -> Callable[..., Any]:
    arguments = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
    whole = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    # Records are part of the package, like the modules beside them: what they say may run.
    return eval(compile(whole, place, "eval"), dict(names))


class _Reader:
    """Reads one record: what its expressions may name, and where a fault in them is."""

    def __init__(self, place: str, names: Mapping[str, Any], hypotheses: Mapping[str, str], known: list[str]) -> None:
        self.place = place
        self.names = names
        self.said = hypotheses
        self.known = known

    def fault(self, what: str) -> CheckError:
        return CheckError(f"{self.place}: {what}")

    def parse(self, text: str) -> tuple[ast.expr, list[str]]:
        """The expression, and those of the known names that it mentions."""
        try:
            body = ast.parse(f"({text})", mode="eval").body
        except SyntaxError as error:
            raise self.fault(f"{text!r} is not an expression: {error.msg}") from error
        mentioned = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        return body, [name for name in self.known if name in mentioned]

    def formula(self, text: str) -> Build:
        """A claim or a hypothesis, as a function of the vectors and scalars that it mentions."""
        body, parameters = self.parse(text)
        if not isinstance(body, ast.Compare) or len(body.ops) != 1 or type(body.ops[0]) not in _RELATIONS:
            raise self.fault(f"{text!r} has not one of == != > >= between two sides")
        relation = ast.Name(_RELATIONS[type(body.ops[0])], ast.Load())
        sides = ast.Call(relation, [body.left, *body.comparators], [])
        return _function(self.names, parameters, sides, self.place)

    def function(self, text: str) -> Callable[..., Any]:
        """A part of a proof: the name of a function, or an expression of the goal and what is given as well."""
        body, parameters = self.parse(text)
        return self.named(body) or _function(self.names, parameters, body, self.place)

    def sampler(self, text: str) -> Callable[..., Any]:
        """The name of a sampler, or an expression of ``random`` and ``d``."""
        body, _ = self.parse(text)
        return self.named(body) or _function(self.names, _SAMPLER, body, self.place)

    def named(self, body: ast.expr) -> Callable[..., Any] | None:
        if not isinstance(body, ast.Name):
            return None
        if body.id not in self.names:
            raise self.fault(f"{body.id} is not defined")
        return self.names[body.id]

    def hypotheses(self, names: list[str]) -> dict[str, Build]:
        missing = [said for said in names if said not in self.said]
        if missing:
            raise self.fault(f"{missing[0]!r} stands under no [hypotheses]")
        return {said: self.formula(self.said[said]) for said in names}

    def mutant(self, title: str, record: str | dict[str, Any]) -> Mutant:
        wrong: dict[str, Any] = {"claim": record} if isinstance(record, str) else record
        return Mutant(
            title,
            self.formula(wrong["claim"]) if "claim" in wrong else None,
            self.hypotheses(wrong["hypotheses"]) if "hypotheses" in wrong else None,
            self.sampler(wrong["model"]) if "model" in wrong else None,
        )


def read(module: str) -> tuple[Theorem, ...]:
    """The theorems whose records stand beside a module of :mod:`proofs.chapters`.

    Raises:
        CheckError: If a record has a field that theorems do not have, or an expression that cannot be read.
    """
    own = sys.modules[module]
    file = Path(str(own.__file__)).with_suffix(".toml")
    names = {name: getattr(kernel, name) for name in kernel.__all__} | {"lg": lg, "Fraction": Fraction, "draw": draw}
    names |= vars(_steps) | vars(_shared) | vars(own)
    said = _read(_SHARED)["hypotheses"] | _read(file).get("hypotheses", {})
    return tuple(_theorem(file.name, record, names, said) for record in _read(file)["theorem"])


def _theorem(file: str, record: dict[str, Any], names: Mapping[str, Any], said: Mapping[str, str]) -> Theorem:
    known = f"{record.get('vectors', 'x')} {record.get('scalars', '')} goal given".split()
    reader = _Reader(f"{file}, {record.get('id', 'a theorem without id')}", names, said, known)
    unknown = sorted(set(record) - _KEYS)
    if unknown:
        raise reader.fault(f"{', '.join(unknown)} is not a field; fields are {', '.join(sorted(_KEYS))}")
    values = dict(record)
    work, place, says = values.pop("source")
    works = _read(_SHARED)["works"]
    if work not in works:
        raise reader.fault(f"{work!r} is not a work of {_SHARED.name}")
    without = {one: reader.sampler(text) for one, text in values.pop("without", {}).items()}
    mutants = (reader.mutant(title, one) for title, one in values.pop("mutants", {}).items())
    parts = {part: reader.function(values.pop(part)) for part in ("lemmas", "remainder", "proof") if part in values}
    return Theorem(
        source=Source(works[work], place, says),
        hypotheses=reader.hypotheses(values.pop("hypotheses", [])),
        claim=reader.formula(values.pop("claim")),
        model=reader.sampler(values.pop("model")) if "model" in values else None,
        without=values.pop("redundant", {}) | without,
        mutants=tuple(mutants),
        cites=tuple(values.pop("cites", ())),
        **parts,
        **values,
    )
