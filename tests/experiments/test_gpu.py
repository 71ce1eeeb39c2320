"""The parts for a GPU run on a CPU too, with what is added to their commands."""

from pathlib import Path

from tests.support import python

SCRIPT = Path(__file__).parents[2] / "experiments" / "benchmarks" / "gpu.py"


def test_a_part_runs_with_other_options(tmp_path) -> None:
    words = ["--only", "norms", "--", "--device", "cpu", "--widths", "8", "--rounds", "2", "--compile"]
    run = python(SCRIPT, *words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = (tmp_path / "runs/gpu/norms.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 2 * 4  # the header; two formats, two rounds, two norms forward and with the gradient
