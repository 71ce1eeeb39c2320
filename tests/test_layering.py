"""Import directions: the core is light, the proofs know no models, and only the command line looks outward."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "lngeom": {"torch", "transformers", "matplotlib", "sympy", "hypothesis", "proofs", "empirical"},
    "proofs": {"torch", "transformers", "matplotlib", "empirical"},
    "empirical": {"proofs"},
}


def imported_names(path: Path) -> set[str]:
    """Top-level packages that a source file imports anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_source_imports_only_inward(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    crossing = {str(path.relative_to(ROOT)): imported_names(path) & FORBIDDEN[package] for path in files}
    assert {path: names for path, names in crossing.items() if names} == {}


@pytest.mark.parametrize(
    ("statement", "package"),
    [("import lngeom", "lngeom"), ("import lngeom.cli", "lngeom"), ("import proofs", "proofs")],
)
def test_import_loads_no_heavy_module(statement: str, package: str) -> None:
    code = f"{statement}; import sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert package in loaded
    assert loaded & FORBIDDEN[package] == set()
