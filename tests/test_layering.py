"""Import directions: the core is light, proofs know no models, no file imports in a circle, and help costs nothing."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lngeom.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "lngeom": {"torch", "transformers", "matplotlib", "sympy", "proofs", "empirical"},
    "proofs": {"torch", "transformers", "matplotlib", "empirical"},
    "empirical": {"proofs"},
}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_names(path: Path) -> set[str]:
    """Top-level packages that a source file imports anywhere in it."""
    names = set()
    for node in ast.walk(parsed(path)):
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


def modules(*roots: str) -> dict[str, Path]:
    files = [path for root in roots for path in sorted((ROOT / root).rglob("*.py"))]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports(name: str, path: Path, nodes: Iterator[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each (module, name) that ``from ... import`` takes; for ``import module`` the name is empty."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield from ((".".join([*base, *filter(None, [node.module])]), alias.name) for alias in node.names)


def test_no_file_imports_in_a_circle() -> None:
    """Imports in functions and those for type checkers count like any other."""
    known = modules("lngeom", "proofs", "empirical")
    graph = {name: set[str]() for name in known}
    for name, path in known.items():
        for module, taken in imports(name, path, ast.walk(parsed(path))):
            target = f"{module}.{taken}" if f"{module}.{taken}" in known else module
            if target in known and target != name:
                graph[name].add(target)
    assert sum(map(len, graph.values())) > len(known), "there are imports to look at"
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert sorted(order) == sorted(known)


def private_imports(name: str, path: Path) -> Iterator[tuple[str, str]]:
    """The names that a file takes from a private module that is neither beside it nor above it."""
    for module, taken in imports(name, path, ast.walk(parsed(path))):
        package, private, _ = module.partition("._")
        if private and package.split(".")[0] in FORBIDDEN and not f"{name}.".startswith(f"{package}."):
            yield package, taken


def test_nobody_imports_from_another_package_s_private_modules() -> None:
    packages = modules("lngeom", "proofs", "empirical").items()
    crossing = {name: [*private_imports(name, path)] for name, path in packages if "test_" not in name}
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return [set(line.split()) for line in done.stderr.splitlines()]


def command(*words: str) -> str:
    return f"from lngeom.cli import main; main({list(words)})"


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_by(tmp_path, *(command(name, "--help") for name in COMMANDS))
    assert all("lngeom" in names for names in loaded)
    assert {name: names & HEAVY for name, names in zip(COMMANDS, loaded, strict=True) if names & HEAVY} == {}


def test_a_finished_run_is_shown_and_drawn_without_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import LlamaConfig

    LlamaConfig(
        vocab_size=16, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    ).save_pretrained(tmp_path / "tiny")
    words = ["sweep", "tiny", "--random-weights", "--tokens", "64", "--sequence-length", "16", "--device", "cpu"]
    monkeypatch.chdir(tmp_path)
    for name in ("draw_figures", "write_report"):
        monkeypatch.setattr(f"lngeom.empirical.pages.{name}", lambda *_: None)
    assert main(words) == 0
    shown, drawn = loaded_by(tmp_path, command(*words), command("report", "runs/tiny-random"))
    assert (shown & HEAVY, drawn & HEAVY) == (set(), {"matplotlib"})


IMPORTS = [
    (
        "import lngeom, numpy; lngeom.layer_norm(numpy.eye(2), eps=0)",
        "array_api_compat",
        {"numpy.testing", "numpy.f2py", "scipy", "proofs", "empirical"} | HEAVY,
    ),
    ("import lngeom.cli", "lngeom.cli", {"scipy", "proofs", "empirical"} | HEAVY),
    ("import proofs", "proofs", {"scipy", "empirical"} | HEAVY),
    ("import lngeom.empirical.pages", "lngeom.empirical.pages", {"proofs"} | HEAVY),
    ("import lngeom; lngeom.angles.IsotropicAngle(5).cdf(1.0)", "scipy.special", {"scipy.stats"} | HEAVY),
]


@pytest.mark.parametrize(("statement", "wanted", "unwanted"), IMPORTS)
def test_an_import_loads_only_what_it_needs(statement: str, wanted: str, unwanted: set[str], tmp_path: Path) -> None:
    (loaded,) = loaded_by(tmp_path, statement)
    assert wanted in loaded
    assert loaded.isdisjoint(unwanted)


def test_the_house_is_described_as_it_stands() -> None:
    """Every room is in the tree of CONTRIBUTING, and each step of its walks is a function or class of its file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text[text.index("lngeom/  ") : text.index("## Four walks")]
    rooms = {path.parent.name for root in FORBIDDEN for path in (ROOT / root).glob("*/__init__.py")}
    assert {room for room in rooms if f"{room}/" not in tree} == set()
    steps = re.findall(r"`([\w/]+\.py): (\w+)`", text)
    assert len(steps) >= 10
    for file, name in steps:
        assert re.search(rf"^(?:def|class) {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), file
