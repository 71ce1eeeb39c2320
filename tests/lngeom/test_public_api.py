"""The public surface: what is exported, what its docstrings promise, and what an import costs."""

import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import lngeom as lg

FUNCTIONS = sorted(name for name in lg.__all__ if inspect.isfunction(getattr(lg, name)))
CLASSES = sorted(name for name in lg.__all__ if inspect.isclass(getattr(lg, name)))
# Results: made by a function, whose docstring has the example.
RESULTS = {
    "Acceptance": "Tolerance.accepts",
    "Certificate": "PrincipalAxes.certificate",
    "Explanation": "explain_difference",
    "Fiber": "fiber",
    "FoldCertificate": "certify_fold",
    "PrincipalAxes": "principal_axes",
    "Tolerance": "tolerance",
}
ERRORS = {name for name in CLASSES if issubclass(getattr(lg, name), Exception)}


def test_all_is_sorted_and_complete() -> None:
    assert lg.__all__ == sorted(lg.__all__)
    assert len(set(lg.__all__)) == len(lg.__all__)
    public = {
        name
        for name, value in vars(lg).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name not in {"annotations", "TYPE_CHECKING"}
    }
    assert public == set(lg.__all__)


def test_every_public_name_is_a_function_or_a_class_of_this_library() -> None:
    assert sorted([*FUNCTIONS, *CLASSES]) == lg.__all__
    for name in lg.__all__:
        assert getattr(lg, name).__module__.startswith("lngeom._"), "rooms are private, the front door is lngeom"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_of_a_function_is_complete(name: str) -> None:
    function = getattr(lg, name)
    text = inspect.getdoc(function) or ""
    for needed in (r"Returns?", "Source:"):
        assert re.search(rf"\b{needed}(?!\w)", text), f"{name} does not say: {needed}"
    assert ">>> " in text
    assert text.splitlines()[0].endswith(".")
    conventions = set(re.findall(r"`([a-z]\w*)`", lg.__doc__ or ""))
    assert conventions == {"x", "gain", "bias", "eps", "placement", "centered"}, "said once, for every function"
    said = text.partition(">>> ")[0]
    parameters = set(inspect.signature(function).parameters) - conventions
    unmentioned = [p for p in parameters if not re.search(rf"(?<![A-Za-z]){p}(?![A-Za-z])", said)]
    assert unmentioned == [], f"{name} does not explain {unmentioned}"


@pytest.mark.parametrize("name", sorted(set(CLASSES) - ERRORS))
def test_docstring_of_a_class_is_complete(name: str) -> None:
    text = inspect.getdoc(getattr(lg, name)) or ""
    if name in RESULTS:
        assert RESULTS[name] in text, f"{name} does not say that {RESULTS[name]} makes it"
    else:
        assert ">>> " in text
    for member, value in vars(getattr(lg, name)).items():
        if not member.startswith("_") and (callable(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{member} has no docstring"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_annotations_are_complete_and_eps_has_no_default(name: str) -> None:
    signature = inspect.signature(getattr(lg, name))
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    if eps := signature.parameters.get("eps"):
        assert eps.default is inspect.Parameter.empty, "libraries differ: the value belongs to the caller"
        assert eps.kind is inspect.Parameter.KEYWORD_ONLY


def test_every_error_descends_from_one_root() -> None:
    assert sorted(ERRORS) == ["InputError", "LngeomError"]
    for module in modules():
        for value in vars(importlib.import_module(module)).values():
            if inspect.isclass(value) and issubclass(value, Exception) and value.__module__.startswith("lngeom"):
                assert issubclass(value, lg.LngeomError)


def modules() -> list[str]:
    found = pkgutil.walk_packages(lg.__path__, "lngeom.")
    return ["lngeom", *sorted(info.name for info in found)]


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_is_about(name: str) -> None:
    if name.endswith("__main__"):
        return
    assert inspect.getdoc(importlib.import_module(name))


def test_version_is_that_of_the_distribution() -> None:
    assert lg.__version__ == importlib.metadata.version("lngeom")
    with pytest.raises(AttributeError, match="module 'lngeom' has no attribute 'layernorm'"):
        getattr(lg, "layernorm")  # noqa: B009 - a misspelt name, unknown to type checkers


def test_typed_for_type_checkers() -> None:
    assert (Path(typing.cast(str, lg.__file__)).parent / "py.typed").is_file()


# ----------------------------------------------------------------------------------------------- import


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys; import numpy; before = set(sys.modules); {statement}; " + (
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return set(found)


HEAVY = "torch transformers matplotlib sympy hypothesis pandas"


@pytest.mark.parametrize(
    ("statement", "wanted", "unwanted"),
    [
        ("import lngeom", "array_api_compat", f"scipy proofs empirical {HEAVY}"),
        ("import lngeom.cli", "lngeom.cli", f"scipy proofs empirical {HEAVY}"),
        ("import proofs", "proofs", f"scipy empirical {HEAVY}"),
        ("import empirical.pages", "empirical.pages", f"proofs {HEAVY}"),
        ("from empirical.pages import draw; draw('steps')", "matplotlib", "torch transformers sympy proofs"),
        ("import lngeom; lngeom.IsotropicAngle(5).cdf(1.0)", "scipy.special", f"scipy.stats {HEAVY}"),
    ],
)
def test_an_import_loads_only_what_it_needs(statement: str, wanted: str, unwanted: str) -> None:
    loaded = loaded_by(statement)
    assert wanted in loaded
    assert loaded.isdisjoint(unwanted.split())
