"""Time of `import lngeom`, of a command's help and of showing a finished run, beside `import numpy`: fresh processes.

    python experiments/benchmarks/bench_import.py [--rounds 20]

They alternate; other work on the machine lengthens all of them. The best of the rounds and the CPU seconds are what to
read; the ratios are medians over the rounds.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import finish, in_turn, parser, ratio  # pyright: ignore[reportMissingImports]

MODEL = {"model_type": "llama", "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1}
SWEEP = "-m lngeom sweep tiny --random-weights --tokens 64 --sequence-length 16 --device cpu"
WORK = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import lngeom": ["-c", "import lngeom"],
    "import lngeom, scipy.special": ["-c", "import lngeom, scipy.special"],
    "lngeom prove --help": ["-m", "lngeom", "prove", "--help"],
    "lngeom sweep --help": ["-m", "lngeom", "sweep", "--help"],
    "a finished run": SWEEP.split(),  # the round that warms up finishes it
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
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("tiny").mkdir()
        Path("tiny/config.json").write_text(json.dumps({**MODEL, "num_attention_heads": 2}), encoding="utf-8")
        start = partial(subprocess.run, stdout=subprocess.DEVNULL, check=True)
        work = {name: partial(start, [sys.executable, *words]) for name, words in WORK.items()}
        times = in_turn(work, options.rounds, wall_and_cpu)
        os.chdir(home)
    walls, cpus = ({name: [row[k] for row in rows] for name, rows in times.items()} for k in (0, 1))
    peer = "import numpy, CPU seconds"
    results = [{"work": name, "peer": peer, **ratio(cpus[name], cpus["import numpy"])} for name in WORK]
    finish(options.json, results)
    # An import runs on one thread: CPU seconds are a lower bound of the wall time, whatever else the machine does.
    more = max(min(used["import lngeom"]) - min(used["import numpy"]) for used in (walls, cpus))
    verdict = "met" if more < 0.2 else "MISSED"
    print(f"lngeom costs {1e3 * more:.1f} ms more than numpy alone; the aim, less than 200 ms, is {verdict}")


if __name__ == "__main__":
    main()
