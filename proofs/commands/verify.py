"""Replay every proof in Coq, with a checker that Coq proves sound.

The command writes the certificates of all theorems, with their statements as the library's own functions compute them.
Coq compiles the checker with the proof of its soundness, replays each certificate by computation, derives a readable
theorem from it, proves the last steps from these theorems, and shows that no axiom is used. This needs Coq 8.16 with
mathcomp. Where Flocq is installed, the theorems about rounding are compiled and checked too; these use the axioms of
Coq's real numbers.

Given Python files, the command replays only the theorems that they state. Given certificates of ``lngeom check
--certificate``, or a folder of those of ``lngeom prove --certificates``, it replays only these, once the checker in
Python has accepted them, and prints what they state and the words in them. Such a run is not recorded.

Examples:
    lngeom verify
    lngeom verify --keep coq-files
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lngeom.errors import InputError
from lngeom.options import argument, option, printable, written
from lngeom.prover import ProofCertificate, ProofError
from lngeom.theorems import CheckError

from .._registry import away_from, blamed_on, stated_in, theorems


@dataclass(frozen=True)
class Options:
    """Where the record and the files go."""

    files: tuple[Path, ...] = argument(
        "FILE", "Python file that states theorems, certificates, or a folder of them", default=(), nargs="*"
    )
    results: Path | None = option(None, "record of the run (default: in the package)", metavar="FILE", type=written)
    keep: Path | None = option(None, "keep certificates and Coq files in DIR, and use the checker there", metavar="DIR")


def run(options: Options) -> int:
    """Replay all proofs and write the record; returns the exit code."""
    from ..certificates import RESULTS, audit, build_checker, read, replay, verify, write

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        try:
            if options.files:
                files = [file for given in options.files for file in sorted(given.glob("*.json")) or [given]]
                certificates = [data for file in files if file.suffix == ".json" for data in read(file)]
                own = [file for file in files if file.suffix != ".json"]

                def exported() -> list[ProofCertificate]:
                    with blamed_on(*own):
                        return write((theorem for file in own for theorem in stated_in(file)), folder)

                certificates += away_from(own, exported)
                build_checker(folder)
                audit(replay(certificates, folder), folder)
                print("\n".join(line for data in certificates for line in _told(data)))
                print(f"{len(certificates)} certificates replayed in Coq by a checker proved sound there; axioms: none")
                return 0
            record = verify(theorems(), folder, lambda line: print(line, flush=True))
        except (CheckError, ProofError) as error:
            print(printable(f"FAULT: {error}"), file=sys.stderr)
            return 1
    (options.results or RESULTS).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(
        f"{record['replayed']} of {record['exported']} certificates replayed in Coq {record['coq']}, with the last "
        f"steps; axioms: none; {sum(record['seconds'].values()):.0f} s"
    )
    return _rounding() if options.results is None else 0


def _told(data: ProofCertificate) -> Iterator[str]:
    """The replayed statement and the certificate's words: a theorem's, or the name of the code."""
    from ..certificates import reading

    hypotheses, conclusion, named = reading(data)
    yield f"{data['id']}: {conclusion}{', if ' * bool(hypotheses)}{' and '.join(hypotheses)}"
    yield from (f"  where {name}" for name in named)
    yield from (f"  {word}, as it says: {text}" for word, text in data["words"].items() if text)


def _rounding() -> int:
    """Check the theorems about rounding, where Flocq is installed, and write their record; returns the exit code."""
    from ..rounding import RECORD, check

    with tempfile.TemporaryDirectory() as temporary:
        try:
            record = check(Path(temporary))
        except InputError as error:
            print(f"the theorems about rounding were not checked: {error}")
            return 0
        except CheckError as error:
            print(f"FAULT: {error}", file=sys.stderr)
            return 1
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    axioms = ", ".join(record["axioms"])
    print(f"{len(record['theorems'])} theorems about rounding checked; axioms of the real numbers: {axioms}")
    return 0
