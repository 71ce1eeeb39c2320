import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lngeom.empirical import observe
from lngeom.empirical.judge import ISOTROPY, MODEL, Prediction
from lngeom.empirical.pages import Measured, figures, write_comparison, write_report
from lngeom.empirical.pages.console import print_table, summary, with_interval
from lngeom.empirical.pages.sweep import _FIGURES, exact_verdicts
from lngeom.empirical.support import read_records

RUN = Path(__file__).parents[3] / "docs" / "results" / "smollm2"


def standouts(page: Path, start: str = '<div class="summary">', end: str = "</div>") -> list[list[str]]:
    """The numbers of each line of a list, that in the box at the top by default."""
    box = page.read_text(encoding="utf-8").partition(start)[2].partition(end)[0]
    lines = [re.sub("<[^>]+>", " ", line) for line in box.split("<li>")[1:]]
    return [re.findall(r"(?<![\w.])-?\d[\d.]*\b", line.replace("−", "-")) for line in lines]


def test_of_a_run(tmp_path) -> None:
    rows, judged = observe.read_sites(RUN / "sites.csv"), read_records(RUN / "predictions.csv", Prediction)
    manifest = {"model": "SmolLM2", "weights": "from a checkpoint", "tokens": 12264, "identity": ["model"]}
    manifest |= {"directions": 64, "corpus": "wiki.xml", "dtype": "float32", "date": "2026-11-24"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for name in ("sites.csv", "predictions.csv"):
        shutil.copy(RUN / name, tmp_path)
    for name in _FIGURES:
        (tmp_path / f"{name}.svg").write_text("<svg/>", encoding="utf-8")
    page = write_report(tmp_path)
    text = page.read_text(encoding="utf-8")
    facts = "SmolLM2, 12,264 tokens of wiki.xml · 61 RMSNorms with d = 576 · float32 · <time>2026-11-24</time>"
    assert text.partition("</h1>")[2].strip().startswith(f'<p class="soft">{facts}</p>')
    verdicts, radius, _, long, network = standouts(page)
    held = sum(each.verdict == "holds" and each.site != MODEL for each in judged)
    assert (verdicts, network) == ([str(held), "0", "0"], [])
    flat, isotropic, chance, energy, _, apart = standouts(page, '<ul class="stored">', "</ul>")
    before = [row for row in rows if row["side"] == "input" and row["bucket"] == "all"]
    for ranks, null in ((flat, "signs"), (isotropic, "random")):
        low = sum(row[f"rank_among_{null}"] <= 16 for row in before)
        high = sum(row[f"rank_among_{null}"] >= 48 for row in before)
        assert ranks[:3] == ["64", str(low), str(len(before))]
        assert str(high) in ranks
    assert chance[0] == f"{len(before) * 17 / 65:.3g}"
    assert radius[0] == f"{min(row['gauge_mean'] for row in before):.4g}"
    least, most = sorted(before, key=lambda row: row["d_cos2"])[:: len(before) - 1]
    for row in (least, most):
        assert f"{row['d_cos2']:.3f}"[:4] in " ".join(energy)
    assert f"{100 * max(row['distance_mean'] for row in before):.2g}" in apart
    assert f"{max(row['norm_max'] / row['norm_mean'] for row in before):.0f}" in long


def test_equal_numbers_before_and_after_an_rms_norm_are_explained() -> None:
    rows = [row for row in observe.read_sites(RUN / "sites.csv") if row["bucket"] == "all"]
    before = {row["site"]: row for row in rows if row["side"] == "input"}
    equal = [{**before[row["site"]], "side": row["side"]} for row in rows]
    moved = [
        {**row, "angle_mean_deg": row["angle_mean_deg"] + (0.02 if row["side"] == "output" else 0)} for row in equal
    ]
    centred = [{**row, "norm": "layernorm"} for row in equal]
    told = [
        [line for line in summary(each) if "in and out are equal" in line] for each in (equal, moved, centred, rows)
    ]
    assert [len(each) for each in told] == [1, 0, 0, 0]
    assert "at 61 of 61 norms" in told[0][0]


def test_every_plus_minus_of_a_summary_is_a_standard_deviation_and_it_says_so() -> None:
    told = summary(observe.read_sites(RUN / "sites.csv"))
    assert [line.partition(":")[0] for line in told if "±" in line] == [
        "angles", "ranks", "isotropic vectors, for comparison",
    ]  # fmt: skip
    assert told[0].endswith("mean ± standard deviation over the tokens")


def test_brackets_are_explained_where_the_table_is_wide_enough_to_have_them() -> None:
    rows = observe.read_sites(RUN / "sites.csv")
    for width in (140, 400):
        file = io.StringIO()
        print_table(rows, Console(file=file, width=width))
        text = file.getvalue()
        assert (" [0." in text) == ("[a, b]: 95 % interval" in text) == (width == 400)


def test_each_panel_names_its_own_norms() -> None:
    drawn = figures(observe.read_sites(RUN / "sites.csv"), "SmolLM2")["angle_before"]
    assert [axes.xaxis.get_major_formatter()(30) for axes in drawn.axes] == ["final", ""]


@pytest.mark.parametrize(("value", "low", "high"), [(1.02, 0.99, 1.004), (0.807, 0.7841, 0.832), (61.69, 61.64, 61.73)])
def test_an_interval_contains_its_estimate_as_printed(value: float, low: float, high: float) -> None:
    shown, left, right = map(float, re.findall(r"[\d.]+", with_interval(value, low, max(high, value))))
    assert left <= shown <= right


def prediction(verdict: Any, theorem: str, site: str = "h.0") -> Prediction:
    return Prediction(site, "‖y‖ = √d r", theorem, 1.0, 1.0, 4, verdict)


@pytest.mark.parametrize("verdict", ["not distinguished", "not isotropic"])
def test_a_null_law_that_is_rejected_is_no_violation(verdict: str) -> None:
    assert exact_verdicts([prediction(verdict, ISOTROPY)]) == ({}, None)


def test_of_a_comparison(tmp_path) -> None:
    manifest = {"weights": "random, seed 0", "tokens_measured": 8}
    judged = [prediction(verdict, "rmsnorm.length", f"h.{k}") for k, verdict in enumerate(("holds", "violated"))]
    measured = Measured("gpt2-xl", manifest, rows=[], predictions=judged)
    page = tmp_path / "page.html"
    write_comparison(page, [measured], {"gpt-j-6b": "out of memory on cuda"}, {})
    models, verdicts, _ = standouts(page)
    assert (models, verdicts[:3]) == (["1", "1"], ["1", "0", "1"])
    text = page.read_text(encoding="utf-8")
    assert "√d r at h.1" in text
    assert "gpt-j-6b was not measured: out of memory on cuda" in text
