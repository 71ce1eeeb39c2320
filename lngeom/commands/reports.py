"""Verdicts on several kernels, as continuous integration reads them: a table, and annotations."""

import contextlib
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import lngeom
from lngeom.files import Json
from lngeom.options import printable

if TYPE_CHECKING:
    from ..check import Finding

_PACKAGES = ("numpy", "torch", "jax", "onnx", "onnxruntime", "keras", "triton")


@dataclass(frozen=True)
class Outcome:
    """What came of one kernel.

    Attributes:
        finding: The finding, None where the check could not run.
        error: Why it could not.
        passed: Whether it passes.
    """

    name: str
    finding: "Finding | None"
    error: str
    passed: bool

    @property
    def told(self) -> str:
        """Verdict and cause in one line."""
        if self.finding is None:
            return printable(f"not checked: {self.error}")
        return printable(self.finding.headline(self.passed))

    def record(self) -> Json:
        """The JSON form of a kernel that was checked."""
        return {"name": self.name, "passed": self.passed, **({} if self.finding is None else self.finding.record())}


def table(outcomes: list[Outcome]) -> str:
    """A line for each kernel, and how many pass."""
    width = max(len(outcome.name) for outcome in outcomes)
    rows = [f"{'pass' if one.passed else 'FAIL'}  {one.name:{width}}  {one.told}" for one in outcomes]
    return "\n".join([*rows, f"{sum(one.passed for one in outcomes)} of {len(outcomes)} pass"])


def annotations(outcomes: list[Outcome]) -> str:
    """A command of GitHub's workflows for each kernel that fails, at its file where KERNEL names one."""
    lines = []
    for one in outcomes:
        name, told = (printable(text).replace("%", "%25").replace("\n", "%0A") for text in (one.name, one.told))
        name = name.replace(":", "%3A").replace(",", "%2C")
        file = name.partition("%3A")[0]
        where = f"file={file}," if file.endswith(".py") else ""
        lines += [] if one.passed else [f"::error {where}title=lngeom check {name}::{told}"]
    return "\n".join(lines)


def versions() -> dict[str, str]:
    """Versions of Python, of the platform, and of every loaded package that norms come from."""
    loaded = dict[str, str]()
    for name in (name for name in _PACKAGES if name in sys.modules):
        with contextlib.suppress(PackageNotFoundError):  # what stands for Triton is no package
            loaded[name] = version(name)
    machine = {"python": platform.python_version(), "platform": platform.platform()}
    return {**machine, "lngeom": lngeom.__version__, **loaded}
