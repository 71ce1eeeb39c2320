"""All theorems, in the order of the derivations."""

import functools
import importlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lngeom.apart import Ended, apart
from lngeom.errors import InputError, LngeomError
from lngeom.theorems import Theorem, theorems_of

from . import chapters

T = TypeVar("T")

CHAPTERS = (
    *("projection", "standardization", "irreversibility", "epsilon", "ellipsoid", "jacobian", "rmsnorm"),
    *("angles", "residual", "rotations", "gauge", "training", "attention"),
)


@functools.cache
def theorems() -> tuple[Theorem, ...]:
    """Every theorem, chapter by chapter.

    >>> from lngeom.proofs import theorems
    >>> theorems()[0].id
    'projection.uniform_norm'
    """
    modules = (importlib.import_module(f"{chapters.__name__}.{name}") for name in CHAPTERS)
    return tuple(theorem for module in modules for theorem in theorems_of(module))


def find(id: str) -> Theorem:
    """The theorem called `id`.

    >>> from lngeom.proofs import find
    >>> find("standardization.norm").statement
    '‖y‖ = √d at ε = 0 for x not constant'
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
        what = "a folder without certificates" if file.is_dir() else "not there"
        raise InputError(f"{file} is {what}: give a Python file that states theorems")
    with blamed_on(file):
        stated = theorems_of(file)
    if not stated:
        raise InputError(f"{file} states no theorem: `@theorem` of lngeom.theorems makes one of a function")
    return stated


def away_from(files: Iterable[object], work: Callable[[], T]) -> T:
    """What `work` returns, in a process of its own if it runs code of any files; these cannot end this process."""
    if not (named := ", ".join(map(str, files))):
        return work()
    try:
        return apart(work)
    except Ended as end:
        raise InputError(f"{named}: the code {end}; take that out of it, then run it again") from None
    except BrokenProcessPool:
        raise InputError(f"{named}: a theorem ended its process, or memory was full; run it with --jobs 1") from None


@contextmanager
def blamed_on(*files: Path) -> Iterator[None]:
    """What code of these files raises is an InputError that names the line; so is the end of the process."""
    try:
        yield
    except (LngeomError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        own = {str(file.resolve()) for file in files}
        lines = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename in own]  # fmt: skip
        if isinstance(error, SyntaxError) and not lines:
            lines = [f"{error.filename}:{error.lineno}"]
        if not lines:
            raise
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise InputError(f"{lines[-1]}: {' '.join(said.split())}; mend that line, then run it again") from None
