"""Merging runs: equal to one run over all their texts, and only for runs of one measurement."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical import observe
from empirical.models import NormSite, sites_of
from empirical.observe import BUCKETS, FEATURES, SIDES, Observer, Side, States, _observer, merge
from empirical.runs import RunDirectory
from empirical.sweep import read_finished
from lngeom.cli import main

from ..conftest import VOCABULARY, Refused, tiny_model

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


class Recorder:
    """What enters the reduction: the features of every token, from which the moments follow without rounding."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[tuple[Side, dict[str, list[float]], list[list[bool]]]] = []
        real = _observer.reduce

        def recording(side: Side, vectors: Any, values: Any, buckets: Any, *others: Any) -> Any:
            members = buckets.reshape(len(BUCKETS), -1).tolist()
            for layer in values.tolist():
                self.batches.append((side, dict(zip(FEATURES[side], layer, strict=True)), members))
            return real(side, vectors, values, buckets, *others)

        monkeypatch.setattr(_observer, "reduce", recording)

    def moments(self, call: int, every: int) -> Iterator[tuple[str, int, Fraction, Fraction, float]]:
        """Feature, bucket, mean, squared deviations and maximum over each call that is a multiple of `every` later."""
        batches = self.batches[call::every]
        for name in FEATURES[batches[0][0]]:
            for bucket in range(len(BUCKETS)):
                values = [
                    Fraction(value)
                    for _, features, members in batches
                    for value, is_in in zip(features[name], members[bucket], strict=True)
                    if is_in
                ]
                mean = sum(values, Fraction(0)) / len(values)
                yield (name, bucket, mean, sum(((v - mean) ** 2 for v in values), Fraction(0)), float(max(values)))


def wrong_moments(states: States, sites: Sequence[NormSite], recorder: Recorder, parts: int) -> list[str]:
    """The moments of merged states that are further from the exact ones than rounding takes them.

    All features are 0 or more. Let M be the largest, N the tokens and u = 2⁻⁵³. Whatever the order of a sum of N terms,
    it is right to (N - 1)u times the sum of their magnitudes (Higham, Accuracy and Stability of Numerical Algorithms,
    section 4.2), so that the mean of a part is right to NuM. Chan's formula adds to it a convex combination in four
    rounded operations on numbers of at most M: the merged mean is right to δ = (N + 8P)uM after P parts.

    Squared deviations from a mean off by δ are too large by Nδ², and their sum is right to (N + 8P)u of itself. A merge
    adds Δ²w, where the distance Δ of two means is off by 2δ, w is at most N/4, and Δ²w at most the m2 of all: it is off
    by 4Δδw + 4δ²w, at most 2δ√(N·m2) + Nδ².
    """
    found = []
    # The sites are few and alike, so that the observer reduces them together, side by side.
    keys: list[tuple[str, Side]] = [(site.path, side) for side in SIDES for site in sites]
    for call, key in enumerate(keys):
        state = states[key]
        for name, bucket, mean, m2, maximum in recorder.moments(call, len(keys)):
            row, tokens = FEATURES[key[1]].index(name), int(state.tokens[bucket])
            slack = (tokens + 8 * parts) * 2.0**-53
            delta, spread = slack * maximum, float(m2)
            off = slack * spread + parts * (2 * delta * math.sqrt(tokens * spread) + tokens * delta**2)
            if abs(Fraction(state.mean[row, bucket]) - mean) > delta:
                found.append(f"mean of {name}")
            if abs(Fraction(state.m2[row, bucket]) - m2) > off:
                found.append(f"m2 of {name}")
            if state.maximum[row, bucket] != maximum:
                found.append(f"maximum of {name}")
    return found


@pytest.mark.parametrize("chan", [True, False], ids=["merged", "without the term between parts"])
def test_merged_moments_are_those_of_all_tokens(chan: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    model = tiny_model("llama")
    sites = sites_of(model)
    ids = torch.from_numpy(np.random.default_rng(2).integers(0, VOCABULARY, (24, LENGTH)))
    parts: list[States] = []
    for rows in ids.split([1, 7, 16]):
        with Observer(model, sites, directions=2) as observer, torch.inference_mode():
            model(input_ids=rows)
        parts.append(observer.states)
    states = reduce(merge, parts)
    if not chan:  # m2 by adding those of the parts alone: what is between their means is lost
        states = {key: replace(state, m2=sum(part[key].m2 for part in parts)) for key, state in states.items()}
    wrong = wrong_moments(states, sites, recorder, len(parts))
    every = [f"m2 of {name}" for side in SIDES for _ in sites for name in FEATURES[side] for _ in BUCKETS]
    assert wrong == ([] if chan else every)


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
