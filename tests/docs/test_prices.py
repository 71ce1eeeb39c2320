"""What pages say that a change of norms costs stands in the tables of ``lngeom ablate`` beside them."""

import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from empirical.support import read_table

RESULTS = Path(__file__).parents[2] / "docs" / "results"
NUMBER = r"(-?\d[\d.]*)"
INTERVAL = re.compile(rf"{NUMBER} \[{NUMBER}, {NUMBER}\]")
PRICES = {
    "smollm2.md": ("## What centring would cost", ["smollm2/ablation.csv"]),
    "whisper.md": ("## One mean subtraction", ["whisper/ablation.csv"]),
    "training/index.md": ("## Folded and swapped", ["training/ablation-layer.csv", "training/ablation-rms.csv"]),
}
"""Page, the section with its prices, and the tables that they come from."""


def section(page: str, heading: str) -> str:
    """One section of a page, without the marks of Markdown that numbers do not need."""
    text = (RESULTS / page).read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    return text.replace("$", "").replace("−", "-")


def quoted(number: str, exact: float) -> bool:
    """Whether a number is another one, rounded to the digits that it has."""
    digits = len(number.partition(".")[2])
    # The tables have six digits themselves.
    return abs(float(number) - exact) <= 0.5 * 10.0**-digits + 5e-6 * abs(exact)


@pytest.mark.parametrize("page", PRICES)
def test_every_interval_of_a_price_is_one_of_the_table(page: str) -> None:
    heading, tables = PRICES[page]
    rows = [row for table in tables for row in read_table(RESULTS / table)]
    text = section(page, heading)
    found = INTERVAL.findall(text)
    assert len(found) >= 3
    for numbers in found:
        exact = [[row[name] for name in ("nats", "nats_low", "nats_high")] for row in rows]
        assert any(all(map(quoted, numbers, row)) for row in exact), numbers
    tokens = {row["tokens"] for row in rows if row["change"] == "none"}
    assert any(f"{count:,} tokens" in text for count in tokens)


def test_changes_of_smollm2_are_priced_closely_and_quoted_with_their_top_1() -> None:
    page = (RESULTS / "smollm2.md").read_text(encoding="utf-8")
    rows = [row for row in read_table(RESULTS / "smollm2" / "ablation.csv") if row["change"] in ("centred", "u_norm")]
    assert {row["site"] for row in rows} >= {"all", "embeddings", "writers", "direction 0"}
    for row in rows:
        assert row["nats_high"] - row["nats_low"] <= 0.01
        price = f"{row['nats']:.4f} [{row['nats_low']:.4f}, {row['nats_high']:.4f}]"
        assert row["site"] == "writers" or f"| {price} | {100 * row['top1']:.1f} % |" in page, row["site"]


@pytest.fixture(scope="module")
def norms() -> list[dict[str, Any]]:
    return [row for row in read_table(RESULTS / "whisper" / "angles.csv") if row["frames"] == "all"]


@pytest.mark.parametrize("column", ["tilt_mean_deg", "distance_mean", "d_cos2"])
def test_rank_correlations_of_whisper_are_those_of_its_table(norms: list[dict[str, Any]], column: str) -> None:
    text = section("whisper.md", "## Do angles tell the price?")
    (line,) = (line for line in text.splitlines() if line.startswith(f"| `{column}` |"))
    said = [float(cell.split()[0]) for cell in line.split("|")[2:5]]
    chosen = [[row for row in norms if stack in row["site"].split(".")[1]] for stack in ("", "encoder", "decoder")]
    found: list[Any] = [spearmanr([row[column] for row in rows], [row["nats"] for row in rows]) for rows in chosen]
    assert said == [round(float(one.statistic), 2) for one in found]
