"""Merging runs: equal to one run over all their texts, and only for runs of one measurement."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from empirical import statistics
from empirical._run import RunDirectory
from lngeom.cli import main

from .conftest import VOCABULARY

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
    words = [
        "--tokens",
        str(PARTS * EACH),
        "--sequence-length",
        str(LENGTH),
        "--directions",
        "4",
        "--device",
        "cpu",
    ]
    assert main(["sweep", str(model), "--corpus", str(text), "--output", str(output), *words, *more]) == 0
    return output


def refused(capsys: pytest.CaptureFixture[str], *runs: Path, output: Path) -> str:
    capsys.readouterr()
    assert main(["merge", *map(str, runs), "--output", str(output)]) == 2
    return capsys.readouterr().err.removeprefix("lngeom merge: ").rstrip("\n")


def test_merged_runs_equal_one_run(
    model_directory: Path, texts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [sweep(model_directory, text, tmp_path / text.stem) for text in texts]
    *parts, whole = runs
    assert main(["merge", *map(str, parts), "--output", str(tmp_path / "merged")]) == 0
    merged, expected = (
        statistics.load(path / "state.safetensors")[0] for path in (tmp_path / "merged", whole)
    )
    assert merged.keys() == expected.keys()
    for key, state in merged.items():
        for field in fields(state):
            mine, theirs = getattr(state, field.name), getattr(expected[key], field.name)
            if mine.dtype == np.int64:
                assert np.array_equal(mine, theirs), (key, field.name)
            else:
                # The same tokens in the same rows: their forward pass differs by the blocking of the float32 matrix
                # products (as in the test of batches), the merging by a few roundings of float64.
                assert np.allclose(
                    mine, theirs, rtol=1e-4, atol=1e-9 * max(1.0, float(np.abs(theirs).max()))
                ), key
    manifest = RunDirectory(tmp_path / "merged").manifest()
    assert manifest["tokens"] == PARTS * EACH
    assert manifest["merged_from"] == [str(path) for path in parts]
    assert (tmp_path / "merged" / "DONE").exists()

    assert refused(capsys, *parts, output=tmp_path / "merged") == (
        f"{tmp_path / 'merged'}: holds this merge already; choose another --output to make it again"
    )
    assert refused(capsys, tmp_path / "merged", parts[1], output=tmp_path / "twice") == (
        f"{parts[1]}: has the tokens of {tmp_path / 'merged'}, which would count twice; leave one out"
    )
    assert refused(capsys, parts[0], parts[0], output=tmp_path / "twice") == (
        f"{parts[0]}: has the tokens of {parts[0]}, which would count twice; leave one out"
    )
    other = sweep(model_directory, texts[1], tmp_path / "other", "--seed", "5")
    assert refused(capsys, parts[0], other, output=tmp_path / "mixed") == (
        f"{other}: seed is 5, in {parts[0]} it is 0; merge runs of one measurement"
    )
    (other / "DONE").unlink()
    assert refused(capsys, parts[0], other, output=tmp_path / "mixed").startswith(
        f"{other}: is not finished; run its command again first: lngeom sweep "
    )
    assert refused(capsys, parts[0], output=tmp_path / "mixed") == "1 run given: merging takes two or more"
    assert refused(capsys, parts[0], tmp_path, output=tmp_path / "mixed") == (
        f"{tmp_path}: holds no manifest.json, so it is no run; give the output directory of a sweep"
    )
    damaged = (parts[1] / "state.safetensors").read_bytes()[:100]
    (parts[1] / "state.safetensors").write_bytes(damaged)
    assert refused(capsys, parts[0], parts[1], output=tmp_path / "cut").startswith(
        f"{parts[1] / 'state.safetensors'}: cannot be read as a state ("
    )
    assert not (tmp_path / "mixed").exists()
    assert math.prod(np.load(tmp_path / "all" / "tokens.npy").shape) == PARTS * EACH
    assert json.loads((tmp_path / "all" / "manifest.json").read_text())["tokens_measured"] == PARTS * EACH
