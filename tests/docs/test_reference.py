import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path
from types import FunctionType
from typing import Any

import pictures
from sphinx.util.inventory import InventoryFile

import lngeom
from lngeom.cli import COMMANDS
from lngeom.proofs import CHAPTERS, theorems

from .conftest import DOCS, PAGES

ALONE = ("lngeom.theorems.checks", "lngeom.proofs.works")
"""Files of a room that others import by their own names."""


MODULES = [("lngeom", True), *(part[1:] for part in pkgutil.walk_packages(lngeom.__path__, "lngeom."))]
INSIDE = tuple(f"{name}." for name, is_room in MODULES if not is_room and name.count(".") > 1 and name not in ALONE)
"""The files of rooms, whose names are offered by the room."""


OPEN = [name for name, _ in MODULES if "._" not in name and f"{name}." not in INSIDE]
PACKAGES = [name for name in OPEN if hasattr(importlib.import_module(name), "__all__")]
"""Those that offer names: all that list them in ``__all__``."""


def test_every_public_name_is_documented_and_nothing_else(site: Path) -> None:
    load: Any = InventoryFile.load
    with (site / "objects.inv").open("rb") as stream:
        listed = load(stream, "", lambda _, name: name)
    objects = {name for kind, names in listed.items() if kind.startswith("py:") for name in names}
    inventory = {name for name in objects if "._" not in name and not name.startswith(INSIDE)}
    inventory = {name for name in inventory if name.rpartition(".")[0] not in objects}
    # The errors of all packages of measurements are in one place, which offers nothing else.
    assert {name.rpartition(".")[0] or name for name in inventory} <= {*PACKAGES, "lngeom.empirical.support"}
    modules = {package: importlib.import_module(package) for package in PACKAGES}
    for package, module in modules.items():
        prefix = f"{package}."
        names = {name.removeprefix(prefix) for name in objects if name.startswith(prefix)}
        documented = {name for name in names if not re.search(r"\.|^_", name) and f"{prefix}{name}" not in PACKAGES}
        assert documented <= set(module.__all__), package
        for name in module.__all__:
            value = getattr(module, name)
            # What is offered at the root and in its module is documented in one of the two.
            places = [
                place for place, other in modules.items() if name in other.__all__ and getattr(other, name) is value
            ]
            assert any(f"{place}.{name}" in objects for place in places), f"{prefix}{name}"
            assert inspect.getdoc(value) or not isinstance(value, type | FunctionType), f"{prefix}{name}"


def test_every_command_shows_its_options() -> None:
    page = (DOCS / "api" / "commands.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^```\{command\} (\S+)$", page, flags=re.MULTILINE)) == sorted(COMMANDS)


def test_every_theorem_has_one_block_of_its_kind_on_the_page_of_its_chapter() -> None:
    block = re.compile(r"^```\{prf:(\w+)\} .*\n:label: (\S+)$", flags=re.MULTILINE)
    blocks = Counter(
        (path, *found)
        for path in (DOCS / "derivations").glob("*.md")
        for found in block.findall(path.read_text(encoding="utf-8"))
    )
    assert blocks == Counter((PAGES[theorem.chapter], theorem.kind, theorem.id) for theorem in theorems())


def test_every_chapter_has_its_evidence_and_says_what_it_means_and_what_needs_a_correction() -> None:
    for chapter in CHAPTERS:
        page = PAGES[chapter].read_text(encoding="utf-8")
        labels = re.findall(r"^:label: (\S+)$", page, flags=re.MULTILINE)
        assert re.findall(r"^```\{evidence\} (\S+)$", page, flags=re.MULTILINE) == labels
        assert "\n## What it means for a network\n" in page, chapter
        assert "\n## Where the texts are imprecise\n" in page, chapter


def test_pictures_are_drawn_and_each_is_on_a_page() -> None:
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    drawn = {name for page in pages for name in re.findall(r"^```\{drawn\} (\S+)$", page, flags=re.MULTILINE)}
    assert {name.replace("-", "_") for name in drawn} == set(pictures.__all__)
    assert not any("_build/figures" in page for page in pages)
