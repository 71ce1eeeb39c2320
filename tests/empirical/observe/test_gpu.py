"""Code for a GPU, tried out where none is."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "experiments" / "benchmarks" / "bench_gpu.py"


@pytest.mark.usefixtures("tiny_known")
def test_the_benchmark_of_a_gpu_runs_on_a_cpu_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    words = "--device cpu --dtype float32 --blocks 1 --batch-size 1 --sequence-length 16 --seconds 0 --models gpt2-xl"
    monkeypatch.setattr(sys, "argv", ["bench_gpu", *words.split(), "--json", str(tmp_path / "gpu.json")])
    assert runpy.run_path(str(SCRIPT))["main"]() == 0
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert len(found["error_over_bound"]) == 3, "three dtypes"
    assert all(0 < value <= 1 for value in found["error_over_bound"].values())
    (row,) = found["results"]
    assert (row["model"], row["norms"], row["batch"], row["waits"]) == ("gpt2-xl", 3, [1, 16], 0)
