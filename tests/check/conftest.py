import sys

import pytest


@pytest.fixture
def some_kernels(request, tmp_path, monkeypatch) -> None:
    """The module `some_kernels`, which holds the KERNELS of a file of tests, in the folder where they run."""
    (tmp_path / "some_kernels.py").write_text(request.module.KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "some_kernels", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
