import os
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lngeom.check._calls.target import resolve
from lngeom.empirical.sweep import load_live
from lngeom.theorems import theorems_of

HELPER = "def number(): return {}\n"
CODE = """import torch
from {helper} import number
from lngeom.theorems import theorem
def made(): return torch.nn.Linear({one}, number()), {one}
@theorem
def stated() -> None:
    "{one} {{}}"
stated.__dict__["says"] = {one}, number()
"""


def _of_live(name: str) -> tuple[int, int]:
    network: Any = load_live(f"{name}:made")[0]
    return network.in_features, network.out_features


WAYS: dict[str, Callable[[str], tuple[int, int]]] = {
    "file": lambda name: (lambda made: (made[1], made[0].out_features))(resolve(f"{name}.py:made")()),
    "module": lambda name: (lambda made: (made[1], made[0].out_features))(resolve(f"{name}:made")()),
    "factory": _of_live,
    "theorems": lambda name: theorems_of(Path(f"{name}.py"))[0].__dict__["says"],
}


@pytest.mark.parametrize("way", WAYS)
def test_code_edited_within_the_time_and_the_size_of_its_file_is_read_anew(way: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    helper, file = tmp_path / f"of_{way}.py", tmp_path / f"code_{way}.py"
    for number in (3, 4):
        helper.write_text(HELPER.format(number))
        file.write_text(CODE.format(helper=helper.stem, one=number))
        for path in (helper, file):
            os.utime(path, (1e9, 1e9))
            if number == 3:
                py_compile.compile(str(path))
    assert WAYS[way](file.stem) == (4, 4)
