import importlib
import importlib.metadata
import inspect
import re
import typing
from pathlib import Path

import pytest

import lngeom as lg
from lngeom import checker

from .functions import ENGINE, EXPORTED, MODULES, OFFERED

ROOT = Path(__file__).parents[2]

CLASSES = sorted(name for name, value in OFFERED.items() if inspect.isclass(value) and name not in ENGINE)
ERRORS = {name for name in CLASSES if issubclass(OFFERED[name], Exception)}


def test_the_front_has_the_names_used_most() -> None:
    assert lg.__all__ == sorted(lg.__all__)
    assert len(lg.__all__) == 10
    for name in lg.__all__:
        assert getattr(lg, name) is OFFERED[name]
    assert {name for name in dir(lg) if not inspect.ismodule(getattr(lg, name))} == set(lg.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_lists_what_it_defines(name: str) -> None:
    module = MODULES[name]
    assert len(set(module.__all__)) == len(module.__all__)
    for each in module.__all__:
        assert getattr(module, each).__module__.startswith(module.__name__)


@pytest.mark.parametrize("name", EXPORTED)
def test_docstring_of_a_function_is_complete(name: str) -> None:
    function = OFFERED[name]
    text = inspect.getdoc(function) or ""
    for needed in (r"Returns?", "Source:"):
        assert re.search(rf"\b{needed}(?!\w)", text), f"{name} does not say: {needed}"
    assert text.splitlines()[0].endswith(".")
    conventions = set(re.findall(r"`([a-z]\w*)`", lg.__doc__ or ""))
    assert conventions == {"x", "gain", "bias", "eps", "placement", "centered"}, "said once, for every function"
    prose = text.partition(">>> ")[0]
    parameters = set(inspect.signature(function).parameters) - conventions
    unmentioned = [p for p in parameters if not re.search(rf"(?<![A-Za-z]){p}(?![A-Za-z])", prose)]
    assert unmentioned == [], f"{name} does not explain {unmentioned}"


@pytest.mark.parametrize("name", EXPORTED)
def test_annotations_are_complete_and_eps_has_no_default(name: str) -> None:
    signature = inspect.signature(OFFERED[name])
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    if eps := signature.parameters.get("eps"):
        assert eps.default is inspect.Parameter.empty, "libraries differ: the value belongs to the caller"
        assert eps.kind is inspect.Parameter.KEYWORD_ONLY


def test_every_error_descends_from_one_root() -> None:
    assert sorted(ERRORS) == ["InputError", "LngeomError", "RunError"]
    for module in modules():
        for value in vars(importlib.import_module(module)).values():
            if inspect.isclass(value) and issubclass(value, Exception) and value.__module__.startswith("lngeom"):
                # The checker imports nothing; what it refuses is a ProofError to all others.
                assert issubclass(value, (lg.errors.LngeomError, checker.Refused))


def modules() -> list[str]:
    files = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / "lngeom").rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in files)
    return sorted(name for name in names if "._" not in name)


def test_version_is_that_of_the_distribution() -> None:
    assert lg.__version__ == importlib.metadata.version("lngeom")
    with pytest.raises(AttributeError, match="module 'lngeom' has no attribute 'layernorm'"):
        getattr(lg, "layernorm")  # noqa: B009 - a misspelt name, unknown to type checkers


def test_typed_for_type_checkers() -> None:
    assert (Path(typing.cast(str, lg.__file__)).parent / "py.typed").is_file()
