"""Packages that load a module when one of its names is asked for, so that light commands stay light.

The names of such a package stand once, as imports under ``if TYPE_CHECKING:`` in its ``__init__.py``: type checkers
read them there, and so does :func:`lazy`.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _homes(source: str) -> dict[str, tuple[str, str]]:
    """For each name that an ``__init__.py`` imports: the module it comes from, relative, and its name there."""
    return {
        alias.asname or alias.name: ("." * node.level + (node.module or ""), alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def lazy(package: str, file: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: imports a name from its home when it is first asked for. ``dir`` lists all."""
    homes = _homes(Path(file).read_text(encoding="utf-8"))
    names = vars(sys.modules[package])
    names["__dir__"] = lambda: sorted({*names, *homes})

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        value = getattr(importlib.import_module(home, package), original)
        setattr(importlib.import_module(package), name, value)
        return value

    return find
