"""A second opinion on LayerNorm, by Coq: the same facts proved from scratch, where Coq is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

SOURCE = Path(__file__).parent / "coq" / "no_left_inverse.v"
"""Theorems about LayerNorm in the language of Coq and its library mathcomp."""

LIMIT = 60.0
"""Seconds that Coq may take: some twenty times what it needs."""

_NAME = re.compile(r"^Theorem (\w+)", re.MULTILINE)
_NO_LIBRARY = re.compile(r"(physical path|locate library).*\bmathcomp\b", re.DOTALL)
_NO_AXIOM = "Closed under the global context"


@dataclass(frozen=True)
class Opinion:
    """What Coq says.

    Attributes:
        status: "verified", "failed" or "not run".
        detail: The message of a failure, or why Coq was not run.
        seconds: Duration of the run; 0 where there was none.
        theorems: Names of the statements in the source.
    """

    status: Literal["verified", "failed", "not run"]
    detail: str
    seconds: float
    theorems: tuple[str, ...]

    def __str__(self) -> str:
        if self.status == "verified":
            return f"verified in {self.seconds:.1f} s"
        return f"{self.status}, {self.detail}"

    def as_json(self) -> dict[str, Any]:
        """The fields, for the evidence file."""
        return asdict(self)


def second_opinion(source: str | None = None, limit: float = LIMIT) -> Opinion:
    """Let Coq check the theorems, and that none of them rests on an axiom.

    Args:
        source: Text of a Coq file; default: that of `SOURCE`.
        limit: Seconds after which a run counts as failed.
    """
    source = SOURCE.read_text(encoding="utf-8") if source is None else source
    names = tuple(_NAME.findall(source))
    if not names:
        return Opinion("failed", "the source states no theorem", 0, names)
    program = shutil.which("coqc")
    if program is None:
        return Opinion("not run", "coqc is not installed", 0, names)
    # An axiom, a `Parameter` or an `Admitted` would satisfy Coq, but not this question.
    audit = "".join(f"Print Assumptions {name}.\n" for name in names)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        # The name must be an identifier of Coq, and the compiled file lands beside the source.
        Path(folder, SOURCE.name).write_text(f"{source}\n{audit}", encoding="utf-8")
        # Without the user's own settings (-q), and without mathcomp's warnings about itself (-w none).
        command = [program, "-q", "-w", "none", SOURCE.name]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, encoding="utf-8", timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return Opinion("failed", f"coqc had not finished after {limit:g} s", limit, names)
    seconds = time.perf_counter() - start
    if done.returncode:
        message = (done.stderr or done.stdout).strip() or f"coqc ended with code {done.returncode}"
        if _NO_LIBRARY.search(message):
            return Opinion("not run", "mathcomp, a library of Coq, is not installed", 0, names)
        return Opinion("failed", message, seconds, names)
    if done.stdout.count(_NO_AXIOM) != len(names):
        return Opinion("failed", f"a theorem rests on an axiom: {done.stdout.strip()}", seconds, names)
    return Opinion("verified", "", seconds, names)
