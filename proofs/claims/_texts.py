"""Reading the records: each text is a TOML file of ``texts/``, beside the sources that the records cite."""

import functools
import importlib
import pkgutil
import tomllib
from dataclasses import fields
from importlib import resources
from typing import Any

from .._theorem import CheckError
from . import counterexamples
from ._case import Counterexample
from ._claim import Citation, Claim, Column, Document

TEXTS = (
    "summary",
    "gupta",
    "blog",
    "riechers",
    "digest",
    "riechers-paper",
    "flashnorm",
    "brody",
    "ni",
    "chun",
    "shirodkar",
    "rotating",
    "rocm",
    "replacements",
)
"""Names of the files, in the order of the first number of the ids."""

_FIELDS = {field.name for field in fields(Claim)}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("proofs.claims").joinpath("texts", f"{name}.toml").read_text("utf-8"))


@functools.cache
def sources() -> dict[str, Citation]:
    """The dated sources by the keys that records cite."""
    return {key: Citation(**record) for key, record in _read("sources").items()}


@functools.cache
def examples() -> dict[str, Counterexample]:
    """The counterexamples by name."""
    modules = pkgutil.iter_modules(counterexamples.__path__)
    found = [importlib.import_module(f"{counterexamples.__name__}.{module.name}") for module in modules]
    members = (member for module in found for member in vars(module).values())
    return {member.name: member for member in members if isinstance(member, Counterexample)}


def document(name: str) -> Document:
    """The title and the reference of a text."""
    return Document(name, **_read(name)["document"])


def read_claims(name: str) -> tuple[Claim, ...]:
    """The claims of a text.

    Raises:
        CheckError: If a record has a field that claims do not have, or names what does not exist.
    """
    return tuple(_claim(name, record) for record in _read(name)["claim"])


def _claim(name: str, record: dict[str, Any]) -> Claim:
    id = record.get("id", "a claim without id")
    unknown = sorted(set(record) - _FIELDS)
    if unknown:
        msg = f"{name}.toml, {id}: {', '.join(unknown)} is not a field; fields are {', '.join(sorted(_FIELDS))}"
        raise CheckError(msg)
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
    for key, known in (("counterexample", examples()), ("example", examples()), ("citations", sources())):
        named = [record[key]] if isinstance(record.get(key), str) else record.get(key, [])
        missing = [one for one in named if one not in known]
        if missing:
            msg = f"{name}.toml, {id}: {', '.join(missing)} is not known as {key}: add it or correct the name"
            raise CheckError(msg)
    for key in ("counterexample", "example"):
        if key in values:
            values[key] = examples()[values[key]]
    values["citations"] = tuple(sources()[key] for key in values.get("citations", ()))
    values["columns"] = tuple(Column(*column.split(":", 1)) for column in values.get("columns", ()))
    return Claim(**values)
