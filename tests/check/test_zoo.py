"""The zoo of publicly reported faults: each is caught under the right name, and stands so on its page."""

import csv
from pathlib import Path

import pytest

from experiments.norm_bug_zoo import row
from tests.kernels.reported import STAND_INS

with (Path(__file__).parents[2] / "docs/results/norm_bug_zoo.csv").open(encoding="utf-8", newline="") as _file:
    PAGE = {each["fault"]: each for each in csv.DictReader(_file)}


@pytest.mark.parametrize("name", STAND_INS)
def test_a_reported_fault_is_caught_and_named(name: str) -> None:
    found = row(name)
    assert found["caught"] == "yes", found
    assert PAGE[name] | {"name": ""} == found | {"name": ""}  # rounding decides at which of some rows it shows


def test_the_page_has_the_whole_zoo() -> None:
    assert [name for name, each in PAGE.items() if not each["held out"]] == list(STAND_INS)
