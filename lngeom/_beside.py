"""The packages beside the core, by a name that a project's own ``empirical`` or ``proofs`` cannot take."""

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

BESIDE = Path(__file__).resolve().parents[1]


def beside(name: str) -> ModuleType:
    """A module of ``proofs`` or ``empirical``, as ``lngeom.`` and its name where another package hides it."""
    top = name.partition(".")[0]
    found = importlib.util.find_spec(top)
    places = {Path(place).resolve() for place in (found and found.submodule_search_locations) or ()}
    places |= {place for place in [Path.cwd() / top] if place.is_dir()}  # where a command finds the code it is given
    return importlib.import_module(name if places == {BESIDE / top} else f"lngeom.{name}")
