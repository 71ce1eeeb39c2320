"""Reports say first what stands out, in words that follow from their tables."""

import re
from pathlib import Path
from typing import Any

import pytest

from empirical.judge import ISOTROPY, Prediction
from empirical.models import KNOWN_MODELS
from empirical.pages import Measured, write_comparison
from empirical.pages._remarks import of_ablation, of_run, of_training, of_verdicts


def site(name: str, d_cos2: float, low: float, high: float, **other: Any) -> dict[str, Any]:
    row = {"site": name, "side": "input", "bucket": "all", "tokens": 8, "role": "pre_attn", "rank_among_random": 3}
    row |= {"d_cos2": d_cos2, "d_cos2_low": low, "d_cos2_high": high, "distance_mean": 0.02}
    return row | {"norm_mean": 1.0, "norm_max": 2.0} | other


def prediction(verdict: Any, theorem: str = "rmsnorm.length", where: str = "h.0") -> Prediction:
    return Prediction(where, "‖y‖ = √d r", theorem, 1.0, 1.0, 4, verdict)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["holds", "holds"], "What the theorems say came true wherever it could be decided: 2 times."),
        (["holds", "undecided"], "came true wherever it could be decided: 1 times. 1 could not be decided."),
        (["holds", "violated"], "1 of 2 predictions of the theorems did not come true, the first at h.1: ‖y‖ = √d r."),
        (["undecided"], "1 could not be decided."),
    ],
)
def test_verdicts_are_put_into_words(verdicts: list[str], said: str) -> None:
    (line,) = of_verdicts([prediction(one, where=f"h.{k}") for k, one in enumerate(verdicts)])
    assert said in line


def test_a_null_law_that_is_rejected_is_no_violation() -> None:
    assert of_verdicts([prediction("not isotropic", ISOTROPY)]) == []


def test_a_run_says_where_the_direction_stands_out_and_what_is_long() -> None:
    rows = [
        site("a", 0.5, 0.4, 0.6, rank_among_random=0),
        site("b", 1.0, 0.9, 1.1, norm_max=40.0, distance_mean=0.05),
        site("ln_f", 3.0, 2.0, 4.0, role="final"),
    ]
    energy, lowest, apart, long = of_run(rows, [])
    assert "before 1 of 3 norm layers, and less before 1: from 0.5 [0.4, 0.6] times as much at a" in energy
    assert energy.endswith("to 3 [2, 4] at the final norm.")
    assert lowest == "Before 1 norm layer it holds less energy than every random direction, first at a."
    assert apart.endswith("differ most at b, by 5 % of the length of an output on average.")
    assert long == "The longest hidden state before b is 40 times as long as they are on average."
    assert of_run([], []) == []


def test_an_ablation_says_what_all_changes_cost_and_which_norm_is_dearest() -> None:
    priced = (("rms_norm", "all", 8.0), ("folded", "all", 0.0), ("rms_norm", "a", 2.0), ("rms_norm", "b", 0.05))
    rows: list[dict[str, Any]] = [
        {"change": change, "site": where, "nats": nats, "nats_low": nats - 0.1, "nats_high": nats + 0.1, "top1": 1}
        for change, where, nats in priced
    ]
    replaced, folded, unchanged, single = of_ablation(rows, ["a", "b"], 1.25)
    assert replaced.startswith("RMSNorms in the place of all LayerNorms, nothing folded, cost 8 [7.9, 8.1] nats")
    assert folded.startswith("Folded first, the same replacement costs 0 [−0.1, 0.1] nats")
    assert unchanged == "The unchanged network loses 1.25 nats per token."
    assert single.startswith("Changed alone, 1 of 2 norms cost more than nothing")
    assert single.endswith("the dearest is a, 2 [1.9, 2.1] nats per token.")


def test_a_training_says_what_became_of_the_direction() -> None:
    def row(label: str, start: float, end: float) -> dict[str, Any]:
        return site(label, end, end / 2, end * 2, label=label, start=start, directions=16)

    lines = of_training([row("block 0, before MLP", 1.0, 0.01), row("final norm", 1.0, 0.5)])
    assert [line.partition(" the direction")[0] for line in lines] == [
        "Before the final norm",
        "Before the block 0, before MLP",
    ]
    assert "began with 1 times the energy of an average direction and ended with 0.5 [0.25, 1]" in lines[0]


def test_a_comparison_begins_with_words(tmp_path: Path) -> None:
    name = next(iter(KNOWN_MODELS))
    manifest = {"weights": "random, seed 0", "tokens_measured": 8}
    judged = [prediction("holds"), prediction("not isotropic", ISOTROPY)]
    measured = Measured(name, manifest, rows=[], predictions=judged)
    write_comparison(tmp_path / "page.html", [measured], {"gpt-j-6b": "does not fit on cuda"}, {})
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    first = re.sub(r"\s+", " ", page.partition('<div class="summary">')[2].partition("</div>")[0])
    assert "1 model, 1 of them with random weights" in first
    assert "1 times" in first
    assert "gpt-j-6b was not measured: does not fit on cuda" in first
    assert page.index('<div class="summary">') < page.index("What theorems say")
