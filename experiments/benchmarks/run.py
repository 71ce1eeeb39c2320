"""All benchmarks by one command, into one results file.

    python experiments/benchmarks/run.py                       # everything, an hour on two cores
    python experiments/benchmarks/run.py --only sweep tokens   # parts

Each part is a script that can run alone; what it writes is kept as it is under its name, and the tables of the site
are made of it. A part that is not run keeps what an earlier run found.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "results" / "benchmarks.json"


class Part(NamedTuple):
    """The title on the site, and a script with its options."""

    title: str
    command: str


_SWEEP = "bench_sweep.py --cpu-time --sequence-length 256 --batch-size"
PARTS = {
    "sweep": Part(
        "SmolLM2, every token projected on the random directions, and one in eight",
        f"{_SWEEP} 4 --null-every 1 8 --seconds 90",
    ),
    "directions": Part(
        "SmolLM2 with other numbers of random directions, every token projected",
        f"{_SWEEP} 4 --directions 2 64 256 --null-every 1 --seconds 20",
    ),
    "tokens": Part("SmolLM2 with other batches", f"{_SWEEP} 1 4 16 --seconds 20"),
    "shapes": Part(
        "Seven models at their true width, a block or two of each, random weights",
        f"{_SWEEP} 2 --all --blocks 2 --seconds 20",
    ),
}  # fmt: skip


def tables(records: dict[str, Any]) -> str:
    """The results as the site shows them."""
    lines: list[str] = []
    for name, part in PARTS.items():
        if name in records:
            record = records[name]
            lines += [f"## {part.title}", "", f"`{record['command']}`", ""]
            lines += ["| work | peer | time / peer | smallest to largest |", "|---|---|---:|---:|"]
            for row in record["results"]:
                spread = f"{row['low']:.4g} to {row['high']:.4g}" if "low" in row else ""
                lines.append(f"| {row['work']} | {row['peer']} | {row['ratio']:.4g} | {spread} |")
            where = [record["hardware"], *(" ".join(library) for library in record["versions"].items())]
            lines += ["", ", ".join(where), ""]
    return "\n".join(lines)


def hardware() -> str:
    """Processor by its name, cores and load."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.machine())}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def measured(part: Part) -> dict[str, Any] | None:
    """The record of a part, made by its script; None if that fails."""
    script, *words = part.command.split()
    where = hardware()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "part.json")
        if subprocess.run([sys.executable, str(HERE / script), *words, "--json", str(path)], check=False).returncode:
            return None
        results = json.loads(path.read_text())
    versions = {name: version(name) for name in ("lngeom", "numpy", "scipy", "torch", "transformers")}
    command = " ".join(["python", f"experiments/benchmarks/{script}", *words])
    return {"command": command, "hardware": where, "versions": versions, "results": results}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    records: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    failed = []
    for name in parser.parse_args().only:
        print(f"== {name}", flush=True)
        record = measured(PARTS[name])
        if record is None:
            failed.append(name)
            continue
        records[name] = record
        RESULTS.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
        RESULTS.with_name("cost.txt").write_text(tables(records), encoding="utf-8")
    print(f"written to {RESULTS}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
