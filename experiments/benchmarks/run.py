"""All benchmarks by one command, into one results file.

    python experiments/benchmarks/run.py                       # everything, an hour on two cores
    python experiments/benchmarks/run.py --quick               # ten minutes
    python experiments/benchmarks/run.py --only norms peers    # parts

The peers of the sweep need an environment of their own and run when they are named: make bench-peers.

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
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "results" / "benchmarks.json"
PARTS = {
    "import": (["bench_import.py"], ["--rounds", "5"]),
    "norms": (["bench_norms.py", "--compiled"], ["--shape", "2048", "1024"]),
    "axes": (["bench_axes.py"], ["--quick"]),
    "proofs": (["bench_proofs.py"], ["--limit", "3"]),
    "sweep": (["bench_sweep.py", "--batch-size", "4", "--seconds", "120"], ["--seconds", "20"]),
    "compiled": (["bench_sweep.py", "--compiled", "--batch-size", "4", "--seconds", "120"], ["--seconds", "20"]),
    "directions": (
        ["bench_sweep.py", "--directions", "2", "64", "256", "--batch-size", "4", "--seconds", "60"],
        ["--sequence-length", "128", "--seconds", "10"],
    ),
    "tokens": (
        ["bench_sweep.py", "--batch-size", "1", "4", "16", "--seconds", "60"],
        ["--sequence-length", "128", "--seconds", "10"],
    ),
    "shapes": (
        ["bench_sweep.py", "--all", "--blocks", "2", "--batch-size", "4", "--seconds", "30"],
        ["--blocks", "1", "--batch-size", "1", "--seconds", "2"],
    ),
    "floor": (["bench_floor.py"], ["--rounds", "3"]),
    "memory": (["bench_sweep.py", "--memory", "10000", "50000"], ["--batch-size", "2", "--memory", "2048", "8192"]),
    "models": (["bench_models.py"], ["--width", "256", "--rounds", "5"]),
    "peers": (["bench_peers.py"], ["--batch-size", "2", "--rounds", "3"]),
}
"""Script with its options, and what the quick form adds."""
TITLES = {
    "import": "Loading the library",
    "norms": "Norms against PyTorch's own",
    "axes": "Principal axes against dense LAPACK",
    "proofs": "A proof for every dimension against SymPy at one",
    "sweep": "SmolLM2",
    "compiled": "The same, reduced by one compiled kernel",
    "directions": "SmolLM2 with other numbers of random directions",
    "tokens": "SmolLM2 with other batches",
    "shapes": "Seven models at their true width, a block or two of each, random weights",
    "floor": "What it is made of",
    "memory": "Peak memory from the first pass on, SmolLM2",
    "models": "Folded networks, and a training that is measured, each against what it was",
    "peers": "The same table by other means, each against the bare forward pass",
}
PAGES = {
    "cost": ("sweep", "compiled", "directions", "tokens", "shapes", "floor", "memory", "models"),
    "benchmarks": ("import", "norms", "axes", "proofs", "peers"),
}
"""Which page of the site has the tables of which parts."""
DIVISIONS = (("axes", "eigh"), ("axes", "svd"), ("lengths", "eigvalsh"), ("lengths", "dlasd4"))


def rows(part: str, found: dict[str, Any]) -> Iterator[tuple[str, str, float, float | None, float | None]]:
    """Work, peer, ratio of our time to the peer's, smallest and largest ratio (None where there is one)."""
    for row in found.get("results", ()):
        spread = row.get("low", row.get("ratio_low")), row.get("high", row.get("ratio_high"))
        if part == "peers":
            work = f"{row['peer'].replace('_', ' ')}, {row['places']} places, {row['peak_megabytes']:.0f} MB"
            yield work, "bare pass", row["ratio"], *spread
        elif part == "memory":
            work = f"{row['tokens']:,} tokens, {row['observed_mb']:.0f} MB beside {row['bare_mb']:.0f} MB"
            yield work, "bare pass", row["observed_mb"] / row["bare_mb"], None, None
        elif "model" in row:
            sequences, length = row["batch"]
            work = f"{row['model']}, d = {row['d']}, {sequences} × {length} tokens, K = {row['directions']}"
            yield work, "bare pass", row["ratio"], *spread
        else:
            yield row["work"], found["peer"], row["ratio"], *spread
    for record in found.get("records", ()):
        for ours, peer in DIVISIONS:
            if peer in record:
                yield f"{ours}, d = {record['d']:.0f}", peer, record[ours] / record[peer], None, None
    for row in found.get("sympy", ()):
        peer = f"SymPy at d = {row['d']}" + ("" if row["seen"] else ", which does not see it")
        yield f"{row['theorem']}, every d", peer, row["kernel"] / row["sympy"], None, None


