"""Arrays."""

from typing import Any


def check_arrays(theorem: Any) -> int:
    return 1
