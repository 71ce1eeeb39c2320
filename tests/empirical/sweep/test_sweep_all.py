import math
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lngeom.cli import main
from lngeom.empirical import observe
from lngeom.empirical.models import KNOWN_MODELS, PUBLISHED
from lngeom.empirical.pages import Measured, beside_published
from lngeom.empirical.runs import RunDirectory
from lngeom.empirical.support import read_table
from lngeom.empirical.sweep import measurement
from lngeom.files import read_json

from ..conftest import BLOCKS

pytestmark = pytest.mark.usefixtures("without_pages")

OPTIONS = ["--random-weights", "--tokens", "128", "--sequence-length", "32", "--directions", "4"]
OPTIONS += ["--device", "cpu", "--output"]


@pytest.mark.usefixtures("tiny_known")
def test_all_models(tmp_path, capsys, monkeypatch) -> None:
    base = tmp_path / "all"
    real = measurement.states_of

    def failing(subject: Any, *rest: Any) -> Any:
        if subject.model.config.model_type == "gptj":
            raise statistics_error
        return real(subject, *rest)

    statistics_error = OSError(28, "No space left on device", "state.safetensors")
    monkeypatch.setattr(measurement, "states_of", failing)
    assert main(["sweep", "all", *OPTIONS, str(base)]) == 1
    printed = capsys.readouterr().out
    assert "gpt-j-6b: state.safetensors: No space left on device" in printed
    assert "6 of 7 models measured" in printed

    monkeypatch.setattr(measurement, "states_of", real)
    assert main(["sweep", "all", *OPTIONS, str(base)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("this run is done") == 6
    assert "7 of 7 models measured" in printed

    rows = read_table(base / "comparison.csv")
    assert {row["model"] for row in rows} == set(KNOWN_MODELS)
    assert {row["weights"] for row in rows} == {"random, seed 0"}
    assert {row["model"] for row in read_table(base / "sites.csv")} == set(KNOWN_MODELS)
    assert {row["model"] for row in read_table(base / "predictions.csv")} == set(KNOWN_MODELS)
    for name in ("sites", "predictions"):
        parts = [read_table(base / model / f"{name}.csv") for model in KNOWN_MODELS]
        expected = [{"model": model, **row} for model, part in zip(KNOWN_MODELS, parts, strict=True) for row in part]
        assert read_table(base / f"{name}.csv") == expected
    page = (base / "comparison.html").read_text()
    assert all(f"<td>{name}</td><td>random, seed 0</td>" in page for name in KNOWN_MODELS)
    assert "7 of 7 models measured" in page
    # Verdicts first, then the numbers, then how they came about.
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert titles == ["What stands out", "Measured and published values", "How it was measured"]
    opened = re.findall(r"""(?:src|href)\s*=\s*["']([^"'#][^"']*)|url\(["']?([^#"')][^)]*)|@import""", page)
    assert opened == []


@pytest.mark.usefixtures("tiny_known")
def test_comparison_averages_what_the_tables_average(tmp_path) -> None:
    assert main(["sweep", "pythia-1.4b", *OPTIONS, str(tmp_path / "run")]) == 0
    run = RunDirectory(tmp_path / "run")
    rows = observe.read_sites(run.path / "sites.csv")
    measured = Measured("pythia-1.4b", run.manifest(), rows, [])
    compared = beside_published(measured)
    table = {row["quantity"]: row for row in compared if row["layer"] is None}
    attention = [row for row in rows if row["bucket"] == "all" and row["role"] == "pre_attn"]
    before = [row["angle_mean_deg"] for row in attention if row["side"] == "input"]
    # Both norms of a parallel block read one vector: the second is not counted again.
    assert table["hidden_angle"]["sites"] == len(before) == BLOCKS
    assert table["hidden_angle"]["measured_mean"] == math.fsum(before) / BLOCKS
    assert table["hidden_angle"]["published_mean"] == PUBLISHED["pythia-1.4b"]["hidden_angle"].mean
    after = [row["norm_max"] for row in attention if row["side"] == "output"]
    assert table["attn_norm"]["measured_max"] == max(after)
    assert "mlp_rotation" in table
    assert {row["difference"] for row in compared} == {None}
    layers = [row for row in compared if row["quantity"] == "hidden_angle" and row["layer"] is not None]
    assert [(row["layer"], row["measured_mean"]) for row in layers] == list(enumerate(before))
    # The same numbers from trained weights are set against the published ones.
    trained = replace(measured, manifest={**run.manifest(), "weights": "from a checkpoint"})
    for row in beside_published(trained):
        assert row["difference"] == row["measured_mean"] - row["published_mean"]


def test_both_norms_of_a_sequential_block_are_averaged() -> None:
    row = {"side": "input", "bucket": "all", "same_input_as": None}
    row |= dict.fromkeys(("angle_std_deg", "norm_mean", "norm_std", "norm_max"), 1.0)
    rows = [
        row | {"layer": layer, "role": role, "angle_mean_deg": 10.0 * layer + offset}
        for layer in range(2)
        for role, offset in (("pre_attn", 1), ("pre_mlp", 3))
    ]
    manifest = {"weights": "from a checkpoint", "tokens_measured": 5}
    angles = [
        row for row in beside_published(Measured("gpt2-xl", manifest, rows, [])) if row["quantity"] == "hidden_angle"
    ]
    averages = [(row["layer"], row["sites"], row["measured_mean"]) for row in angles]
    assert averages == [(None, 4, 7), (0, 2, 2), (1, 2, 12)]


@pytest.mark.usefixtures("tiny_known")
def test_the_benchmark_of_the_known_models_runs(tmp_path, monkeypatch) -> None:
    script = Path(__file__).parents[3] / "experiments" / "benchmarks" / "bench_sweep.py"
    monkeypatch.syspath_prepend(script.parent)
    words = f"--all --batch-size 1 --sequence-length 16 --seconds 0 --json {tmp_path / 'found.json'}"
    monkeypatch.setattr(sys, "argv", ["bench_sweep", *words.split()])
    runpy.run_path(str(script))["main"]()
    assert [row["model"] for row in read_json(tmp_path / "found.json")] == list(KNOWN_MODELS)
