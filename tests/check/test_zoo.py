"""Faults, of which those of the zoo stand on its page, are called by name; what is decided does not read the names."""

import csv
import functools
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from lngeom import sentences
from lngeom.check import Finding
from tests.kernels.derived import kernel, mean, plain, square
from tests.kernels.reported import STAND_INS
from tests.kernels.rows import EPS, Row
from tests.kernels.seeded import faults

with (Path(__file__).parents[2] / "docs/results/norm_bug_zoo.csv").open(encoding="utf-8", newline="") as _file:
    PAGE = {each["fault"]: each for each in csv.DictReader(_file)}
SEEDED = ("ddof", "one pass and 1 + gain", "eps outside and ddof", "whole array", "tail ignored", "approximate root")
OTHERS = {
    **{name: fault for name, fault in faults(torch).items() if name in SEEDED},
    "llama": Row(lambda x, weight: weight * (x.float() * (square(x.float()) + EPS).rsqrt()).to(x.dtype),
                 options={"dtype": "bfloat16"}),
    "gemma": Row(lambda x, w: x * (square(x) + EPS).rsqrt() * (1 + w)),
    "exchanged": Row(kernel(plain, lambda y, n, axes: y.sum(axes)), options={"backward": True}),
    "no mean": Row(kernel(lambda h, y, g, n, r: r * (h - n * mean(h * n))), options={"backward": True}),
}  # fmt: skip
_WORDS = {"cause", "layout", "notes", "same_bits"}


def checked(name: str) -> Finding:
    torch.manual_seed(0)
    return (STAND_INS | OTHERS)[name].finding(name)


usual = functools.cache(checked)


def row(name: str) -> dict[str, str]:
    stand_in = STAND_INS[name]
    finding, threads = usual(name), stand_in.threads.split()
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


def decided(finding: Finding) -> tuple[Any, ...]:
    kinds = sorted(finding.named.kinds) if finding.named else []
    passed = [finding.passes(tuple(some)) for some in ([], kinds[:1], kinds, ["no such variant"])]
    record = {name: value for name, value in finding.record().items() if name not in _WORDS}
    return finding.named, passed, [finding.tells(kind) for kind in kinds], record, len(finding.notes)


@pytest.mark.parametrize("name", [*OTHERS, *list(STAND_INS)[::12]])
def test_sentences_may_be_exchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = decided(usual(name))
    for kind in sentences.SENTENCES:
        monkeypatch.setitem(sentences.SENTENCES, kind, f"<{kind}>")
    assert decided(checked(name)) == before
