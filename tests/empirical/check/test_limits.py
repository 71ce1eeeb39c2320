"""A call may take as much processor time as it is given, however long that is on a busy machine."""

import time

import pytest

from empirical.check._limits import Endless, limited


def _spin() -> None:
    while True:
        pass


def test_what_waits_is_not_ended_and_what_computes_is() -> None:
    with limited("a call", 0.1):
        time.sleep(0.5)
    with pytest.raises(Endless, match=r"a call does not end within 0.1 s of processor time"), limited("a call", 0.1):
        _spin()
