"""What pages and the ledger say in words follows from the committed tables."""

import importlib
import runpy
from typing import Any

import pandas as pd
import pytest

from lngeom.check import NEVER
from lngeom.empirical.models import KNOWN_MODELS
from lngeom.proofs.claims import find

from .conftest import DOCS

RESULTS = DOCS / "results"


def results(name: str) -> Any:
    return pd.read_csv(RESULTS / f"{name}.csv")


def test_the_ledger_has_the_times_of_the_kernels() -> None:
    least = results("cost/kernels").groupby("norm")["milliseconds"].min()
    times = f"{least['rms_norm'] / least['layer_norm']:.1f}"
    assert f"rms_norm takes {times} times the time of layer_norm" in find("0-6").correction


def test_pages_say_of_all_rows_what_holds_of_all() -> None:
    assert set(results("whisper/angles")["rank_among_random"]) == {0, 256}
    attack = results("attack")
    assert attack["right"].equals(attack["tried"])
    # Of sums of d products in float64: training.adam_bound holds at every step of every writer.
    steps: Any = pd.concat([results("training/adamw"), results("training/repeat/writers")])
    assert steps["step_excess"].max() <= 1 + 256 * 2.0**-52
    prices = results("smollm2/ablation")
    assert (prices["nats_high"] - prices["nats_low"]).max() <= 0.01


def test_the_first_page_has_the_angles_of_recordings_that_nothing_was_fitted_to() -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    rows = results("gauge/recorded").set_index("gauge").loc[["45°", "90°"], ["angle_least", "angle_most"]]
    (low, high), (least, most) = rows.to_numpy()
    assert f"is {low:.1f}° to {high:.1f}° in one, {least:.1f}° to {most:.1f}° in the other" in text


def test_trust_has_what_no_verdict_covers() -> None:
    told = importlib.import_module("lngeom_numbers").numbers()["never"]
    assert "{{ never }}" in (DOCS / "trust.md").read_text(encoding="utf-8")
    assert told.splitlines() == [f"- {words}" for words in NEVER]


def test_costs_keep_to_what_pages_say_in_words() -> None:
    recorded = importlib.import_module("lngeom_numbers").benchmarks
    assert [row["model"] for row in recorded("shapes")] == list(KNOWN_MODELS)
    assert all(row["observed_mb"] < 1.1 * row["bare_mb"] for row in recorded("memory"))
    peers = results("cost/peers")
    ours = peers["tool"] == "lngeom"
    assert list(peers[peers["places"] < peers["places"].max()]["tool"]) == ["`output_hidden_states`"]
    both = peers[~ours & (peers["places"] == peers["places"].max())][["peak MB", "time / bare pass"]]
    assert (both > peers[ours][both.columns].squeeze()).all(axis=None)


@pytest.mark.parametrize("page", ["cost", "benchmarks"])
def test_the_tables_of_benchmarks_are_those_of_the_records(page: str) -> None:
    made = runpy.run_path(str(DOCS.parent / "experiments" / "benchmarks" / "run.py"))
    records = made["json"].loads((RESULTS / "benchmarks.json").read_text(encoding="utf-8"))
    assert (RESULTS / f"{page}.txt").read_text(encoding="utf-8") == made["tables"](records, page)
