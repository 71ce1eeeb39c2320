"""Every cell of every notebook runs, and prints what stands below it."""

import contextlib
import io
import json
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_the_notebook_shows(path: Path) -> None:
    matplotlib.use("agg")
    space = {"__name__": "__main__"}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("".join(cell["source"]), path.name, "exec"), space)
            assert printed.getvalue().splitlines(True) == [line for out in cell["outputs"] for line in out["text"]]
