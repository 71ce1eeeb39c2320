"""Seeded faults that only calls of a kernel tell are caught and named."""

import pytest
import torch

from empirical.check import check
from tests.kernels.seeded import EPS, FAULTS, Fault, size

CALLED = [fault for fault in FAULTS.values() if fault.told_by == "calls" and size(fault)]  # the others take seconds


@pytest.mark.parametrize("fault", CALLED, ids=lambda fault: fault.name)
def test_a_fault_is_caught_and_named(fault: Fault) -> None:
    finding = check(fault.make(torch), kind=fault.kind, eps=EPS, d=size(fault), name=fault.name)
    assert finding.verdict == fault.verdict, finding
    assert fault.words in (finding.cause or ""), finding
    hidden = fault.name == "changed input"  # whose output is that of a correct kernel
    assert (finding.worst_ratio > 1) is not hidden
