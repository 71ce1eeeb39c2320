"""``lngeom report`` makes the page of a run again from its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from lngeom.cli import main


def test_report_is_rebuilt(
    model_directory: Path, token_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    options = ["--tokens", "64", "--sequence-length", "32", "--directions", "2", "--device", "cpu"]
    assert (
        main(["sweep", str(model_directory), "--corpus", str(token_file), "--output", str(run), *options])
        == 0
    )
    made = {path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")}
    assert "report.html" in made
    for name in made:
        (run / name).unlink()
    assert main(["report", str(run)]) == 0
    assert {
        path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")
    } == made
    (run / "DONE").unlink()
    capsys.readouterr()
    assert main(["report", str(run)]) == 2
    assert capsys.readouterr().err.startswith(
        f"lngeom report: {run}: is not finished; run its command again first: lngeom sweep "
    )
