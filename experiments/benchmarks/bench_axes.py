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
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from harness import finish, parser, peak, table  # pyright: ignore[reportMissingImports]

import lngeom as lg

Record = dict[str, float]


def gain_of(d: int) -> np.ndarray:
    return 1 + 0.3 * np.random.default_rng(d).standard_normal(d)


PAIRS = (("axes", "eigh"), ("axes", "svd"), ("lengths", "eigvalsh"), ("lengths", "dlasd4"))


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


def roots_of(method: str, gain: np.ndarray, result: Any) -> np.ndarray | None:
    """Eigenvalues of GΠG by the result of a method, largest first; None where it has no lengths of its own."""
    match method:
        case "lengths" | "dlasd4":
            return result**2 / gain.size
        case "eigh":
            return result[0][:0:-1]
        case "eigvalsh":
            return result[:0:-1]
        case "svd":
            return result.S[:-1] ** 2
    return None


def run_here(method: str, d: int, clock: Callable[[], float], accuracy: bool) -> Record:
    """Time, memory and largest relative error of one method in this process: up to five calls, or two seconds."""
    function = METHODS[method]
    function(gain_of(16))  # load every library first
    gain, before, memory, taken = gain_of(d), peak(), 0.0, list[float]()
    result: Any = None
    while len(taken) < 5 and sum(taken) < 2.0:
        start = clock()
        result = function(gain)
        taken.append(clock() - start)
        memory = memory or peak() - before
    record = {method: min(taken), f"{method} MB": memory}
    if accuracy and (roots := roots_of(method, gain, result)) is not None:
        certificate = lg.principal_axes(gain).certificate()
        reference = (0.5 * (certificate.lower + certificate.upper)) ** 2 / gain.size
        record[f"{method} error"] = float(np.max(np.abs(roots / reference - 1)))
    return record


def run_apart(method: str, d: int, options: argparse.Namespace, accuracy: bool = True) -> Record:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--one", method, "--sizes", str(d)]
    command += ["--cpu"] * options.cpu + ["--no-accuracy"] * (not accuracy)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def show(title: str, columns: list[str], records: list[Record], form: str) -> None:
    cells = ([format(record[name], form) if name in record else "-" for name in columns] for record in records)
    rows = ([f"{record['d']:.0f}", *row] for record, row in zip(records, cells, strict=True))
    print(f"\n{title}", table(["d", *columns], rows), sep="\n")


def exponent(records: list[Record], name: str) -> float:
    """Slope of log time against log d by least squares."""
    rows = np.log([(record["d"], record[name]) for record in records if name in record])
    return float(np.polyfit(rows[:, 0], rows[:, 1], 1)[0])


def main() -> None:
    made = parser(__doc__, svd_limit=8192, long=65536, quick=False, cpu=False, sizes=[512, 1024, 2048, 4096, 8192])
    made.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    made.add_argument("--no-accuracy", action="store_true", help=argparse.SUPPRESS)
    options = made.parse_args()
    if options.one:
        clock = time.process_time if options.cpu else time.perf_counter
        print(json.dumps(run_here(options.one, options.sizes[0], clock, not options.no_accuracy)))
        return
    records: list[Record] = []
    for d in [256, 512, 1024] if options.quick else options.sizes:
        records.append({"d": d})
        for method in METHODS:
            if method != "svd" or d <= options.svd_limit:
                records[-1] |= run_apart(method, d, options)
    show("CPU seconds" if options.cpu else "seconds", [*METHODS], records, ".4g")
    show("peak memory, MB", [f"{name} MB" for name in METHODS], records, ".0f")
    compared = [f"{name} error" for name in METHODS if any(f"{name} error" in record for record in records)]
    show("worst relative error of a squared length", compared, records, ".1e")
    if len(records) > 2:
        print("\ntime ~ d^p: " + ", ".join(f"{name} {exponent(records, name):.2f}" for name in METHODS))
    results = [
        {"work": f"{ours}, d = {record['d']:.0f}", "peer": peer, "ratio": record[ours] / record[peer]}
        for record in records
        for ours, peer in PAIRS
        if peer in record
    ]
    finish(options.json, results)
    if options.long and not options.quick:
        long = run_apart("lengths", options.long, options, accuracy=False)
        print(f"lengths alone at d = {options.long}: {long['lengths']:.1f} s, {long['lengths MB']:.0f} MB")


if __name__ == "__main__":
    main()
