"""A call may take as much processor time as it is given, however long that is on a busy machine."""

import time

import numpy as np
import pytest

from empirical.check import check
from empirical.check._limits import Endless, limited


def _spin() -> None:
    while True:
        pass


def test_what_waits_is_not_ended_and_what_computes_is() -> None:
    with limited("a call", 0.1):
        time.sleep(0.5)
    with pytest.raises(Endless, match=r"a call does not end within 0.1 s of processor time"), limited("a call", 0.1):
        _spin()


def test_full_memory_is_no_verdict_on_a_kernel() -> None:
    def kernel(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if not weight.all():  # one of the other gains
            raise MemoryError
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * weight

    with pytest.raises(MemoryError):
        check(kernel, kind="rmsnorm", eps=1e-5, d=8)
