"""All known models in one command: what is done is skipped, what fails does not stop the others."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from empirical import _measure, statistics
from empirical._comparison import COLUMNS, compare
from empirical._run import RunDirectory
from empirical.models import KNOWN_MODELS, PUBLISHED
from lngeom.cli import main

from .conftest import BLOCKS, tiny_config

pytestmark = pytest.mark.usefixtures("without_pages")

OPTIONS = ["--random-weights", "--tokens", "128", "--sequence-length", "32", "--directions", "4"]
OPTIONS += ["--device", "cpu", "--output"]


@pytest.fixture
def tiny_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The known models with their architectures, and tiny shapes."""
    for name, known in list(KNOWN_MODELS.items()):
        shape = tiny_config(known.shape["model_type"]).to_dict()
        entries = {key: value for key, value in shape.items() if key not in ("transformers_version", "dtype")}
        monkeypatch.setitem(KNOWN_MODELS, name, replace(known, shape=MappingProxyType(entries)))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.usefixtures("tiny_known")
def test_all_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "all"
    real = _measure.measure

    def failing(loaded: Any, *rest: Any) -> Any:
        if loaded.source.name == "gpt-j-6b":
            raise statistics_error
        return real(loaded, *rest)

    statistics_error = OSError(28, "No space left on device", "state.safetensors")
    monkeypatch.setattr(_measure, "measure", failing)
    assert main(["sweep", "all", *OPTIONS, str(base)]) == 1
    printed = capsys.readouterr().out
    assert "gpt-j-6b: state.safetensors: No space left on device" in printed
    assert "6 of 7 models measured" in printed

    monkeypatch.setattr(_measure, "measure", real)
    assert main(["sweep", "all", *OPTIONS, str(base)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("this run is done") == 6
    assert "7 of 7 models measured" in printed

    rows = rows_of(base / "comparison.csv")
    assert list(rows[0]) == list(COLUMNS)
    assert {row["model"] for row in rows} == set(KNOWN_MODELS)
    assert {row["weights"] for row in rows} == {"random, seed 0"}
    joined = rows_of(base / "sites.csv")
    assert {row["model"] for row in joined} == set(KNOWN_MODELS)
    page = (base / "comparison.html").read_text()
    assert all(f"<td>{name}</td><td>random, seed 0</td>" in page for name in KNOWN_MODELS)
    assert "7 of 7 models measured" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


@pytest.mark.usefixtures("tiny_known")
def test_comparison_averages_what_the_tables_average(tmp_path: Path) -> None:
    assert main(["sweep", "pythia-1.4b", *OPTIONS, str(tmp_path / "run")]) == 0
    run = RunDirectory(tmp_path / "run")
    rows = statistics.read_csv(run.path / "sites.csv")
    table = {row["quantity"]: row for row in compare("pythia-1.4b", run.manifest(), rows)}
    before = [
        row["angle_mean_deg"]
        for row in rows
        if row["side"] == "input" and row["bucket"] == "all" and row["role"] == "pre_attn"
    ]
    # Both norms of a parallel block read one vector: the second is not counted again.
    assert table["hidden_angle"]["layers"] == len(before) == BLOCKS
    assert math.isclose(table["hidden_angle"]["measured_mean"], sum(before) / BLOCKS, rel_tol=1e-12)
    assert table["hidden_angle"]["published_mean"] == PUBLISHED["pythia-1.4b"].hidden_angle.mean
    assert table["attn_norm"]["measured_max"] == max(
        row["norm_max"] for row in rows if row["role"] == "pre_attn" and row["side"] == "output"
    )
    assert "mlp_rotation" in table


def test_models_that_cannot_be_fetched_are_told_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    base = tmp_path / "all"
    assert (
        main(
            [
                "sweep",
                "all",
                "--corpus",
                "random",
                "--tokens",
                "512",
                "--device",
                "cpu",
                "--output",
                str(base),
            ]
        )
        == 1
    )
    printed = capsys.readouterr().out
    for name in KNOWN_MODELS:
        assert (
            f"{name}: model {name!r} cannot be loaded: it is not in the local cache; HF_HUB_OFFLINE is set"
            in printed
        )
    page = (base / "comparison.html").read_text()
    assert "0 of 7 models measured" in page
    assert page.count("was not measured") == 7
