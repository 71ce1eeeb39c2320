"""Attack the measurements from all sides and count what is right: the right result, or one clear line.

``make attack``, or ``python -m tests.faults.attack``, makes 1,000 attempts in an area, in those that run commands
several times 300; ``--times 10`` fewer. It prints a table, exits with 1 if anything went wrong, and writes the table
with ``--csv``.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from pathlib import Path

from empirical.runs import write_table

from .areas import AREAS
from .scene import Scene


def attack(base: Path, times: float, seed: int = 0, areas: str = "") -> dict[str, list[str]]:
    """Attack each area whose name holds some words; returns what each attempt had wrong, by area."""
    scene, found = Scene(base), dict[str, list[str]]()
    for name, (attempt, share) in AREAS.items():
        generator = random.Random(f"{name} {seed}")
        if areas in name:
            found[name] = [attempt(scene, generator) for _ in range(math.ceil(times * share))]
            wrong = [each for each in found[name] if each]
            line = f"{name:41} {len(found[name]):6} {len(found[name]) - len(wrong):6} {len(wrong):6}"
            print("\n    ".join([line, *wrong]), flush=True)
    return found


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=float, default=1000, help="attempts in an area (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", default="", help="only areas whose name holds these words")
    parser.add_argument("--csv", type=Path, help="write the table")
    arguments = parser.parse_args()
    print(f"{'area':41} {'tried':>6} {'right':>6} {'wrong':>6}")
    with tempfile.TemporaryDirectory() as folder:
        found = attack(Path(folder), arguments.times, arguments.seed, arguments.area)
    wrong = {name: sum(map(bool, each)) for name, each in found.items()}
    if arguments.csv:
        tried = {name: len(each) for name, each in found.items()}
        rows = [{"area": n, "tried": tried[n], "right": tried[n] - wrong[n], "wrong": wrong[n]} for n in found]
        write_table(arguments.csv, rows)
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(_main())
