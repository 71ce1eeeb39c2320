"""The extensions of the site stand beside its pages, where no package is."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def extension(name: str) -> ModuleType:
    """An extension of the site by its name."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def site() -> Path:
    """The built site."""
    place = DOCS / "_build" / "html"
    if not (place / "index.html").exists():
        pytest.skip("needs the built site: run `make docs`")
    return place
