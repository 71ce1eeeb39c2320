"""The sweep from end to end, with every file it leaves."""

import json
from pathlib import Path

import numpy as np
import pytest

from empirical import judge
from empirical.judge import Prediction
from empirical.observe import read_sites
from empirical.support import read_records
from lngeom.cli import main

from ..conftest import Words

LENGTH = 32


def test_a_run_from_end_to_end(
    words: Words, token_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert main(words(tokens=512, sequence_length=LENGTH)) == 0
    printed = capsys.readouterr().out
    assert "measuring tiny-llama: 512/512 tokens" in printed
    assert {path.name for path in output.iterdir()} >= {
        "DONE", "manifest.json", "predictions.csv", "report.html", "sites.csv", "state.safetensors", "tokens.npy",
    }  # fmt: skip
    assert not (output / "shards").exists()
    rows = read_sites(output / "sites.csv")
    assert len(rows) == 5 * 2 * 3
    assert {row["tokens"] for row in rows if row["bucket"] == "all"} == {512}
    assert {row["tokens"] for row in rows if row["bucket"] == "first"} == {512 // LENGTH}
    judged = read_records(output / "predictions.csv", Prediction)
    assert len(judged) == 1 + 5 * (5 + 2)  # of the model; at each norm layer five theorems, and isotropy on both sides
    assert judge.summary_line(judged) in printed
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["model"] == "tiny-llama"
    assert manifest["command"].startswith("lngeom sweep ")
    assert manifest["tokens_measured"] == 512
    ids = np.fromfile(token_file, "<u2")
    measured = np.load(output / "tokens.npy")
    places = [at for row in measured for at in range(0, len(ids), LENGTH) if np.array_equal(row, ids[at : at + LENGTH])]
    # Sequences are whole, in the order of the file, and spread over it.
    assert measured.shape == (512 // LENGTH, LENGTH)
    assert places == sorted(set(places))
    assert len(places) == len(measured)
    assert places[-1] - places[0] > len(ids) // 2
