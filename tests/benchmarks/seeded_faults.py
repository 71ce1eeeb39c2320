"""Seeded faults and correct kernels in every installed framework: what is caught, what is named, who is accused.

``python tests/benchmarks/seeded_faults.py [--vectors 100000] [--csv FILE]``; exit code 1 if a fault is missed,
a correct kernel is accused, or fewer than nine in ten faults are named rightly.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from empirical.checking import check
from lngeom import tolerance

sys.path.insert(0, str(Path(__file__).parents[1] / "checking"))
from kernels import CORRECT, EPS, FAULTS  # pyright: ignore[reportMissingImports]

NAMESPACES = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy"}


def installed() -> dict[str, Any]:
    found = {}
    for name, module in NAMESPACES.items():
        try:
            found[name] = importlib.import_module(module)
        except ModuleNotFoundError:
            print(f"{name} is not installed: left out")
    return found


def faults(namespaces: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for framework, xp in namespaces.items():
        for name, fault in FAULTS.items():
            if name == "changed input" and framework == "jax":  # its arrays cannot be changed
                continue
            size = None if name == "wide rows" else 37 if "block" in fault.words or "multiple" in fault.words else 16
            found = check(fault.make(xp), kind=fault.kind, eps=EPS, d=size, name=name)
            caught = found.verdict != "rounding"
            named = found.verdict == fault.verdict and fault.words in (found.cause or "")
            rows.append({"framework": framework, "fault": name, "verdict": found.verdict, "cause": found.cause,
                         "caught": caught, "named": named, "input": found.input})  # fmt: skip
            if not (caught and named):
                print(f"{framework}, {name}: {found.verdict}, {found.cause}")
    return rows


def accusations(namespaces: dict[str, Any], vectors: int) -> int:
    """Correct kernels that the order-free test accuses, each on `vectors` rows of many kinds."""
    accused, rng = 0, np.random.default_rng(0)
    for framework, xp in namespaces.items():
        for name, (make, kind) in CORRECT.items():
            kernel, left, d = make(xp), vectors, 24
            gain, bias = rng.normal(size=(2, d)).astype(np.float32)
            while left > 0:
                n = min(left, 20_000)
                x = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 3, (n, 1))
                x += rng.normal(size=(n, 1)) * 10.0 ** rng.uniform(-6, 5, (n, 1))
                x = x.astype(np.float32)
                made = [importlib.import_module("torch").tensor(a) if framework == "torch" else xp.asarray(a)
                        for a in (x, gain, bias)]  # fmt: skip
                given = made if kind == "layernorm" else made[:2]
                allowed = tolerance(x, gain, bias if kind == "layernorm" else None, eps=EPS, kind=kind)
                told = allowed.accepts(np.asarray(kernel(*given)))
                if not told:
                    accused += 1
                    print(f"accused: {framework}, {name}: {told.reason}")
                    break
                left -= n
    return accused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=100_000, help="rows for each correct kernel")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    namespaces = installed()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows = faults(namespaces)
        accused = accusations(namespaces, arguments.vectors)
    caught, named = (sum(row[key] for row in rows) for key in ("caught", "named"))
    print(f"{len(rows)} faults: {caught} caught, {named} named rightly ({100 * named / len(rows):.1f} %)")
    print(f"{len(CORRECT) * len(namespaces)} correct kernels, {arguments.vectors} vectors each: {accused} accused")
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return int(caught < len(rows) or accused > 0 or named < 0.9 * len(rows))


if __name__ == "__main__":
    sys.exit(main())
