"""Attack the measurements from all sides and count what is right: the right result, or one clear line.

``make attack``, or ``python -m experiments.attack``, makes 1,000 attempts in an area, in those that run commands
several times 300, and one on lines of 1.5 GB; ``--times 10`` fewer, on shorter lines. It prints a table, writes it with
``--csv`` area by area, and exits with 1 if anything went wrong.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from lngeom.empirical.support import write_table

from . import files as files, given as given, networks as networks
from .scene import AREAS, Scene

_LINE = "{area:41} {tried:>6} {right:>6} {wrong:>6}"


def attacked(scene: Scene, name: str, times: float, end: float) -> dict[str, object]:
    """Attack one area until there were so many attempts or the time has come, but once at least."""
    (attempt, share), generator = AREAS[name], random.Random(name)
    tried, wrong = 0, list[str]()
    while tried == 0 or (tried < times * share and time.monotonic() < end):
        wrong += filter(None, [attempt(scene, generator)])
        tried += 1
    row = {"area": name, "tried": tried, "right": tried - len(wrong), "wrong": len(wrong)}
    print("\n    ".join([_LINE.format(**row), *wrong]), flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=float, default=1000, help="attempts in an area (default: %(default)s)")
    parser.add_argument("--area", default="", help="only areas whose name holds these words")
    parser.add_argument("--minutes", type=float, default=math.inf, help="try less often where it would take longer")
    parser.add_argument("--csv", type=Path, help="write the table")
    options = parser.parse_args()
    chosen, rows, end = [name for name in AREAS if options.area in name], [], time.monotonic() + 60 * options.minutes
    print(_LINE.format(area="area", tried="tried", right="right", wrong="wrong"))
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder), int(1500 * options.times**2))
        for place, name in enumerate(chosen):
            share = (end - time.monotonic()) / (len(chosen) - place)  # of the time that is left
            rows.append(attacked(scene, name, options.times, time.monotonic() + share))
            if options.csv:
                write_table(options.csv, rows)
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
