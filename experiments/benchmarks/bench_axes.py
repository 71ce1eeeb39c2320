"""Principal axes in O(d²) against dense LAPACK: time, memory and accuracy, all in one run.

    python experiments/benchmarks/bench_axes.py            # d = 512 to 8192, then lengths alone at 65,536
    python experiments/benchmarks/bench_axes.py --quick    # d = 256 to 1024, under a minute

Gains are 1 + 0.3 N(0, 1), like those of a trained layer. "axes" is lengths and all directions, "lengths" no
directions; eigh and eigvalsh act on GΠG, svd on GΠ, "dlasd4" is LAPACK's own secular solver called root by root.
Every method runs in a process of its own: time is the best of several calls, memory the peak of the first call above
the start. Other work on the machine distorts times, multithreaded LAPACK worst of all; then compare CPU seconds of
one thread: OPENBLAS_NUM_THREADS=1 python experiments/benchmarks/bench_axes.py --cpu
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from harness import parser, peak, table, write  # pyright: ignore[reportMissingImports]

import lngeom as lg

Record = dict[str, float]


def gain_of(d: int) -> np.ndarray:
    return 1 + 0.3 * np.random.default_rng(d).standard_normal(d)


def symmetric(gain: np.ndarray) -> np.ndarray:
    """Dense GΠG = G² − ggᵀ/d."""
    matrix = np.outer(gain, -gain / gain.size)
    matrix[np.diag_indices(gain.size)] += gain**2
    return matrix


def rectangular(gain: np.ndarray) -> np.ndarray:
    """Dense GΠ."""
    matrix = np.repeat((-gain / gain.size)[:, None], gain.size, axis=1)
    matrix[np.diag_indices(gain.size)] += gain
    return matrix


def lapack_secular(gain: np.ndarray) -> np.ndarray:
    """Lengths by dlasd4, which solves the equation with the largest pole eliminated; distinct gains only."""
    poles = np.sort(np.abs(gain))
    largest, poles = poles[-1], poles[:-1]
    z = np.sqrt((largest - poles) * (largest + poles))
    norm = float(np.linalg.norm(z))
    z /= norm
    (dlasd4,) = scipy.linalg.get_lapack_funcs(("lasd4",), (z,))
    roots = [dlasd4(i, poles, z, rho=norm**2 / gain.size)[1] for i in range(poles.size)]
    return math.sqrt(gain.size) * np.array(roots)[::-1]


METHODS: dict[str, Callable[[np.ndarray], Any]] = {
    "axes": lambda gain: lg.principal_axes(gain).directions,
    "lengths": lambda gain: lg.principal_axes(gain).semi_axes,
    "certificate": lambda gain: lg.principal_axes(gain).certificate(),
    "dlasd4": lapack_secular,
    "eigh": lambda gain: np.linalg.eigh(symmetric(gain)),
    "eigvalsh": lambda gain: np.linalg.eigvalsh(symmetric(gain)),
    "svd": lambda gain: np.linalg.svd(rectangular(gain)),
}


def residual(gain: np.ndarray, vectors: np.ndarray, roots: np.ndarray) -> float:
    """Largest entry of GΠGV − VΛ over the norm of GΠG."""
    product = (gain**2)[:, None] * vectors
    product -= np.outer(gain, gain @ vectors) / gain.size
    product -= vectors * roots
    return float(np.max(np.abs(product)) / np.max(roots))


def orthogonality(vectors: np.ndarray) -> float:
    """Largest entry of VᵀV − I over at most 512 of its rows, evenly spaced."""
    rows = np.unique(np.linspace(0, vectors.shape[1] - 1, 512).astype(int))
    gram = vectors[:, rows].T @ vectors
    gram[np.arange(rows.size), rows] -= 1
    return float(np.max(np.abs(gram)))


def errors(method: str, gain: np.ndarray, result: Any) -> Record:
    """Accuracy of the result of a method, against the certified roots."""
    certificate = lg.principal_axes(gain).certificate()
    reference = (0.5 * (certificate.lower + certificate.upper)) ** 2 / gain.size
    if method == "axes":
        found = {"residual": residual(gain, result, reference), "orthogonality": orthogonality(result)}
    elif method == "eigh":
        values, vectors = result
        found = {
            "residual": residual(gain, vectors, values),
            "orthogonality": orthogonality(vectors),
            "error": float(np.max(np.abs(values[:0:-1] / reference - 1))),
        }
    elif method == "certificate":
        found = {"width": float(np.max(certificate.offset_width))}
    else:
        roots = {
            "lengths": lambda: result**2 / gain.size,
            "dlasd4": lambda: result**2 / gain.size,
            "eigvalsh": lambda: result[:0:-1],
            "svd": lambda: result.S[:-1] ** 2,
        }[method]()
        found = {"error": float(np.max(np.abs(roots / reference - 1)))}
    return {f"{method} {name}": value for name, value in found.items()}


def run_here(method: str, d: int, clock: Callable[[], float], accuracy: bool) -> Record:
    """Time, memory and accuracy of one method in this process: up to five calls, or about two seconds."""
    function = METHODS[method]
    function(gain_of(16))  # load every library first
    gain, before, memory = gain_of(d), peak(), 0.0
    best, total, runs, result = math.inf, 0.0, 0, None
    while runs < 5 and (runs == 0 or total < 2.0):
        start = clock()
        result = function(gain)
        took = clock() - start
        best, total, runs = min(best, took), total + took, runs + 1
        memory = memory or (peak() - before)
    record = {method: best, f"{method} MB": memory}
    return record | errors(method, gain, result) if accuracy else record


def run_apart(method: str, d: int, options: argparse.Namespace, accuracy: bool = True) -> Record:
    """The same in a fresh process."""
    print(f"d = {d}: {method} ...", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--one", method, "--sizes", str(d)]
    command += ["--cpu"] * options.cpu + ["--no-accuracy"] * (not accuracy)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(d: int, options: argparse.Namespace) -> Record:
    record: Record = {"d": d}
    for method in METHODS:
        if method != "svd" or d <= options.svd_limit:
            record |= run_apart(method, d, options)
    for slow, fast in (("eigh", "axes"), ("svd", "axes"), ("eigvalsh", "lengths")):
        if slow in record:
            record[f"{slow}/{fast}"] = record[slow] / record[fast]
    return record


def show(title: str, columns: list[str], records: list[Record], form: str) -> None:
    print(f"\n{title}")
    cells = ([format(record[name], form) if name in record else "-" for name in columns] for record in records)
    table(["d", *columns], ([f"{record['d']:.0f}", *row] for record, row in zip(records, cells, strict=True)))


def exponents(records: list[Record]) -> Record:
    """Slopes of log time against log d by least squares."""
    fits = {}
    for name in METHODS:
        rows = np.log([(record["d"], record[name]) for record in records if name in record])
        if len(rows) > 2:
            fits[name] = float(np.polyfit(rows[:, 0], rows[:, 1], 1)[0])
    return fits


def main() -> None:
    made = parser(__doc__, svd_limit=8192, long=65536)
    made.add_argument("--quick", action="store_true", help="d = 256, 512, 1024 and no long vector")
    made.add_argument("--sizes", type=int, nargs="+", help="dimensions to measure")
    made.add_argument("--cpu", action="store_true", help="CPU seconds: for a machine that others use too")
    made.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    made.add_argument("--no-accuracy", action="store_true", help=argparse.SUPPRESS)
    options = made.parse_args()
    if options.one:
        clock = time.process_time if options.cpu else time.perf_counter
        print(json.dumps(run_here(options.one, options.sizes[0], clock, not options.no_accuracy)))
        return
    sizes = options.sizes or ([256, 512, 1024] if options.quick else [512, 1024, 2048, 4096, 8192])
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, {os.cpu_count()} CPUs{load}, numpy {np.__version__}, scipy {scipy.__version__}")

    records = [measure(d, options) for d in sizes]
    compared = [f"{name} error" for name in ("lengths", "dlasd4", "eigh", "eigvalsh", "svd")]
    parts = [f"{name} {part}" for part in ("residual", "orthogonality") for name in ("axes", "eigh")]
    for title, columns, form in (
        ("CPU seconds" if options.cpu else "seconds", [*METHODS], ".4g"),
        ("ratios", ["eigh/axes", "svd/axes", "eigvalsh/lengths"], ".1f"),
        ("peak memory, MB", [f"{name} MB" for name in METHODS], ".0f"),
        ("worst relative error of a squared length", compared, ".1e"),
        ("half-width of the certified offsets, relative", ["certificate width"], ".1e"),
        ("directions", parts, ".1e"),
    ):
        show(title, columns, records, form)
    fits = exponents(records)
    print("\ntime ~ d^p: " + ", ".join(f"{name} {fit:.2f}" for name, fit in fits.items()))

    if options.long and not options.quick:
        long = {"d": options.long} | run_apart("lengths", options.long, options, accuracy=False)
        records.append(long)
        print(f"lengths alone at d = {options.long}: {long['lengths']:.1f} s, {long['lengths MB']:.0f} MB")
    write(options.json, records=records, exponents=fits)


if __name__ == "__main__":
    main()
