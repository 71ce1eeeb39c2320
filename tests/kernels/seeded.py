"""The seeded faults of ``faults.csv``, norm kernels in any array namespace."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .rows import EPS, Row, named

Kernel = Callable[..., Any]


def mean(xp: Any, a: Any, axis: Any = -1) -> Any:
    return xp.mean(a, axis=axis, keepdims=True)


def cast(a: Any, dtype: Any) -> Any:
    return a.astype(dtype) if hasattr(a, "astype") else a.to(dtype)


def faults(xp: Any, told_by: str = "") -> dict[str, Row]:
    """Wrong kernels of one line of code, of arrays of NumPy or PyTorch.

    Each is told by the outputs of some rows, or by calls with many rows, dimensions and states. Its dimension is None
    where it is wrong at some of many, and 37 where a rest after whole blocks is needed.
    """
    with (Path(__file__).parent / "faults.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if told_by in line["told_by"]]
    rows = {}
    for line in lines:
        blocks = any(word in line["words"] for word in ("block", "multiple", "of 37"))
        d = None if line["name"] == "wide rows" else 37 if blocks else 16
        kernel = made(line["code"], xp, line["kind"])
        rows[line["name"]] = Row(kernel, named(line["words"], line["verdict"]), {"d": d})
    return rows


def made(code: str, xp: Any, kind: str) -> Kernel:
    """The kernel with x, gain g and bias b; m, c, v, s are mean, deviation, variance and mean square of x."""
    words = vocabulary(xp)
    program = compile(code, code, "eval")

    def run(x: Any, g: Any, b: Any = None) -> Any:
        m = mean(xp, x)
        own = {"x": x, "g": g, "b": b, "m": m, "c": x - m, "v": mean(xp, (x - m) ** 2), "s": mean(xp, x * x)}
        return eval(program, {**words, **own})

    if kind == "rmsnorm":
        return lambda x, weight: run(x, weight)
    return lambda x, weight, bias: run(x, weight, bias)


def vocabulary(xp: Any) -> dict[str, Any]:
    """The names that the lines of ``faults.csv`` may use."""

    def n(x: Any) -> Any:
        c = x - mean(xp, x)
        return c / xp.sqrt(mean(xp, c * c) + EPS)

    def of(part: Any, x: Any) -> Any:
        center = mean(xp, part)
        return (x - center) / xp.sqrt(mean(xp, (part - center) ** 2) + EPS)

    def rough(v: Any) -> Any:  # two Newton steps from a power of 2: off by up to 1e-4
        start = 2.0 ** xp.round(xp.log2(xp.sqrt(v)))
        start = (start + v / start) / 2
        return (start + v / start) / 2

    def overwrite(x: Any) -> Any:
        result = n(x)
        x[...] = result
        return result

    def maximum(a: Any, least: float = 0.0) -> Any:
        return xp.maximum(a, 0 * a + least)

    return {
        "xp": xp, "EPS": EPS, "kept": {}, "sqrt": xp.sqrt, "cat": lambda parts, axis: xp.concatenate(parts, axis),
        "mean": lambda a, axis=-1: mean(xp, a, axis), "total": lambda a: xp.sum(a, axis=-1, keepdims=True),
        "largest": lambda a: xp.amax(abs(a), -1)[..., None], "half": lambda a: cast(cast(a, xp.float16), a.dtype),
        "short": lambda x: max(x.shape[-1] - 1, 1), "whole": lambda x: x.shape[-1] // 8 * 8 or x.shape[-1],
        "n": n, "of": of, "rough": rough, "overwrite": overwrite, "maximum": maximum,
    }  # fmt: skip
