"""Packages that load a module when one of its names is asked for, so that light commands stay light.

The names of such a package stand once, as imports under ``if TYPE_CHECKING:`` in its ``__init__.py``: type checkers
read them there, and so does :func:`lazy`. Those under ``if ROOMS:`` are for other rooms alone; all others are public.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOMS = False
"""Never true: what it keeps from running is read."""


def _imports(source: str) -> list[tuple[str, ast.alias, bool]]:
    """Each name that an ``__init__.py`` imports, after the module it comes from, relative; and whether it is public."""
    return [
        ("." * node.level + (node.module or ""), alias, ast.unparse(block.test) != "ROOMS")
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def lazy(package: str, file: str, call: str = "") -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: imports a name from its home when it is first asked for.

    ``dir`` lists all names, ``__all__`` the public ones. The package itself can be called as its function `call`.
    """
    imports = _imports(Path(file).read_text(encoding="utf-8"))
    homes = {alias.asname or alias.name: (home, alias.name) for home, alias, _ in imports}
    names = vars(sys.modules[package])
    if public := sorted(alias.asname or alias.name for _, alias, offered in imports if offered):
        names["__all__"] = public
    names["__dir__"] = lambda: sorted({*names, *homes})

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        value = getattr(importlib.import_module(home, package), original)
        setattr(importlib.import_module(package), name, value)
        return value

    class Called(ModuleType):
        def __call__(self, *args: Any, **options: Any) -> Any:
            return getattr(self, call)(*args, **options)

    if call:
        sys.modules[package].__class__ = Called
    return find