def seconds_of(found: dict[str, Any]) -> Iterator[str]:
    """What a proof part says in seconds, in words."""
    if "kernel_seconds" in found:
        yield (
            f"All {found['theorems']} theorems: kernel {found['kernel_seconds']:.1f} s, median "
            f"{found['kernel_median_ms']:.0f} ms, at most {found['kernel_slowest_ms']:.0f} ms "
            f"(`{found['kernel_slowest']}`); second checker {found['second_checker_seconds']:.1f} s; Coq, once: "
            + ", ".join(f"{what} {took:.0f} s" for what, took in found["coq_seconds"].items())
            + "."
        )
        checks = (f"`{name}` {took:.2f} s" for name, took in found["checks"].items())
        yield "`check` of one kernel: " + ", ".join(checks) + "."
    if "stored_bytes" in found:
        yield f"What was stored took {found['stored_bytes'] / 1e6:,.0f} MB ({found['work']})."
    if "gigabytes_per_second" in found:
        rates = f"{found['gigabytes_per_second']:.0f} GB/s and {found['gigaflops_per_second']:.0f} Gflop/s"
        yield f"The two floors ran at {rates}, with {found['threads']} threads."


def tables(found: dict[str, Any], page: str) -> str:
    """The results of a page as the site shows them."""
    lines: list[str] = []
    for part in (part for part in PAGES[page] if part in found):
        lines += [f"## {TITLES[part]}", "", f"`{found[part]['command']}`", ""]
        lines += ["| work | peer | time / peer | smallest to largest |", "|---|---|---:|---:|"]
        for work, peer, ratio, low, high in rows(part, found[part]):
            spread = "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
            lines.append(f"| {work} | {peer} | {ratio:.4g} | {spread} |")
        lines.append("")
        for line in filter(None, (*seconds_of(found[part]), _where(found[part]))):
            lines += [line, ""]
    return "\n".join(lines)


def _where(found: dict[str, Any]) -> str:
    named = found.get("peer_versions", found.get("versions", {}))
    return ", ".join([found.get("hardware", ""), *(f"{name} {number}" for name, number in named.items())]).strip(", ")


def hardware() -> str:
    """Processor by its name, cores and load."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.machine())}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[part for part in PARTS if part != "peers"])
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    failed = []
    for name in options.only:
        (script, *words), quick = PARTS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "part.json")
            words = [*words, *(quick if options.quick else ())]
            command = [sys.executable, str(HERE / script), *words, "--json", str(path)]
            print(f"== {name}", flush=True)
            where = hardware()
            if subprocess.run(command, check=False).returncode:
                failed.append(name)
                continue
            found[name] = json.loads(path.read_text())
        shown = ["python", f"experiments/benchmarks/{script}", *words]
        found[name] |= {
            "command": " ".join(shown),
            "hardware": where,
            "versions": {name: version(name) for name in ("lngeom", "numpy", "scipy", "torch", "transformers")},
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        for page in PAGES:
            options.json.with_name(f"{page}.txt").write_text(tables(found, page), encoding="utf-8")
    print(f"written to {options.json}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
