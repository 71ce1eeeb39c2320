"""The pytest plugin of the project: one fixture, and nothing heavy loaded before it is used."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

__all__ = ["check_norm"]


@pytest.fixture
def check_norm() -> Callable[..., Any]:
    """``check_norm(target, allow=(), **options)`` fails the test unless `target` is right; returns the finding.

    Options are those of :func:`empirical.check.check`; `allow` names variants that are meant, such as ``"Llama"``.

    Examples
    --------
    >>> def test_my_norm(check_norm):
    ...     check_norm("mykernels:rms_norm", kind="rmsnorm", eps=1e-6, dtype="bfloat16", allow=["Llama"])
    """

    def run(target: Any, *, allow: Sequence[str] = (), **options: Any) -> Any:
        from .check import CheckFailed, check

        finding = check(target, **options)
        if not finding.passes(tuple(allow)):
            raise CheckFailed(str(finding))
        return finding

    return run
