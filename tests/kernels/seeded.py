"""Norm kernels for the checks: correct ones, and the seeded faults of ``faults.csv``, in any array namespace."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

EPS = 1e-5
Kernel = Callable[..., Any]


def mean(xp: Any, a: Any, axis: Any = -1) -> Any:
    return xp.mean(a, axis=axis, keepdims=True)


def cast(a: Any, dtype: Any) -> Any:
    return a.astype(dtype) if hasattr(a, "astype") else a.to(dtype)


class Fault(NamedTuple):
    """A wrong kernel of one line of code: which norm it should be, and what its diagnosis must be and contain.

    It is told by outputs of some rows, or by calls with many rows, dimensions and states.
    """

    name: str
    told_by: str
    kind: str
    verdict: str
    words: str
    code: str

    def make(self, xp: Any) -> Kernel:
        """The kernel with x, gain g and bias b; m, c, v, s are mean, deviation, variance and mean square of x."""
        words = vocabulary(xp)
        program = compile(self.code, self.name, "eval")

        def run(x: Any, g: Any, b: Any = None) -> Any:
            m = mean(xp, x)
            own = {"x": x, "g": g, "b": b, "m": m, "c": x - m, "v": mean(xp, (x - m) ** 2), "s": mean(xp, x * x)}
            return eval(program, {**words, **own})

        if self.kind == "rmsnorm":
            return lambda x, weight: run(x, weight)
        return lambda x, gain, bias: run(x, gain, bias)


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


with (Path(__file__).parent / "faults.csv").open(encoding="utf-8", newline="") as _file:
    FAULTS = {row["name"]: Fault(**row) for row in csv.DictReader(_file)}


def size(fault: Fault) -> int | None:
    """Dimension at which the fault is looked for: None for many, 37 where a rest after whole blocks is needed."""
    blocks = any(word in fault.words for word in ("block", "multiple"))
    return None if fault.name == "wide rows" else 37 if blocks else 16


def sequential(xp: Any, a: Any) -> Any:
    return sum((a[..., i : i + 1] for i in range(a.shape[-1])), 0 * a[..., :1]) / a.shape[-1]


def blocked(xp: Any, a: Any, block: int) -> Any:
    parts = [xp.sum(a[..., i : i + block], axis=-1, keepdims=True) for i in range(0, a.shape[-1], block)]
    return sum(parts, 0 * a[..., :1]) / a.shape[-1]


def tree(xp: Any, a: Any) -> Any:
    d = a.shape[-1]
    while a.shape[-1] > 1:
        even = a.shape[-1] // 2 * 2
        a = xp.concatenate([a[..., 0:even:2] + a[..., 1:even:2], a[..., even:]], -1)
    return a / d


def merged(block: int, *, first: bool) -> Callable[[Any], Kernel]:
    """Partial means and sums of squares of blocks, merged one after another; blocks of 1 are Welford's algorithm."""

    def make(xp: Any) -> Kernel:
        def norm(x: Any, gain: Any, bias: Any) -> Any:
            m, squares, count = 0 * x[..., :1], 0 * x[..., :1], 0
            for i in range(0, x.shape[-1], block):
                part = x[..., i : i + block]
                n, center = part.shape[-1], mean(xp, part)
                step = center - m
                squares = squares + n * mean(xp, (part - center) ** 2) + step * step * (count * n / (count + n))
                m, count = m + step * (n / (count + n)), count + n
            r = 1 / xp.sqrt(squares / x.shape[-1] + EPS)
            return x * (r * gain) + (bias - m * (r * gain)) if first else (x - m) * r * gain + bias

        return norm

    return make


def summed(average: Callable[[Any, Any], Any], *, first: bool = False) -> Callable[[Any], Kernel]:
    """Two passes with the given average; `first` multiplies before it subtracts."""

    def make(xp: Any) -> Kernel:
        def norm(x: Any, gain: Any, bias: Any) -> Any:
            m = average(xp, x)
            r = 1 / xp.sqrt(average(xp, (x - m) * (x - m)) + EPS)
            return (x * r - m * r) * gain + bias if first else (x - m) * r * gain + bias

        return norm

    return make


def summed_rms(average: Callable[[Any, Any], Any]) -> Callable[[Any], Kernel]:
    return lambda xp: lambda x, weight: x * (1 / xp.sqrt(average(xp, x * x) + EPS)) * weight


SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "own": mean,
    "sequential": sequential,
    "tree": tree,
    "blocks of 4": lambda xp, a: blocked(xp, a, 4),
    "blocks of 32": lambda xp, a: blocked(xp, a, 32),
    "times 1/d": lambda xp, a: xp.sum(a * (1 / a.shape[-1]), axis=-1, keepdims=True),
    "backwards": lambda xp, a: sequential(xp, xp.flip(a, (-1,))),
}
CORRECT: dict[str, tuple[Callable[[Any], Kernel], str]] = {
    **{f"two passes, {name}": (summed(average), "layernorm") for name, average in SUMS.items()},
    **{f"multiplied first, {name}": (summed(average, first=True), "layernorm") for name, average in SUMS.items()},
    **{f"rms, {name}": (summed_rms(average), "rmsnorm") for name, average in SUMS.items()},
    **{f"merged {k}, {f}": (merged(k, first=f), "layernorm") for k in (1, 4, 16) for f in (False, True)},
}
