"""Numbers on the site are computed when it is built; those that stand elsewhere are compared with them."""

import importlib
import runpy
from typing import Any

import pytest

from empirical.models import KNOWN_MODELS
from proofs.claims import DOCUMENTS, find

from .conftest import DOCS

RESULTS = DOCS / "results"
numbers = importlib.import_module("lngeom_numbers")


@pytest.fixture(scope="module")
def named() -> dict[str, Any]:
    return numbers.numbers()


@pytest.mark.parametrize(
    ("claim", "arm"), [("1-59", ("none", "sgd")), ("4-25", ("none", "sgd")), ("4-17", ("post", "adamw"))]
)
def test_the_ledger_has_the_losses_of_the_controls(claim: str, arm: tuple[str, str], named: dict[str, Any]) -> None:
    assert f"{named['study']['_'.join(arm)]} nats" in find(claim).correction


def test_the_ledger_has_the_times_of_the_kernels() -> None:
    rows = numbers.table("cost/kernels")
    layer, rms = (min(r["milliseconds"] for r in rows if r["norm"] == name) for name in ("layer_norm", "rms_norm"))
    assert f"rms_norm takes {rms / layer:.1f} times the time of layer_norm" in find("0-6").correction


def test_what_pages_say_in_words_follows_from_the_tables(named: dict[str, Any]) -> None:
    assert len(DOCUMENTS) == 15
    assert named["study"]["equivalence"] == "equivalent"
    held_out = "is {45°} in one, {90°} in the other".format(**named["gauge"]["held_out"])
    assert held_out in (DOCS.parent / "README.md").read_text()
    assert {row["rank_among_random"] for row in numbers.table("whisper/angles")} == {0, 256}
    wild = numbers.results("norms_in_the_wild").query("direction == 'forward' and dtype == 'float32'")
    verdicts = wild.groupby("verdict")["classes"].sum()
    assert verdicts["unstable"] == verdicts["bug"] == 3
    assert all((row["right"], row["wrong"]) == (row["tried"], 0) for row in numbers.table("attack"))
    # Of sums of d products in float64: training.adam_bound holds at every step of every writer.
    rounding = 256 * 2.0**-52
    steps = numbers.table("training/adamw") + numbers.table("training/repeat/writers")
    assert all(row["step_excess"] <= 1 + rounding for row in steps if row["step_excess"] is not None)
    assert all(row["nats_high"] - row["nats_low"] <= 0.01 for row in numbers.table("smollm2/ablation"))


def test_costs_keep_to_what_pages_say_in_words() -> None:
    recorded = numbers.benchmarks
    assert [row["model"] for row in recorded("shapes")] == list(KNOWN_MODELS)
    assert all(row["observed_mb"] < 1.1 * row["bare_mb"] for row in recorded("memory"))
    peers = numbers.results("cost/peers")
    ours = peers["tool"] == "lngeom"
    assert list(peers[peers["places"] < peers["places"].max()]["tool"]) == ["`output_hidden_states`"]
    both = peers[~ours & (peers["places"] == peers["places"].max())][["peak MB", "time / bare pass"]]
    assert (both > peers[ours][both.columns].squeeze()).all(axis=None)


@pytest.mark.parametrize("page", ["cost", "benchmarks"])
def test_the_tables_of_benchmarks_are_those_of_the_records(page: str) -> None:
    made = runpy.run_path(str(DOCS.parent / "experiments" / "benchmarks" / "run.py"))
    records = made["json"].loads((RESULTS / "benchmarks.json").read_text(encoding="utf-8"))
    assert (RESULTS / f"{page}.txt").read_text(encoding="utf-8") == made["tables"](records, page)
