"""All benchmarks by one command, into one results file.

    python tests/benchmarks/run.py                       # everything, half an hour on two cores
    python tests/benchmarks/run.py --quick               # ten minutes
    python tests/benchmarks/run.py --only norms peers    # parts

Each part is a script that can run alone; what it writes is kept as it is under its name, and the tables of the site
are made of it. A part that is not run keeps what an earlier run found.
"""

from __future__ import annotations

import argparse
import json
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
    "sweep": (["bench_sweep.py", "--seconds", "150"], ["--seconds", "60"]),
    "directions": (["bench_sweep.py", "--directions", "2", "256", "--seconds", "60"], ["--seconds", "20"]),
    "tokens": (["bench_sweep.py", "--batch-size", "1", "4", "16", "--seconds", "60"], ["--seconds", "20"]),
    "shapes": (
        ["bench_sweep.py", "--all", "--blocks", "2", "--batch-size", "4", "--seconds", "30"],
        ["--seconds", "5"],
    ),
    "models": (["bench_models.py"], ["--width", "256", "--rounds", "5"]),
    "peers": (["bench_peers.py"], ["--batch-size", "2", "--rounds", "3"]),
}
"""Script with its options, and what the quick form adds."""
TITLES = {
    "import": "Loading the library",
    "norms": "Norms against PyTorch's own",
    "axes": "Principal axes against dense LAPACK",
    "proofs": "A proof for every dimension against SymPy at one",
    "sweep": "A measured forward pass against the bare one",
    "directions": "The same with other numbers of random directions",
    "tokens": "The same with other batches",
    "shapes": "The seven models with two blocks each, random weights",
    "models": "Folded networks, and a training that is measured, each against what it was",
    "peers": "The same table by other means, each against the bare forward pass",
}
DIVISIONS = (("axes", "eigh"), ("axes", "svd"), ("lengths", "eigvalsh"), ("lengths", "dlasd4"))


def rows(part: str, found: dict[str, Any]) -> Iterator[tuple[str, str, float, float | None, float | None]]:
    """Work, peer, ratio of our time to the peer's, smallest and largest ratio (None where there is one)."""
    for row in found.get("results", ()):
        spread = row.get("low", row.get("ratio_low")), row.get("high", row.get("ratio_high"))
        if part == "peers":
            yield f"{row['peer'].replace('_', ' ')}, {row['places']} places", "bare pass", row["ratio"], *spread
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


def tables(found: dict[str, Any]) -> str:
    """All results as the site shows them."""
    lines: list[str] = []
    for part in (part for part in PARTS if part in found):
        lines += [f"## {TITLES[part]}", "", f"`{found[part]['command']}`", ""]
        lines += ["| work | peer | time / peer | smallest to largest |", "|---|---|---:|---:|"]
        for work, peer, ratio, low, high in rows(part, found[part]):
            spread = "" if low is None or high is None else f"{low:.3g} to {high:.3g}"
            lines.append(f"| {work} | {peer} | {ratio:.3g} | {spread} |")
        lines.append("")
    return "\n".join(lines)


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
            words = [*words, *(quick if options.quick else ())]
            command = [sys.executable, str(HERE / script), *words, "--json", str(path)]
            print(f"== {name}", flush=True)
            if subprocess.run(command, check=False).returncode:
                failed.append(name)
                continue
            found[name] = json.loads(path.read_text())
        shown = ["python", f"tests/benchmarks/{script}", *words]
        found[name] |= {
            "command": " ".join(shown),
            "hardware": f"{platform.machine()}, {platform.system()}",
            "versions": {name: version(name) for name in ("lngeom", "numpy", "scipy", "torch", "transformers")},
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        options.json.with_suffix(".txt").write_text(tables(found), encoding="utf-8")
    print(f"written to {options.json}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
