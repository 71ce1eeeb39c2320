import ast
import functools
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lngeom.cli import COMMANDS

from .support import python

ROOT = Path(__file__).parent.parent
FOLDERS = {name: ROOT.joinpath(*name.split(".")) for name in ("lngeom", "lngeom.proofs", "lngeom.empirical")}
OUTER = {"torch", "transformers", "matplotlib", "sympy", "lngeom.proofs", "lngeom.empirical"}
FORBIDDEN = {
    "lngeom": OUTER | {"lngeom.check"},
    "lngeom.plot": (OUTER | {"lngeom.check"}) - {"matplotlib"},
    "lngeom.check": {"transformers", "matplotlib", "sympy", "lngeom.proofs", "lngeom.empirical"},
    "lngeom.proofs": {"torch", "transformers", "matplotlib", "lngeom.empirical", "lngeom.check"},
    "lngeom.empirical": {"lngeom.proofs"},
}
DOORS = {"lngeom.cli", "lngeom.commands.check", "lngeom.commands.reports", "lngeom.pytest_plugin"}
"""What a user starts: each loads what is asked for, from all packages."""
FRONTS = {"aten", "tensors", "torch_front", "torch_operations", "triton.blocks", "triton.launch", "triton.stand_in"}
"""The files of ``lngeom.check._tracing`` that import PyTorch."""


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def modules() -> dict[str, Path]:
    """All files by the names that they are imported by."""
    files = [(top, folder, path) for top, folder in FOLDERS.items() for path in sorted(folder.rglob("*.py"))]
    names = [(".".join([top, *path.relative_to(folder).with_suffix("").parts]), path) for top, folder, path in files]
    return {name.removesuffix(".__init__"): path for name, path in names}


