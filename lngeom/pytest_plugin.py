"""The pytest plugin of the project: it collects theorems, and has a fixture that checks a norm."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lngeom.theorems import Theorem

__all__ = ["check_norm"]

_LONGEST = 600
"""Characters of a message that are shown: the rest of a goal may fill pages."""


@pytest.fixture
def check_norm() -> Callable[..., object]:
    """``check_norm(target, allow=(), proved=False, **options)`` fails unless `target` is right; returns the finding.

    Options go to :func:`lngeom.check.check`; `allow` names variants that are meant, such as ``"Llama"``. With
    `proved` it fails too unless the norm is proved to be its definition, or an allowed variant, for every dimension::

        def test_my_norm(check_norm):
            check_norm("mykernels:rms_norm", kind="rmsnorm", eps=1e-6, dtype="bfloat16", allow=["Llama"])
    """

    def run(target: object, *, allow: Sequence[str] = (), proved: bool = False, **options: object) -> object:
        from lngeom.check import CheckFailed, check

        finding = check(target, **options)
        if not finding.passes(tuple(allow), proved=proved):
            raise CheckFailed(str(finding))
        return finding

    return run


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> pytest.Collector | None:
    """The checks of a theorem, in the file that states it."""
    theorems = sys.modules.get("lngeom.theorems")
    if theorems is None or not isinstance(obj, theorems.Theorem):
        return None
    theorem: Any = obj
    if theorem.file != collector.path:
        return None
    _keep_out_of_the_tree(collector.config)
    return TheoremChecks.from_parent(collector, name=name, theorem=theorem)


def _keep_out_of_the_tree(config: pytest.Config) -> None:
    """Moves Hypothesis's database into pytest's cache, or a temporary folder, unless one exists already."""
    cache = getattr(config, "cache", None)
    if "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ and not (config.rootpath / ".hypothesis").exists():
        folder = str(cache.mkdir("hypothesis")) if cache is not None else tempfile.mkdtemp(prefix="hypothesis-")
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder


class TheoremChecks(pytest.Collector):
    """The checks of one theorem."""

    def __init__(self, *, theorem: Theorem, **options: Any) -> None:
        super().__init__(**options)
        self.theorem = theorem

    def collect(self) -> Iterator[TheoremCheck]:
        """One item for the proof, the examples, arrays, each wrong variant and each necessary hypothesis."""
        from lngeom.theorems.checks import checks

        for name, check in checks(self.theorem):
            yield TheoremCheck.from_parent(self, name=name, theorem=self.theorem, check=check)


class TheoremCheck(pytest.Item):
    """One check of one theorem."""

    def __init__(self, *, theorem: Theorem, check: Callable[[], object], **options: Any) -> None:
        super().__init__(**options)
        self.theorem = theorem
        self.check = check

    def runtest(self) -> None:
        """Run the check."""
        self.check()

    def reportinfo(self) -> tuple[Path, int, str]:
        """The function that states the theorem."""
        return self.path, self.theorem.body.__code__.co_firstlineno, f"{self.theorem.body.__name__} [{self.name}]"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The line of the body that failed, the false statement, and its model."""
        from lngeom.errors import LngeomError
        from lngeom.theorems.checks import told

        error = excinfo.value
        inside = [entry for entry in excinfo.traceback if entry.path == self.path]
        if not isinstance(error, AssertionError | LngeomError) and not inside:
            return super().repr_failure(excinfo, style)
        lines = [f"{self.path.name}: {self.theorem.title}"]
        if inside:
            lines[0] = f"{self.path.name}:{inside[-1].lineno + 1}: {self.theorem.title}"
            lines += [f">   {line.strip()}" for line in str(inside[-1].statement).splitlines()]
        fully = self.config.get_verbosity() > 0
        shown = told(error, fully=fully) or [type(error).__name__]
        if not isinstance(error, AssertionError | LngeomError):
            shown[0] = f"{type(error).__name__}: {shown[0]}"
        shown = [line if fully or len(line) <= _LONGEST else line[:_LONGEST] + " …" for line in shown]
        return "\n".join(lines + [f"E   {line}" for line in shown])
