"""The harness of the benchmarks: variants timed in turn, ratios of rounds, Markdown tables, results as JSON.

A result is a row with `work`, `peer`, `ratio` (our time over the peer's), and `low` and `high` where there are rounds;
what else it holds is for readers of the file.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

Row = dict[str, Any]


def parser(doc: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """Options with these defaults, one value or a list of them, and ``--json FILE``; a default of False is a flag."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            made.add_argument(option, action="store_true")
        else:
            kind, nargs = (type(default[0]), "+") if isinstance(default, list) else (type(default), None)
            made.add_argument(option, type=kind, nargs=nargs, default=default, help="default: %(default)s")
    made.add_argument("--json", type=Path, help="write the results to this file")
    return made


def in_turn(
    work: Mapping[Any, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[Any, list[float]]:
    """Seconds of each variant, round by round, after one round that warms up: other work on the machine meets all."""
    times: dict[Any, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, function in work.items():
            took = seconds(function, clock)
            if number:
                times[name].append(took)
    return times


def seconds(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The time of a function, until the GPU is done."""
    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    synchronize()
    start = clock()
    function()
    synchronize()
    return clock() - start


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> dict[str, float]:
    """Median, lowest and highest ratio of the times of one round."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return {"ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [list(header), *rows]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def finish(path: Path | None, results: Sequence[Row]) -> None:
    """Print the results, and write them where a file is asked for."""
    names = ("work", "peer", "ratio", "low", "high")
    cells = ([f"{v:.4g}" if isinstance(v := row.get(name, ""), float) else v for name in names] for row in results)
    print(table(names, cells), flush=True)
    if path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
