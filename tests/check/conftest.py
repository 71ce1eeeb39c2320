import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lngeom import check as checking


@pytest.fixture
def some_kernels(request, tmp_path, monkeypatch) -> None:
    """The module `some_kernels`, which holds the KERNELS of a file of tests, in the folder where they run."""
    (tmp_path / "some_kernels.py").write_text(request.module.KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "some_kernels", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])


def recorded() -> dict[str, Any]:
    """What a check wrote into found.json, which is as its schema says."""
    written = json.loads(Path("found.json").read_text())
    jsonschema.validate(written, json.loads((Path(checking.__file__).parent / "schema.json").read_text()))
    return written
