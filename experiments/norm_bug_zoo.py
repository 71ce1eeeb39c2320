"""The zoo of publicly reported faults, each rebuilt in ``tests/kernels`` and run through the check: a few minutes.

``python -m experiments.norm_bug_zoo docs/results/norm_bug_zoo.csv`` writes the table; exit code 1 if a fault that was
not held out is missed.
"""

import sys
from pathlib import Path

from empirical.check import check
from empirical.support import write_table
from tests.kernels.held_out import HELD_OUT
from tests.kernels.reported import STAND_INS, StandIn


def row(stand_in: StandIn) -> dict[str, str]:
    """A line of the table: the verdict on the stand-in, whether it is the right one, and a link to each thread."""
    finding = check(stand_in.kernel, name=stand_in.name, **stand_in.options)
    told = [finding.cause or "", *finding.notes]
    name = next((text for text in told if stand_in.words in text), told[0])
    right = finding.verdict in stand_in.verdict.split(" or ") and stand_in.words in name
    links = (f"[{path.split('/')[1]} {path.split('/')[-1]}](https://github.com/{path})" for path in stand_in.threads)
    return {
        "fault": stand_in.name,
        "threads": ", ".join(links),
        "verdict": finding.verdict,
        "name": name,
        "caught": "yes" if right else "no",
        "held out": "yes" if stand_in in HELD_OUT else "",
    }


def main(table: Path) -> int:
    """Writes the table and prints the counts; returns the exit code."""
    rows = [row(stand_in) for stand_in in (*STAND_INS, *HELD_OUT)]
    write_table(table, rows)
    missed = [each for each in rows if each["caught"] == "no"]
    for each in missed:
        print(f"not caught: {each['fault']}: {each['verdict']}: {each['name']}")
    print(f"{len(rows) - len(missed)} of {len(rows)} faults caught, {len(HELD_OUT)} of them held out")
    return int(any(not each["held out"] for each in missed))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
