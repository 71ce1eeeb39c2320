"""Seeded faults are caught and named, and correct kernels are never accused, in NumPy and in PyTorch."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from empirical.check import check
from tests.kernels.seeded import CORRECT, EPS, FAULTS, size

NAMESPACES: dict[str, Any] = {"numpy": np, "torch": torch}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", [n for n in FAULTS if n != "wide rows"])
def test_fault_is_caught_and_named(name: str) -> None:
    fault = FAULTS[name]
    namespace = NAMESPACES["torch" if len(name) % 2 else "numpy"]
    finding = check(fault.make(namespace), kind=fault.kind, eps=EPS, d=size(fault), name=name)
    assert finding.verdict == fault.verdict, finding
    assert fault.words in (finding.cause or ""), finding
    hidden = name == "changed input" or fault.verdict == "rounding"  # whose output is that of a correct kernel
    assert (finding.worst_ratio > 1) is not hidden


@pytest.mark.parametrize("name", CORRECT)
def test_correct_kernel_is_not_accused(name: str) -> None:
    make, kind = CORRECT[name]
    finding = check(make(NAMESPACES["numpy" if len(name) % 2 else "torch"]), kind=kind, eps=EPS, d=24, name=name)
    assert finding.verdict == "rounding", finding
    assert finding.worst_ratio <= 1
