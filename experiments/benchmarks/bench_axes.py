"""Principal axes in O(d²) against dense LAPACK: time, memory and accuracy, all in one run.

    python experiments/benchmarks/bench_axes.py --cpu                              # d = 512 to 8192
    python experiments/benchmarks/bench_axes.py --methods lengths --sizes 65536

Gains are 1 + 0.3 N(0, 1), like those of a trained layer. "axes" is lengths and all directions, "lengths" no
directions; eigh and eigvalsh act on GΠG, svd on GΠ.
Every method runs in a process of its own: time is the median of three to five calls, with the shortest and the
longest, memory the peak of the first call above the start, the error that of the worst squared length. A ratio is that
of the medians, its ends those of the shortest and longest calls. Other work on the machine distorts times,
multithreaded LAPACK worst of all; then compare CPU seconds of one thread, ``--cpu``.
"""

import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from harness import finish, parser, peak, table  # pyright: ignore[reportMissingImports]

import lngeom as lg

Method = Callable[[np.ndarray], np.ndarray | None]
"""The squared lengths over d, largest first, or None where it computes no lengths of its own."""
PAIRS = (("axes", "eigh"), ("axes", "svd"), ("lengths", "eigvalsh"))


def dense(gain: np.ndarray, *, symmetric: bool) -> np.ndarray:
    """GΠG = G² − ggᵀ/d, or GΠ."""
    matrix = np.outer(gain, (-gain if symmetric else -np.ones_like(gain)) / gain.size)
    matrix[np.diag_indices(gain.size)] += gain**2 if symmetric else gain
    return matrix


def done(_: Any) -> None:
    return None


METHODS: dict[str, Method] = {
    "axes": lambda gain: done(lg.principal_axes(gain).directions),
    "lengths": lambda gain: lg.principal_axes(gain).semi_axes ** 2 / gain.size,
    "eigh": lambda gain: np.linalg.eigh(dense(gain, symmetric=True))[0][:0:-1],
    "eigvalsh": lambda gain: np.linalg.eigvalsh(dense(gain, symmetric=True))[:0:-1],
    "svd": lambda gain: np.linalg.svd(dense(gain, symmetric=False)).S[:-1] ** 2,
}


def measured(method: str, d: int, cpu: bool) -> tuple[list[float], float, float]:
    """Times of three to five calls, megabytes and largest relative error of a method in this process."""
    function, clock = METHODS[method], time.process_time if cpu else time.perf_counter
    function(1 + np.random.default_rng(16).random(16))  # load every library first
    gain = 1 + 0.3 * np.random.default_rng(d).standard_normal(d)
    before, memory, taken, roots = peak(), 0.0, list[float](), None
    while len(taken) < 3 or (len(taken) < 5 and sum(taken) < 2.0):
        start = clock()
        roots = function(gain)
        taken.append(clock() - start)
        memory = memory or peak() - before
    return taken, memory, math.nan if roots is None else float(np.max(np.abs(roots / refined(gain) - 1)))


def refined(gain: np.ndarray) -> np.ndarray:
    """The roots of Σ 1/(g² − λ) = 0, largest first, by two steps of Newton in extended precision."""
    squares = np.square(gain.astype(np.longdouble))
    roots = (lg.principal_axes(gain).semi_axes.astype(np.longdouble)) ** 2 / gain.size
    for _ in range(2):
        for i, value in enumerate(roots):
            terms = 1 / (squares - value)
            roots[i] = value - terms.sum() / np.square(terms).sum()
    return roots.astype(float)


def main() -> None:
    made = parser(__doc__, cpu=False, sizes=[512, 1024, 2048, 4096, 8192], methods=[*METHODS])
    options = made.parse_args()
    if options.cpu:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the processes to come
    found: dict[tuple[str, int], tuple[list[float], float, float]] = {}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for d in options.sizes:
            for method in options.methods:
                found[method, d] = pool.submit(measured, method, d, options.cpu).result()
    rows = (
        [method, d, *(f"{number:.2g}" for number in (statistics.median(times), min(times), max(times), *rest))]
        for (method, d), (times, *rest) in found.items()
    )
    print(table(["method", "d", "CPU seconds" if options.cpu else "seconds", "least", "most", "MB", "error"], rows))
    results = [
        {
            "work": f"{ours}, d = {d}",
            "peer": peer,
            "ratio": statistics.median(mine) / statistics.median(theirs),
            "low": min(mine) / max(theirs),
            "high": max(mine) / min(theirs),
        }
        for d in options.sizes
        for ours, peer in PAIRS
        if {(ours, d), (peer, d)} <= found.keys()
        for mine, theirs in [(found[ours, d][0], found[peer, d][0])]
    ]
    finish(options.json, results)


if __name__ == "__main__":
    main()
