"""The parts for a GPU run on a CPU too, with what is added to their commands."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "experiments" / "benchmarks" / "gpu.py"


def test_a_part_runs_with_other_options(tmp_path) -> None:
    words = ["--only", "norms", "--", "--device", "cpu", "--widths", "8", "--rounds", "2", "--compile"]
    run = subprocess.run([sys.executable, str(SCRIPT), *words], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rows = (tmp_path / "runs/gpu/norms.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 2 * 4  # the header; two formats, two rounds, two norms forward and with the gradient
