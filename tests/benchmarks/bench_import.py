"""Time of `import lngeom` beyond `import numpy`, in fresh processes, alternating.

    python tests/benchmarks/bench_import.py [--rounds 20]

Other work on the machine lengthens both; the best of the rounds and the CPU seconds are what to read.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

STATEMENTS = {
    "python": "pass",
    "numpy": "import numpy",
    "lngeom": "import lngeom",
    "lngeom, scipy.special": "import lngeom, scipy.special",
}


def cpu_seconds() -> float:
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(statement: str) -> tuple[float, float]:
    """Wall and CPU seconds of a process that runs `statement`."""
    before, start = cpu_seconds(), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    wall, used = time.perf_counter() - start, cpu_seconds() - before
    return wall, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="processes of each kind (default: 20)")
    parser.add_argument("--json", type=Path, help="write the ratios to this file")
    options = parser.parse_args()
    rounds = options.rounds
    measure(STATEMENTS["lngeom"])  # bytecode and disk cache
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for _ in range(rounds):
        for name, statement in STATEMENTS.items():
            times[name].append(measure(statement))
    best = {name: [min(column) for column in zip(*rows, strict=True)] for name, rows in times.items()}
    print(f"Python {sys.version.split()[0]}, {rounds} processes each, best")
    print(f"{'import':24}{'wall ms':>10}{'CPU ms':>10}{'wall / numpy':>14}")
    for name, (wall, used) in best.items():
        print(f"{name:24}{1e3 * wall:10.1f}{1e3 * used:10.1f}{wall / best['numpy'][0]:14.2f}")
    # An import runs on one thread: CPU seconds are a lower bound of the wall time, whatever else the machine does.
    more = max(best["lngeom"][i] - best["numpy"][i] for i in (0, 1))
    verdict = "met" if more < 0.2 else "MISSED"
    if options.json:
        results = [
            {"work": f"import {name}", "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}
            for name in STATEMENTS
            if (ratios := sorted(a[0] / b[0] for a, b in zip(times[name], times["numpy"], strict=True)))
        ]
        about = {"command": " ".join(["python", *sys.argv]), "peer": "import numpy"}
        options.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n", encoding="utf-8")
    print(f"lngeom costs {1e3 * more:.1f} ms more than numpy alone; the aim, less than 200 ms, is {verdict}")


if __name__ == "__main__":
    main()
