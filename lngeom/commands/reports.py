"""Verdicts on several kernels, as continuous integration reads them: a table, annotations, JUnit."""

import platform
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import lngeom
from lngeom.errors import InputError
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
        passed: Whether it passes, or fails as is expected.
        expected: The text that its cause is expected to contain, empty where it is expected to pass.
    """

    name: str
    finding: "Finding | None"
    error: str
    passed: bool
    expected: str = ""

    @property
    def told(self) -> str:
        """Verdict and cause in one line."""
        if self.finding is None:
            return printable(f"not checked: {self.error}")
        verdict = printable(self.finding.headline(self.passed if not self.expected else None))
        if not self.expected:
            return verdict
        return f"{verdict} (as expected)" if self.passed else f"{verdict} (expected: {self.expected})"

    def record(self) -> Json:
        """The JSON form of a kernel that was checked."""
        finding = {} if self.finding is None else self.finding.record()
        return {"name": self.name, "passed": self.passed, **finding}


def expectations(path: Path | None) -> dict[str, str]:
    """Which kernels fail, with a text of the cause: lines ``KERNEL TEXT``; ``#`` begins a comment.

    Raises:
        InputError: The file cannot be read, or a line has no text.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; give lines KERNEL TEXT in UTF-8") from error
    pairs = [line.split(maxsplit=1) for line in (line.partition("#")[0].strip() for line in lines) if line]
    if short := [pair[0] for pair in pairs if len(pair) < 2]:
        raise InputError(f"{path}: {short[0]} has no cause: write KERNEL and a text that the cause contains")
    return {pair[0]: pair[1] for pair in pairs}


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


def write_junit(outcomes: list[Outcome], path: Path) -> None:
    """JUnit's XML: a case for each kernel, with a failure, or an error where the check could not run."""
    failures, errors = sum(bool(o.finding) and not o.passed for o in outcomes), sum(bool(o.error) for o in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors)}
    suite = ElementTree.Element("testsuite", {"name": "lngeom check", **counts})
    for one in outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname="lngeom.check", name=printable(one.name))
        if not one.passed:
            kind = "failure" if one.finding else "error"
            ElementTree.SubElement(case, kind, message=one.told).text = printable(str(one.finding or one.error))
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def versions() -> dict[str, str]:
    """Versions of Python, of the platform, and of every loaded package that norms come from."""
    loaded = {name: version(name) for name in _PACKAGES if name in sys.modules}
    machine = {"python": platform.python_version(), "platform": platform.platform()}
    return {**machine, "lngeom": lngeom.__version__, **loaded}
