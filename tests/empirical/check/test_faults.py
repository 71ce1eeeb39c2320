"""Seeded faults that only calls of a kernel tell are caught and named; correct kernels are not accused by any call."""

import numpy as np
import pytest
import torch

from empirical.check import check
from tests.kernels.seeded import CORRECT, EPS, FAULTS, Fault, size

CALLED = [fault for fault in FAULTS.values() if fault.told_by == "calls" and size(fault)]  # the others take seconds


@pytest.mark.parametrize("fault", CALLED, ids=lambda fault: fault.name)
def test_a_fault_is_caught_and_named(fault: Fault) -> None:
    finding = check(fault.make(torch), kind=fault.kind, eps=EPS, d=size(fault), name=fault.name)
    assert finding.verdict == fault.verdict, finding
    assert fault.words in (finding.cause or ""), finding
    hidden = fault.name == "changed input"  # whose output is that of a correct kernel
    assert (finding.worst_ratio > 1) is not hidden


@pytest.mark.parametrize(
    "name", ["two passes, tree", "multiplied first, backwards", "rms, sequential", "merged 4, False"]
)
@pytest.mark.parametrize("library", [np, torch], ids=["numpy", "torch"])
def test_a_correct_kernel_is_not_accused(name: str, library) -> None:
    make, kind = CORRECT[name]
    finding = check(make(library), kind=kind, eps=EPS, d=24, name=name)
    assert finding.verdict == "rounding", finding
    assert finding.worst_ratio <= 1
