"""Correct kernels in every form of the theorems, on rows chosen against them: how near they come, and who is accused.

``python -m experiments.correct_kernels [--rows 1000000]``, in four formats; exit code 1 if fractions accuse one. Rows
have means of up to 10⁵ deviations, massive components, or components that differ by a few units in the last place, so
that most additions round in one direction; biases stand next to rounding ties of half formats.
"""

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np

from lngeom.rounding import FORMATS, Arithmetic, Definition, certainly_outside, rounded, tolerance

_D, _BATCH, _EPS = 24, 5_000, 1e-5
Rows = np.ndarray
Moments = Callable[[Rows], tuple[Rows, Rows]]


def two_passes(x: Rows, *, pairwise: bool = False) -> tuple[Rows, Rows]:
    """Mean and variance by sums, one term after another or NumPy's."""

    def mean(t: Rows) -> Rows:
        total = t.sum(-1, keepdims=True) if pairwise else t.cumsum(-1, dtype=t.dtype)[:, -1:]
        return total / t.dtype.type(t.shape[-1])

    m = mean(x)
    return m, mean((x - m) ** 2)


def welford(x: Rows) -> tuple[Rows, Rows]:
    """One term after another, (x − m_old)(x − m_new)."""
    m, s = x[:, :1], 0 * x[:, :1]
    for k in range(1, x.shape[-1]):
        off = x[:, k : k + 1] - m
        m = m + off / x.dtype.type(k + 1)
        s = s + off * (x[:, k : k + 1] - m)
    return m, s / x.dtype.type(x.shape[-1])


def chan(x: Rows, *, weighted: bool) -> tuple[Rows, Rows]:
    """Halves merged, by the increment of the mean or by weights, as PyTorch's kernel on a GPU does."""
    F = x.dtype.type

    def merged(t: Rows) -> tuple[Rows, Rows]:
        n = t.shape[-1]
        if n == 1:
            return t, 0 * t
        half = n - n // 2
        (ma, sa), (mb, sb) = merged(t[:, :half]), merged(t[:, half:])
        off, c = mb - ma, F(1) / F(n)
        m = F(half) * c * ma + F(n - half) * c * mb if weighted else ma + off * (F(n - half) / F(n))
        return m, sa + sb + off * off * (F(half) * F(n - half) * c)

    m, s = merged(x)
    return m, s / F(x.shape[-1])


def outputs(x: Rows, gain: Rows, bias: Rows, moments: Moments) -> Iterator[tuple[str, Rows]]:
    """(x − m)rg + b, x(gr) + (b − m(gr)), (xr − mr)g + b and x(gr) − m(gr) + b."""
    m, v = moments(x)
    r = 1 / np.sqrt(v + x.dtype.type(_EPS))
    yield "subtracting", (x - m) * r * gain + bias
    yield "folded", x * (gain * r) + (bias - m * (gain * r))
    yield "multiplying", (x * r - m * r) * gain + bias
    yield "scaling", x * (gain * r) - m * (gain * r) + bias


MOMENTS: dict[str, Moments] = {
    "in sequence": two_passes,
    "pairwise": lambda x: two_passes(x, pairwise=True),
    "Welford": welford,
    "Chan": lambda x: chan(x, weighted=False),
    "weighted": lambda x: chan(x, weighted=True),
}


def chosen(rng: np.random.Generator, n: int, dtype: str) -> tuple[Rows, Rows, Rows]:
    """Rows, a gain and a bias, as numbers of the format."""
    top, unit = (2, 2.0**-10) if dtype == "float16" else (5, float(FORMATS[dtype].roundoff) * 2)
    x = rng.normal(size=(n, _D)) + rng.choice([-1, 1], (n, 1)) * 10 ** rng.uniform(-2, top, (n, 1))
    kind = rng.integers(0, 3, n)
    x[kind == 1, 0] *= 10 ** rng.uniform(0, 3 if top > 2 else 1, (kind == 1).sum())
    near = 1 + unit * rng.integers(0, 8, (n, _D))
    x = np.where(kind[:, None] == 2, near, x)
    gain = rng.normal(size=_D) * 2.0 ** rng.integers(-12, 2)
    return rounded(x, dtype), rounded(gain, dtype), rounded(1 + unit * (rng.integers(8, 48, _D) + 0.5), "float32")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="outputs in all")
    wanted, rng, accused, largest, done = parser.parse_args().rows, np.random.default_rng(0), 0, 0.0, 0
    while done < wanted:
        for dtype in FORMATS:
            x, gain, bias = chosen(rng, _BATCH // 20, dtype)
            work = np.float64 if dtype == "float64" else np.float32
            given = x.astype(work), gain.astype(work), bias.astype(work)
            arithmetic = Arithmetic.of(dtype)
            layer = Definition(True, gain.astype(np.longdouble), bias.astype(np.longdouble), _EPS)
            allowed = tolerance(*given, eps=_EPS, dtype=dtype)
            for moments in MOMENTS.values():
                for _, y in outputs(*given, moments):
                    y = rounded(y, dtype).astype(float)
                    ratio = allowed.accepts(y).ratio.max(-1)
                    largest, done = max(largest, float(ratio.max())), done + len(y)
                    for row in np.flatnonzero(ratio > 1):
                        accused += certainly_outside(given[0][row].tolist(), y[row].tolist(), layer, arithmetic)
    print(f"{done} outputs of {4 * len(MOMENTS)} kernels in {len(FORMATS)} formats: {accused} accused")
    print(f"largest distance {largest:.3g} tolerances")
    return accused > 0


if __name__ == "__main__":
    sys.exit(main())
