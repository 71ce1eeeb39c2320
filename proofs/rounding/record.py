"""The theorems about rounding compiled in Coq with Flocq, their axioms, and the record of it."""

import functools
import json
import re
from pathlib import Path
from typing import Any

from lngeom.theorems import CheckError

from .._coqc import Library

SOURCES = Path(__file__).parent

RECORD = SOURCES / "results.json"
"""The record of the last :func:`check`."""

THEOREMS = {
    "a sum in any order": "Sums.sum_any_order",
    "a sum of bounded chains": "Sums.partial_height",
    "a mean": "Means.mean_error",
    "a divided sum": "Means.divided_mean_error",
    "a mean square": "Means.mean_square_error",
    "the scale": "Components.scale_bound",
    "a component": "Components.output_error",
    "LayerNorm": "Family.layer_norm_never_accused",
    "LayerNorm that subtracts first": "Family.subtracting_never_accused",
    "RMSNorm": "Family.rms_norm_never_accused",
    "merged means": "Merging.merged_mean",
    "merged variances": "Variances.merged_variance_error",
    "four positive numbers": "Decision.refuted_outside",
    "LayerNorm in the four formats": "Formats.layer_norm_accepted",
    "LayerNorm with a folded bias": "Formats.folded_layer_norm_accepted",
    "RMSNorm in the four formats": "Formats.rms_norm_accepted",
}
"""Each theorem in words, and its name."""

_PROJECT = (SOURCES / "_CoqProject").read_text(encoding="utf-8").split()
COQ = Library(
    "Rounding", SOURCES, tuple(line.removesuffix(".v") for line in _PROJECT if line.endswith(".v")), "Flocq",
    r"Flocq.*(physical path|locate library|Cannot find)|(physical path|locate library|Cannot find).*Flocq",
    "`apt install coq libcoq-flocq`",
)  # fmt: skip


def check(folder: Path) -> dict[str, Any]:
    """Compile the theorems in `folder`, list their axioms, and have ``coqchk`` check everything; returns the record.

    Raises:
        InputError: Where Coq or Flocq is not installed.
        CheckError: If Coq refuses a file, or its checker names other axioms.
    """
    COQ.build(folder)
    stated = ", ".join(f"@{theorem}" for theorem in THEOREMS.values())
    audit = f"From Rounding Require {' '.join(COQ.modules)}.\nDefinition everything := ({stated}).\n"
    assumed = COQ.compile(folder, "Audit", audit + "Print Assumptions everything.\n")
    axioms = sorted(set(re.findall(r"^(?:\w+\.)*(\w+)\s*:", assumed, re.MULTILINE)) - {"Axioms"})
    summary = COQ.run(folder, "coqchk", "-silent", "-o", "-Q", ".", "Rounding", "Rounding.Audit")
    named = summary.partition("* Axioms:")[2].partition("*")[0].split()
    checked = sorted(name.rpartition(".")[2] for name in named)
    if axioms != checked:
        raise CheckError(f"Print Assumptions names {axioms}, coqchk {checked}")
    version = COQ.run(folder, "coqc", "-print-version").split()[0]
    return {"coq": version, "axioms": axioms, "sources": COQ.hashes(), "theorems": THEOREMS}


@functools.cache
def recorded() -> dict[str, Any]:
    """The record of the last check, if it was of the files as they are; otherwise an empty one.

    >>> from lngeom.proofs.rounding import recorded
    >>> "sig_forall_dec" in recorded()["axioms"]
    True
    """
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return record if record.get("sources") == COQ.hashes() else {}
