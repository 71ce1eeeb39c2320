"""The zoo of publicly reported faults: each is caught under the right name, and stands so on its page."""

import csv
import re
from pathlib import Path

import pytest

from tests.kernels.reported import STAND_INS

with (Path(__file__).parents[2] / "docs/results/norm_bug_zoo.csv").open(encoding="utf-8", newline="") as _file:
    PAGE = {each["fault"]: each for each in csv.DictReader(_file)}


def row(name: str) -> dict[str, str]:
    stand_in = STAND_INS[name]
    finding, threads = stand_in.finding(name), stand_in.threads.split()
    links = (f"[{path.split('/')[1]} {path.split('/')[-1]}](https://github.com/{path})" for path in threads)
    caught = "yes" if re.search(stand_in.says, f"{finding.verdict}: {finding.cause}") else "no"
    told = {"verdict": finding.verdict, "name": finding.cause or "", "caught": caught}
    return {"fault": name, "threads": ", ".join(links), **told, "held out": ""}


@pytest.mark.parametrize("name", STAND_INS)
def test_a_reported_fault_is_caught_and_named(name: str) -> None:
    found = row(name)
    assert found["caught"] == "yes", found
    assert PAGE[name] | {"name": ""} == found | {"name": ""}  # rounding decides at which of some rows it shows


def test_the_page_has_the_whole_zoo() -> None:
    assert [name for name, each in PAGE.items() if not each["held out"]] == list(STAND_INS)
