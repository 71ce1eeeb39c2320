"""All benchmarks by one command, into one results file.

    python tests/benchmarks/run.py                       # everything, half an hour on two cores
    python tests/benchmarks/run.py --quick               # ten minutes
    python tests/benchmarks/run.py --only norms peers    # parts

Each part is a script that can run alone; what it writes is kept as it is under its name. A part that is not run keeps
what an earlier run found.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "results" / "benchmarks.json"
PARTS = {
    "import": (["bench_import.py"], ["--rounds", "5"]),
    "norms": (["bench_norms.py", "--compiled"], ["--shape", "2048", "1024"]),
    "axes": (["bench_axes.py"], ["--quick"]),
    "sweep": (["bench_sweep.py", "--seconds", "150"], ["--seconds", "60"]),
    "peers": (["bench_peers.py"], ["--batch-size", "2", "--rounds", "3"]),
}
"""Script with its options, and what the quick form adds."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    failed = []
    for name in options.only:
        (script, *words), quick = PARTS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "part.json")
            command = [
                sys.executable,
                str(HERE / script),
                *words,
                *(quick if options.quick else ()),
                "--json",
                str(path),
            ]
            print(f"== {name}", flush=True)
            if subprocess.run(command, check=False).returncode:
                failed.append(name)
                continue
            found[name] = json.loads(path.read_text())
        shown = ["python", f"tests/benchmarks/{script}", *words, *(quick if options.quick else ())]
        found[name] |= {
            "command": " ".join(shown),
            "hardware": f"{platform.machine()}, {platform.system()}",
            "versions": {name: version(name) for name in ("lngeom", "numpy", "scipy", "torch", "transformers")},
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written to {options.json}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
