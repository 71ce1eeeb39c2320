"""Replay every proof in Coq, by a checker that is itself proved sound there.

The certificates of all theorems are written, their statements as the library's own functions compute them. Coq compiles
the checker with the proof of its soundness, replays each certificate by computation, derives a readable theorem from
it, proves the last steps on top, and shows that nothing rests on an axiom. Needs Coq 8.16 with mathcomp.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from .._registry import theorems
from .._theorem import CheckError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``lngeom verify``."""
    parser.add_argument("--results", type=Path, metavar="FILE", help="record of the run (default: in the package)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep certificates and Coq files in DIR")


def run(arguments: argparse.Namespace) -> int:
    """Replay all proofs and write what was found."""
    from ..certificates import RESULTS, verify, write

    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        certificates = write(theorems(), folder)
        try:
            found = verify(certificates, folder, lambda line: print(line, flush=True))
        except CheckError as error:
            print(f"FAULT: {error}", file=sys.stderr)
            return 1
    (arguments.results or RESULTS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(
        f"{found['replayed']} of {found['exported']} certificates replayed in Coq {found['coq']}, "
        f"{len(found['last_steps'])} last steps proved, axioms: none; {sum(found['seconds'].values()):.0f} s"
    )
    return 0
