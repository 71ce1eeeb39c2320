"""All theorems, in the order of the derivations."""

import functools
import importlib
import pkgutil
from pathlib import Path

from lngeom.errors import InputError
from lngeom.theorems import Theorem, theorems_of

from . import chapters

CHAPTERS = (
    "projection",
    "standardization",
    "irreversibility",
    "epsilon",
    "ellipsoid",
    "jacobian",
    "rmsnorm",
    "angles",
    "residual",
    "rotations",
    "gauge",
    "training",
    "attention",
)


@functools.cache
def theorems() -> tuple[Theorem, ...]:
    """Every theorem, chapter by chapter.

    >>> from proofs import theorems
    >>> theorems()[0].id
    'projection.uniform_norm'
    """
    present = {module.name for module in pkgutil.iter_modules(chapters.__path__)}
    modules = [importlib.import_module(f"{chapters.__name__}.{name}") for name in CHAPTERS if name in present]
    return tuple(theorem for module in modules for theorem in theorems_of(module))


def find(id: str) -> Theorem:
    """The theorem called `id`.

    >>> from proofs import find
    >>> find("standardization.norm").statement
    '‖y‖ = √d at ε = 0'
    """
    for theorem in theorems():
        if theorem.id == id:
            return theorem
    chapter = id.partition(".")[0]
    near = [theorem.id for theorem in theorems() if theorem.chapter == chapter]
    known = ", ".join(near) if near else "chapters are " + ", ".join(CHAPTERS)
    raise InputError(f"{id!r} is not a theorem: {known}; `lngeom prove` lists all")


def stated_in(file: Path) -> list[Theorem]:
    """The theorems that a Python file states."""
    if not file.is_file():
        raise InputError(f"{file} is not there: give a Python file that states theorems")
    stated = theorems_of(file)
    if not stated:
        raise InputError(f"{file} states no theorem: `@theorem` of lngeom.theorems makes one of a function")
    return stated
