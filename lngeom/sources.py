"""The user's Python files: compiled anew, as Python's own copies are as old as a file's time and size say; read."""

import ast
import builtins
import linecache
import re
import sys
from collections.abc import Iterable
from importlib import machinery as kinds
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

_FOLDERS, _HERE = set[Path](), Path(__file__).parent
_INSTALLED = re.compile(r"/((site|dist)-packages|python3\.\d+)(/|$)")
"""Libraries keep their copies, in whichever folder they are installed."""


class Uncached(kinds.SourceFileLoader):
    """A file that is neither read from a compiled copy nor written to one."""

    def path_stats(self, path: object) -> NoReturn:
        """Nothing that a compiled copy could be held against."""
        raise OSError(path)


def _finder(place: str) -> kinds.FileFinder:
    own = any(Path(place).is_relative_to(folder) for folder in _FOLDERS)
    # A script is no folder: runpy runs a path that a hook takes as a package.
    if not own or not Path(place).is_dir() or _INSTALLED.search(place) or Path(place).is_relative_to(_HERE):
        raise ImportError(place)
    loaders = (
        (kinds.ExtensionFileLoader, kinds.EXTENSION_SUFFIXES),
        (Uncached, kinds.SOURCE_SUFFIXES),
        (kinds.SourcelessFileLoader, kinds.BYTECODE_SUFFIXES),
    )
    return kinds.FileFinder(place, *loaders)


def read_from_source(folder: Path) -> str:
    """Have the modules of a folder imported from their source from now on; returns the entry of ``sys.path``."""
    if (folder := folder.resolve()) not in _FOLDERS:
        _FOLDERS.add(folder)
        for place in [place for place in sys.path_importer_cache if Path(place).is_relative_to(folder)]:
            del sys.path_importer_cache[place]
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
    return str(folder)


def at_line(file: str, line: int | None, *kinds: type[ast.AST]) -> list[Any]:
    """The parts of a file of these kinds in which a line is, the largest first."""
    nodes = [one for one in ast.walk(ast.parse("".join(linecache.getlines(file)))) if isinstance(one, kinds)]
    return [one for one in nodes if line and one.lineno <= line <= (one.end_lineno or 0)]  # type: ignore[attr-defined]


def effects(codes: Iterable[CodeType]) -> set[str]:
    """Where an assert in these functions changes or calls what it asks about: Python with -O, without it, differs."""
    told = set[str]()
    for code in codes:
        lines, tree = {line for *_, line in code.co_lines()}, ast.parse("".join(linecache.getlines(code.co_filename)))
        asked = [one for one in ast.walk(tree) if isinstance(one, ast.Assert) and one.lineno in lines]
        acting = (one.lineno for one in asked if any(map(_acts, ast.walk(one.test))))
        told |= {f"Python with -O, which leaves out an assert ({Path(code.co_filename).name}:{k})" for k in acting}
    return told


def _acts(node: ast.AST) -> bool:
    """Whether an expression may change a value: an assignment, a method in place, a function that is not Python's."""
    match node:
        case ast.Call(ast.Attribute(_, name), _, keywords):
            stored = any(one.arg == "out" for one in keywords)
            return stored or name in _CHANGES or (name.endswith("_") and not name.endswith("__"))
        case ast.Call(ast.Name(name)):
            return name == "setattr" or not hasattr(builtins, name)
    return isinstance(node, ast.NamedExpr)


_CHANGES = {"append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "add", "discard"}
_JOINS = (ast.BinOp, ast.Add, ast.Sub, ast.Call, ast.Name, ast.Load, ast.Constant, ast.JoinedStr, ast.FormattedValue)


def is_unread(frame: FrameType) -> bool:
    """Whether the text that a frame makes is only joined to others, under a name that its function never reads."""
    around = (at_line(frame.f_code.co_filename, frame.f_lineno, kind)[-1:] for kind in (ast.stmt, ast.FunctionDef))
    match [*around]:
        case [[ast.Assign([ast.Name(name)], value)], [function]]:
            calls = {ast.unparse(one.func) for one in ast.walk(value) if isinstance(one, ast.Call)}
            names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            joined = calls <= {"str"} and all(isinstance(one, _JOINS) for one in ast.walk(value))
            return joined and not {name, "locals", "exec", "eval"} & names
    return False
