"""The zoo of publicly reported faults: each is caught under the right name, and stands so on its page."""

import csv
from pathlib import Path

import pytest

from experiments.norm_bug_zoo import row
from tests.kernels.reported import STAND_INS, StandIn

with (Path(__file__).parents[2] / "docs/results/norm_bug_zoo.csv").open(encoding="utf-8", newline="") as _file:
    PAGE = {each["fault"]: each for each in csv.DictReader(_file)}


@pytest.mark.parametrize("fault", STAND_INS, ids=lambda fault: fault.name)
def test_a_reported_fault_is_caught_and_named(fault: StandIn) -> None:
    found = row(fault)
    assert found["caught"] == "yes", found
    assert PAGE[fault.name] | {"name": ""} == found | {"name": ""}  # rounding decides at which of some rows it shows


def test_the_page_has_the_whole_zoo() -> None:
    assert [name for name, each in PAGE.items() if not each["held out"]] == [fault.name for fault in STAND_INS]
