"""The directive ``public-functions``: public functions of ``lngeom`` and the theorems whose statements call them."""

import inspect
import re
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lngeom as lg
from proofs import theorems

ENGINE = {"certainly_outside", "diagnose", "indistinct"}
"""What ``lngeom.rounding`` offers to ``empirical.check``."""
SHOWN = 5
MODULES = re.findall(r":mod:`lngeom\.(\w+)`", lg.__doc__ or "")
"""As the docstring of the package names them."""


def names(function: Callable[..., Any], seen: set[Any]) -> Iterator[str]:
    """Names that a function reads, and those that the helpers it calls read, the library's own code apart."""
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for name in code.co_names:
            yield name
            helper = function.__globals__.get(name)
            if inspect.isfunction(helper) and helper.__module__.startswith("proofs") and helper not in seen:
                seen.add(helper)
                yield from names(helper, seen)


@cache
def stated() -> dict[str, list[str]]:
    """Ids of the theorems whose statement calls a function, by its name."""
    ids = defaultdict(list)
    for theorem in theorems():
        statement = getattr(theorem, "body", None) or theorem.claim
        for name in set(names(statement, set())):
            ids[name].append(theorem.id)
    return ids


class PublicFunctions(SphinxDirective):
    """``{public-functions}``: a table of modules, functions and theorems."""

    def run(self) -> list[nodes.Node]:
        lines = ["| function | theorems whose statement calls it |", "|---|---|"]
        for module in (getattr(lg, name) for name in MODULES):
            for name in module.__all__:
                if inspect.isfunction(getattr(module, name)) and name not in ENGINE:
                    place = "lngeom" if name in lg.__all__ else module.__name__
                    lines.append(f"| {{py:func}}`{place}.{name}` | {self._theorems(stated().get(name, []))} |")
        return self.parse_text_to_nodes("\n".join(lines))

    @staticmethod
    def _theorems(ids: list[str]) -> str:
        links = ", ".join(f"{{prf:ref}}`{id} <{id}>`" for id in ids[:SHOWN])
        return f"{links} and {len(ids) - SHOWN} more" if len(ids) > SHOWN else links or "tested only"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("public-functions", PublicFunctions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
