"""Correct LayerNorms in NumPy, in every form of the theorems about rounding."""

from collections.abc import Callable, Iterator

import numpy as np

from .rows import EPS

Rows = np.ndarray
Moments = Callable[[Rows], tuple[Rows, Rows]]


def two_passes(x: Rows, *, pairwise: bool = False) -> tuple[Rows, Rows]:
    def mean(t: Rows) -> Rows:
        total = t.sum(-1, keepdims=True) if pairwise else t.cumsum(-1, dtype=t.dtype)[:, -1:]
        return total / t.dtype.type(t.shape[-1])

    m = mean(x)
    return m, mean((x - m) ** 2)


def welford(x: Rows) -> tuple[Rows, Rows]:
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
    r = 1 / np.sqrt(v + x.dtype.type(EPS))
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
