"""The claims, read from their records: a TOML file of ``texts/`` for each text, a table for each claim; and sources."""

import functools
import importlib
import pkgutil
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from lngeom.errors import InputError
from lngeom.theorems import CheckError
from lngeom.verdicts import Verdict

from . import counterexamples
from .case import Counterexample, of_wrong
from .claim import Claim, Document

T = TypeVar("T")

TEXTS = (
    *("summary", "gupta", "blog", "riechers", "digest", "riechers-paper", "flashnorm", "brody", "ni", "chun"),
    *("shirodkar", "rotating", "rocm", "replacements", "depth"),
)
"""Names of the files, in the order of the numbers that the ids of version 0.2.0 begin with."""

_FIELDS = {field.name for field in fields(Claim)}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("texts").joinpath(f"{name}.toml").read_text("utf-8"))


@functools.cache
def sources() -> dict[str, str]:
    """The dated sources by the keys that records cite."""
    return _read("sources")


@functools.cache
def examples() -> dict[str, Counterexample]:
    """The counterexamples by name."""
    modules = pkgutil.iter_modules(counterexamples.__path__)
    loaded = (importlib.import_module(f"{counterexamples.__name__}.{module.name}") for module in modules)
    members = (member for module in loaded for member in vars(module).values())
    return {member.name: member for member in members if isinstance(member, Counterexample)}


def document(name: str) -> Document:
    """The title and the reference of a text."""
    return Document(name, **_read(name)["document"])


def read_claims(name: str) -> tuple[Claim, ...]:
    """The claims of a text.

    Raises:
        CheckError: If a record has a field that claims do not have, or names what does not exist.
    """
    return tuple(_claim(name, record | {"id": f"{name}.{k}"}) for k, record in _read(name).items() if k != "document")


def _claim(name: str, record: dict[str, Any]) -> Claim:
    where = f"{name}.toml, {record['id']}"
    if unknown := sorted(set(record) - _FIELDS):
        raise CheckError(f"{where}: {', '.join(unknown)} is not a field; fields are {', '.join(sorted(_FIELDS))}")

    def known(key: str, all: dict[str, T]) -> tuple[T, ...]:
        named = record.get(key, [])
        named = [named] if isinstance(named, str) else named
        if missing := [each for each in named if each not in all]:
            raise CheckError(f"{where}: {', '.join(missing)} is not known as {key}: add it or correct the name")
        return tuple(all[each] for each in named)

    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
    for key in ("counterexample", "example"):
        wrong = "/" in record.get(key, "")
        values[key] = of_wrong(record[key]) if wrong else next(iter(known(key, examples())), None)
    values["citations"] = known("citations", sources())
    return Claim(**values)


DOCUMENTS: tuple[Document, ...] = tuple(map(document, TEXTS))
"""The documents, in the order of their texts."""


@functools.cache
def claims() -> tuple[Claim, ...]:
    """Every claim of every document."""
    return tuple(claim for name in TEXTS for claim in read_claims(name))


def document_of(claim: Claim) -> Document:
    """The document that a claim is from, by the name before its number."""
    return DOCUMENTS[TEXTS.index(claim.id.rpartition(".")[0])]


def renamed(id: str) -> str:
    """The id, or the name of a document, of one in the form of version 0.2.0."""
    text, dash, number = id.partition("-")
    return TEXTS[int(text)] + dash.replace("-", ".") + number if text in map(str, range(len(TEXTS))) else id


def find(id: str) -> Claim:
    """The claim called `id`."""
    for claim in claims():
        if claim.id == renamed(id):
            return claim
    known = ", ".join(f"{of[0].id} to {of[-1].id}" for of in (select(document=d.key) for d in DOCUMENTS))
    raise InputError(f"{id!r} is not a claim: ids are {known}; `lngeom claims` lists them, `lngeom prove` the theorems")


def select(*, document: str | None = None, verdict: Verdict | None = None) -> list[Claim]:
    """The claims of a document, with a verdict, or both; none if the document or verdict is not known.

    >>> from lngeom.proofs.claims import select
    >>> [claim.id for claim in select(document="riechers", verdict="false")][:2]
    ['riechers.2', 'riechers.3']
    """
    return [c for c in claims() if document in (None, document_of(c).key) and verdict in (None, c.verdict)]