def imports(name: str, path: Path, nodes: Iterator[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each (module, name) that ``from ... import`` takes; for ``import module`` the name is empty."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield from ((".".join([*base, *filter(None, [node.module])]), alias.name) for alias in node.names)


def wing(name: str) -> str:
    return max((part for part in FORBIDDEN if f"{name}.".startswith(f"{part}.")), key=len)


@pytest.mark.parametrize("package", FORBIDDEN)
def test_source_imports_only_inward(package: str) -> None:
    files = {name: path for name, path in modules().items() if wing(name) == package and name not in DOORS}
    assert files
    crossing = [
        (name, module)
        for name, path in files.items()
        for module, taken in imports(name, path, ast.walk(parsed(path)))
        for outer in FORBIDDEN[package]
        if f"{module}.{taken}.".startswith(f"{outer}.")
    ]
    assert crossing == []


def test_the_wing_that_checks_imports_pytorch_in_its_fronts_alone() -> None:
    tracing = "lngeom.check._tracing."
    torch = {
        name.removeprefix(tracing)
        for name, path in modules().items()
        if wing(name) == "lngeom.check"
        for module, _ in imports(name, path, ast.walk(parsed(path)))
        if module.partition(".")[0] == "torch"
    }
    assert torch == FRONTS


def test_no_file_imports_in_a_circle() -> None:
    """Imports in functions and those for type checkers count like any other."""
    known = modules()
    graph = {name: set[str]() for name in known}
    for name, path in known.items():
        for module, taken in imports(name, path, ast.walk(parsed(path))):
            target = f"{module}.{taken}" if f"{module}.{taken}" in known else module
            if target in known and target != name:
                graph[name].add(target)
    assert sum(map(len, graph.values())) > len(known), "there are imports to look at"
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert sorted(order) == sorted(known)


PUBLIC = re.compile(r"lngeom\.(\w+|theorems\.checks|proofs\.(works|chapters\..+)|((proofs|empirical)\.)?commands\..+)")
"""The modules that others may import by their own names; all else is imported from the package that it is in."""


def private_imports(name: str, path: Path) -> Iterator[str]:
    """The modules that a file imports though they are in a room that it is not in."""
    for module, taken in imports(name, path, ast.walk(parsed(path))):
        target = f"{module}.{taken}" if f"{module}.{taken}" in modules() else module
        room = target if (found := modules().get(target)) and found.name == "__init__.py" else target.rpartition(".")[0]
        outside = not f"{name}.".startswith(f"{room}.") and "._" not in room.removeprefix(wing(name))
        hidden = "._" in target and not f"{name}.".startswith(f"{target.partition('._')[0]}.")
        if target in modules() and (hidden or (outside and target != room and not PUBLIC.fullmatch(target))):
            yield target


def test_a_room_is_entered_by_its_door() -> None:
    """A file is imported from its own room alone, and a private folder from the one that it is in."""
    crossing = {name: [*private_imports(name, path)] for name, path in modules().items() if "test_" not in name}
    assert {name: imports for name, imports in crossing.items() if imports} == {}


HEAVY = {"torch", "transformers", "matplotlib", "sympy", "hypothesis", "datasets", "pandas"}


def loaded_by(folder: Path, *statements: str) -> list[set[str]]:
    """Modules that one process has loaded when it is done with each of some statements."""
    code = (
        "import sys\n"
        f"for statement in {statements}:\n"
        "    try: exec(statement)\n"
        "    except SystemExit: pass\n"
        "    print(*sys.modules, file=sys.stderr)"
    )
    done = python("-c", code, check=True, cwd=folder)
    return [set(line.split()) for line in done.stderr.splitlines()]


def command(*words: str) -> str:
    return f"from lngeom.cli import main; main({list(words)})"


def test_help_loads_nothing_heavy(tmp_path) -> None:
    loaded = loaded_by(tmp_path, *(command(name, "--help") for name in COMMANDS))
    assert all("lngeom" in names for names in loaded)
    assert {name: names & HEAVY for name, names in zip(COMMANDS, loaded, strict=True) if names & HEAVY} == {}


IMPORTS = [
    (
        "import lngeom, numpy; lngeom.layer_norm(numpy.eye(2), eps=0)",
        "array_api_compat",
        {"numpy.testing", "numpy.f2py", "scipy", "lngeom.check", "lngeom.proofs", "lngeom.empirical"} | HEAVY,
    ),
    ("import lngeom.cli", "lngeom.cli", {"scipy", "lngeom.check", "lngeom.proofs", "lngeom.empirical"} | HEAVY),
    ("from lngeom import rounding, strategies", "lngeom.rounding", HEAVY - {"hypothesis"} | {"rich", "safetensors"}),
    ("import lngeom.plot", "lngeom.plot", {"scipy", "lngeom.proofs", "lngeom.empirical"} | HEAVY),
    ("import lngeom.check", "lngeom.check", {"lngeom.proofs", "lngeom.empirical"} | HEAVY),
    ("import lngeom.proofs", "lngeom.proofs", {"scipy", "lngeom.empirical", "safetensors"} | HEAVY),
    ("import lngeom.empirical.pages", "lngeom.empirical.pages", {"proofs"} | HEAVY),
]


@pytest.mark.parametrize(("statement", "wanted", "unwanted"), IMPORTS)
def test_an_import_loads_only_what_it_needs(statement: str, wanted: str, unwanted: set[str], tmp_path) -> None:
    (loaded,) = loaded_by(tmp_path, statement)
    assert wanted in loaded
    assert loaded.isdisjoint(unwanted)


def test_the_house_is_described_as_it_stands() -> None:
    """Every room is in the tree of CONTRIBUTING, and each step of its code tours is a function or class of its file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text[text.index("lngeom/  ") : text.index("## Code tours")]
    rooms = {path.parent.name for folder in FOLDERS.values() for path in folder.glob("*/__init__.py")}
    assert {room for room in rooms if f"{room}/" not in tree} == set()
    steps = re.findall(r"`([\w/]+\.py): (\w+)`", text)
    assert len(steps) >= 10
    for file, name in steps:
        assert re.search(rf"^(?:def|class) {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), file
