"""The cost of a proof for every dimension beside SymPy at one dimension, and of a check of a kernel.

    python experiments/benchmarks/bench_proofs.py

Each theorem is proved by the kernel and its certificate read by the checker; SymPy is asked to simplify three of
them to zero at d = 2, 3 and so on to 8, until it cannot or needs more than ``--limit`` seconds. CPU seconds, the best
of three calls; the replay in Coq is not repeated here, its seconds are those that ``lngeom verify`` noted.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import sympy as sp
import torch
from harness import finish, parser, seconds  # pyright: ignore[reportMissingImports]

from empirical.check import check
from lngeom.checker import recheck
from proofs import theorems
from proofs.certificates import RESULTS


def best(function: Callable[[], Any], rounds: int = 3) -> float:
    return min(seconds(function, time.process_time) for _ in range(rounds))


def standardized(x: list[Any]) -> tuple[list[Any], Any]:
    mean = sum(x) / sp.Integer(len(x))
    sigma = sp.sqrt(sum((value - mean) ** 2 for value in x) / len(x))
    return [(value - mean) / sigma for value in x], sigma


def length(x: list[Any]) -> Any:
    return sum(value**2 for value in standardized(x)[0]) - len(x)


def along_uniform(x: list[Any]) -> Any:
    return sum(sp.diff(standardized(x)[0][0], value) for value in x)


def twice(x: list[Any]) -> Any:
    once = standardized(x)[0]
    return standardized(once)[0][0] - once[0]


SYMPY: dict[str, Callable[[list[Any]], Any]] = {
    "standardization.norm": length,
    "standardization.idempotent": twice,
    "jacobian.uniform_input": along_uniform,
}
"""Expressions that SymPy has to see as zero; of vectors one component."""


def by_sympy(statement: Callable[[list[Any]], Any], d: int) -> tuple[float, bool]:
    """CPU seconds that `simplify` takes at one dimension, and whether it then sees zero."""
    start = time.process_time()
    seen = sp.simplify(statement(list(sp.symbols(f"x:{d}", real=True)))) == 0
    return time.process_time() - start, bool(seen)


def main() -> None:
    options = parser(__doc__, limit=10.0).parse_args()
    kernel = {theorem.id: best(theorem.prove) for theorem in theorems()}
    written = {theorem.id: theorem.certificates() for theorem in theorems()}
    second = {
        id: best(lambda exported=exported: [recheck(data) for data in exported]) for id, exported in written.items()
    }
    slowest = max(kernel, key=lambda name: kernel[name])
    coq = json.loads(RESULTS.read_text(encoding="utf-8"))["seconds"]
    notes = [
        f"All {len(kernel)} theorems: kernel {sum(kernel.values()):.1f} s, median "
        f"{1e3 * statistics.median(kernel.values()):.0f} ms, at most {1e3 * kernel[slowest]:.0f} ms (`{slowest}`); "
        f"second checker {sum(second.values()):.1f} s; Coq, once: "
        + ", ".join(f"{what} {took:.0f} s" for what, took in coq.items())
        + "."
    ]
    results: list[dict[str, Any]] = []
    for name, statement in SYMPY.items():
        for d in range(2, 9):
            took, seen = by_sympy(statement, d)
            peer = f"SymPy at d = {d}" + ("" if seen else ", which does not see it")
            results.append({"work": f"{name}, every d", "peer": peer, "ratio": kernel[name] / took})
            if took > options.limit or not seen:
                break
    checks = (
        f"`{norm.__name__}(64), {dtype}` {best(lambda norm=norm, dtype=dtype: check(norm(64), dtype=dtype), 1):.2f} s"
        for norm in (torch.nn.LayerNorm, torch.nn.RMSNorm)
        for dtype in ("float32", "bfloat16")
    )
    notes.append("`check` of one kernel: " + ", ".join(checks) + ".")
    finish(options.json, results, notes)


if __name__ == "__main__":
    main()
