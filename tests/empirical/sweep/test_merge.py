"""Merging runs: equal to one run over all their texts, and only for runs of one measurement."""

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from empirical import judge, observe
from empirical.runs import RunDirectory
from empirical.support import read_records
from empirical.sweep import read_finished
from lngeom.cli import main

from ..conftest import VOCABULARY, Refused

pytestmark = pytest.mark.usefixtures("without_pages")
LENGTH, EACH, PARTS = 32, 256, 3


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of token ids, and last one with all of them."""
    base = tmp_path_factory.mktemp("texts")
    ids = np.random.default_rng(1).integers(0, VOCABULARY, (PARTS, EACH)).astype("<u2")
    paths = [base / f"{part}.bin" for part in range(PARTS)]
    for path, part in zip(paths, ids, strict=True):
        part.tofile(path)
    ids.tofile(base / "all.bin")
    return [*paths, base / "all.bin"]


def sweep(model: Path, text: Path, output: Path, *more: str) -> Path:
    words = ["--tokens", str(PARTS * EACH), "--sequence-length", str(LENGTH), "--directions", "4", "--device", "cpu"]
    assert main(["sweep", str(model), "--corpus", str(text), "--output", str(output), *words, *more]) == 0
    return output


def test_merged_runs_equal_one_run(
    model_directory: Path, texts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    def merging(*runs: Path, output: str) -> str:
        return refused("merge", *runs, "--output", tmp_path / output).removeprefix("lngeom merge: ")

    # The forward passes are those of the parts, batch by batch: not one bit differs.
    runs = [sweep(model_directory, text, tmp_path / text.stem, "--batch-size", str(EACH // LENGTH)) for text in texts]
    *parts, whole = runs
    capsys.readouterr()
    assert main(["merge", *map(str, parts), "--output", str(tmp_path / "merged"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_finished(tmp_path / "merged").rows
    merged, expected = (observe.load_states(path / "state.safetensors")[0] for path in (tmp_path / "merged", whole))
    assert merged.keys() == expected.keys()
    for key, state in merged.items():
        for field in fields(state):
            assert np.array_equal(getattr(state, field.name), getattr(expected[key], field.name)), (key, field)
    for name in ("sites.csv", "growth.csv"):
        assert (tmp_path / "merged" / name).read_bytes() == (whole / name).read_bytes()
    judged = read_records(tmp_path / "merged" / "predictions.csv", judge.Prediction)
    assert judged == list(judge.isotropy(observe.read_sites(tmp_path / "merged" / "sites.csv")))
    manifest = RunDirectory(tmp_path / "merged").manifest()
    assert manifest["tokens"] == PARTS * EACH
    assert manifest["merged_from"] == [str(path) for path in parts]
    assert (tmp_path / "merged" / "DONE").exists()

    assert merging(*parts, output="merged") == (
        f"{tmp_path / 'merged'}: holds this merge already; choose another --output to make it again"
    )
    assert merging(tmp_path / "merged", parts[1], output="twice") == (
        f"{parts[1]}: its sequence at offset 0 is in {tmp_path / 'merged'} too and would count twice; "
        "merge runs on disjoint parts of a text"
    )
    assert merging(parts[0], parts[0], output="twice") == (
        f"{parts[0]}: its sequence at offset 0 is in {parts[0]} too and would count twice; "
        "merge runs on disjoint parts of a text"
    )
    other = sweep(model_directory, texts[1], tmp_path / "other", "--seed", "5")
    assert merging(parts[0], other, output="mixed") == (
        f"{other}: seed is 5, in {parts[0]} it is 0; merge runs of one measurement"
    )
    (other / "DONE").unlink()
    assert merging(parts[0], other, output="mixed").startswith(
        f"{other}: is not finished; run its command again first: lngeom sweep "
    )
    assert merging(parts[0], output="mixed") == "1 run given: merging takes two or more"
    assert merging(parts[0], tmp_path, output="mixed") == (
        f"{tmp_path}: holds no manifest.json, so it is not a run; give the output directory of a sweep"
    )
    damaged = (parts[1] / "state.safetensors").read_bytes()[:100]
    (parts[1] / "state.safetensors").write_bytes(damaged)
    assert merging(parts[0], parts[1], output="cut").startswith(
        f"{parts[1] / 'state.safetensors'}: cannot be read as a state ("
    )
    assert not (tmp_path / "mixed").exists()
    assert math.prod(np.load(tmp_path / "all" / "tokens.npy").shape) == PARTS * EACH
    assert json.loads((tmp_path / "all" / "manifest.json").read_text())["tokens_measured"] == PARTS * EACH
