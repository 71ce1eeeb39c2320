"""The theorems about rounding compiled in Coq with Flocq, their axioms, and the record of it."""

import functools
import hashlib
import json
import re
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from lngeom.errors import InputError
from lngeom.theorems import CheckError

SOURCES = Path(__file__).parent

RECORD = SOURCES / "results.json"
"""What the last :func:`check` found."""

THEOREMS = {
    "a sum in any order": "Sums.sum_any_order",
    "a sum, classically": "Sums.sum_classical",
    "a sum of bounded chains": "Sums.partial_height",
    "a mean": "Means.mean_error",
    "a divided sum": "Means.divided_mean_error",
    "a mean square": "Means.mean_square_error",
    "the scale": "Components.scale_bound",
    "a component": "Components.output_error",
    "LayerNorm": "Family.layer_norm_never_accused",
    "LayerNorm that subtracts first": "Family.subtracting_never_accused",
    "RMSNorm": "Family.rms_norm_never_accused",
    "an accusation": "Decision.accused_is_wrong",
    "an accusation of RMSNorm": "Decision.accused_rms_is_wrong",
    "merged means": "Merging.merged_mean",
    "LayerNorm in the four formats": "Formats.layer_norm_accepted",
    "LayerNorm with a folded bias": "Formats.folded_layer_norm_accepted",
    "RMSNorm in the four formats": "Formats.rms_norm_accepted",
}
"""What is proved, and the name of the theorem."""

_LIMIT = 1800.0  # seconds: some fifty times what it needs


def check(folder: Path) -> dict[str, Any]:
    """Compile the theorems in `folder`, ask for their axioms, and let ``coqchk`` check all of it; the record.

    Raises:
        InputError: Where Coq or Flocq is not installed.
        CheckError: If Coq refuses a file, or its checker names other axioms.
    """
    names = [line.removesuffix(".v") for line in _project() if line.endswith(".v")]
    seconds = {}
    before = _cpu()
    for name in names:
        shutil.copy(SOURCES / f"{name}.v", folder)
        _run(folder, "coqc", "-q", "-R", ".", "Rounding", f"{name}.v")
    seconds["theorems"], before = round(_cpu() - before, 1), _cpu()
    stated = ", ".join(f"@{theorem}" for theorem in THEOREMS.values())
    audit = f"From Rounding Require {' '.join(names)}.\nDefinition everything := ({stated}).\n"
    (folder / "Audit.v").write_text(audit + "Print Assumptions everything.\n", encoding="utf-8")
    assumed = _run(folder, "coqc", "-q", "-R", ".", "Rounding", "Audit.v")
    axioms = sorted(set(re.findall(r"^(?:\w+\.)*(\w+)\s*:", assumed, re.MULTILINE)) - {"Axioms"})
    summary = _run(folder, "coqchk", "-silent", "-o", "-R", ".", "Rounding", "Rounding.Audit").partition("* Axioms:")[2]
    checked = sorted(name.rpartition(".")[2] for name in summary.partition("*")[0].split())
    seconds["coqchk"] = round(_cpu() - before, 1)
    if axioms != checked:
        raise CheckError(f"Print Assumptions names {axioms}, coqchk {checked}")
    version = _run(folder, "coqc", "-print-version").split()[0]
    return {"coq": version, "axioms": axioms, "seconds": seconds, "sources": _hashes(), "theorems": THEOREMS}


@functools.cache
def recorded() -> dict[str, Any]:
    """The record of the last check, if it was of the files as they are; otherwise an empty one.

    >>> from proofs.rounding import recorded
    >>> "sig_forall_dec" in recorded()["axioms"]
    True
    """
    found = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return found if found.get("sources") == _hashes() else {}


def _project() -> list[str]:
    return (SOURCES / "_CoqProject").read_text(encoding="utf-8").split()


def _hashes() -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(SOURCES.glob("*.v"))}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(folder: Path, *command: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        raise InputError(f"{command[0]} is not installed: `apt install coq libcoq-flocq`")
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, capture_output=True, encoding="utf-8", timeout=_LIMIT, check=False
    )
    if "Flocq" in done.stderr and re.search(r"(physical path|locate library|Cannot find)", done.stderr):
        raise InputError("Flocq, a library of Coq, is not installed: `apt install libcoq-flocq`")
    if done.returncode:
        raise CheckError(f"{done.stderr}\n{done.stdout}".strip())
    return done.stdout + done.stderr  # coqchk writes its summary to the latter
