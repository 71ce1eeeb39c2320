"""Attack the measurements from all sides and count what is right: the right result, or one clear line.

``make attack``, or ``python -m tests.faults.attack``, makes 1,000 attempts in an area, in those that run commands
several times 300, and one on lines of 1.5 GB; ``--times 10`` fewer, on shorter lines. It prints a table, exits with 1
if anything went wrong, and writes the table with ``--csv``, area by area.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from empirical.support import write_table

from .areas import AREAS
from .scene import Scene

_LINE = "{area:41} {tried:>6} {right:>6} {wrong:>6}"


def attack(
    base: Path, times: float, seed: int = 0, areas: str = "", minutes: float = math.inf
) -> Iterator[dict[str, Any]]:
    """Attack each area whose name holds some words, and print and yield its row of the table.

    What is left of the time is shared by the areas that are left; in each something is tried.
    """
    scene, end = Scene(base, int(1500 * times**2)), time.monotonic() + 60 * minutes
    chosen = [name for name in AREAS if areas in name]
    for place, name in enumerate(chosen):
        (attempt, share), generator = AREAS[name], random.Random(f"{name} {seed}")
        limit = time.monotonic() + (end - time.monotonic()) / (len(chosen) - place)
        tried, wrong = 0, list[str]()
        while tried == 0 or (tried < times * share and time.monotonic() < limit):
            wrong += filter(None, [attempt(scene, generator)])
            tried += 1
        row = {"area": name, "tried": tried, "right": tried - len(wrong), "wrong": len(wrong)}
        print("\n    ".join([_LINE.format(**row), *wrong]), flush=True)
        yield row


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=float, default=1000, help="attempts in an area (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", default="", help="only areas whose name holds these words")
    parser.add_argument("--minutes", type=float, default=math.inf, help="try less often where it would take longer")
    parser.add_argument("--csv", type=Path, help="write the table")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(_LINE.format(area="area", tried="tried", right="right", wrong="wrong"))
    with tempfile.TemporaryDirectory() as folder:
        for row in attack(Path(folder), arguments.times, arguments.seed, arguments.area, arguments.minutes):
            rows.append(row)
            if arguments.csv:
                write_table(arguments.csv, rows)
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(_main())
