"""Time of `import lngeom` beyond `import numpy`, in fresh processes, alternating.

    python tests/benchmarks/bench_import.py [--rounds 20]

Other work on the machine lengthens both; the best of the rounds and the CPU seconds are what to read.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

from harness import in_turn, parser, ratio, table, write  # pyright: ignore[reportMissingImports]

STATEMENTS = {
    "python": "pass",
    "numpy": "import numpy",
    "lngeom": "import lngeom",
    "lngeom, scipy.special": "import lngeom, scipy.special",
}


def wall_and_cpu(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of a child process."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, start = used(), time.perf_counter()
    run()
    return time.perf_counter() - start, used() - before


def main() -> None:
    options = parser(__doc__, rounds=20).parse_args()
    work = {
        name: lambda statement=statement: subprocess.run([sys.executable, "-c", statement], check=True)
        for name, statement in STATEMENTS.items()
    }
    times = in_turn(work, options.rounds, wall_and_cpu)
    best = {name: [min(column) for column in zip(*rows, strict=True)] for name, rows in times.items()}
    print(f"Python {sys.version.split()[0]}, {options.rounds} processes each, best")
    table(
        ("import", "wall ms", "CPU ms", "wall / numpy"),
        ((n, f"{1e3 * w:.1f}", f"{1e3 * c:.1f}", f"{w / best['numpy'][0]:.2f}") for n, (w, c) in best.items()),
    )
    # An import runs on one thread: CPU seconds are a lower bound of the wall time, whatever else the machine does.
    more = max(best["lngeom"][i] - best["numpy"][i] for i in (0, 1))
    walls = {name: [wall for wall, _ in rows] for name, rows in times.items()}
    results = [{"work": f"import {name}", **ratio(walls[name], walls["numpy"])} for name in STATEMENTS]
    write(options.json, peer="import numpy", results=results)
    verdict = "met" if more < 0.2 else "MISSED"
    print(f"lngeom costs {1e3 * more:.1f} ms more than numpy alone; the aim, less than 200 ms, is {verdict}")


if __name__ == "__main__":
    main()
