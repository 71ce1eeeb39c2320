"""The zoo of publicly reported faults, each rebuilt in ``tests/kernels`` and run through the check: a few minutes.

``python -m experiments.norm_bug_zoo docs/results/norm_bug_zoo.csv`` writes the table anew but for the faults that were
held out, which were tried once; exit code 1 if another is missed.
"""

import re
import sys
from pathlib import Path

from lngeom.empirical.support import read_table, write_table
from tests.kernels.reported import STAND_INS


def row(name: str) -> dict[str, str]:
    """A line of the table: the verdict on the stand-in, whether it is the right one, and a link to each thread."""
    stand_in = STAND_INS[name]
    finding, threads = stand_in.finding(name), stand_in.threads.split()
    links = (f"[{path.split('/')[1]} {path.split('/')[-1]}](https://github.com/{path})" for path in threads)
    return {
        "fault": name,
        "threads": ", ".join(links),
        "verdict": finding.verdict,
        "name": finding.cause or "",
        "caught": "yes" if re.search(stand_in.says, f"{finding.verdict}: {finding.cause}") else "no",
        "held out": "",
    }


def main(table: Path) -> int:
    """Writes the table and prints the counts; returns the exit code."""
    rows = [row(name) for name in STAND_INS]
    write_table(table, [*rows, *(each for each in read_table(table) if each["held out"])])
    missed = [each for each in rows if each["caught"] == "no"]
    for each in missed:
        print(f"not caught: {each['fault']}: {each['verdict']}: {each['name']}")
    print(f"{len(rows) - len(missed)} of {len(rows)} faults caught")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
