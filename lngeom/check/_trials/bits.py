"""Bits: the same rows alone, in parts, in another place, beside other rows, and once more."""

from collections.abc import Callable

import numpy as np

from .._calls.derivatives import derivatives
from .._calls.kernel import Kernel
from .claim import Claim
from .trial import Note, attempt

_MORE, AGAIN = 5, "again"
"""Other rows beside those that are looked at; the way of a second call, which batches do not differ in."""


def _compared(name: str, ways: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]) -> Note:
    """The first way in which rows have other bits, or all in which they have the same; NaN is like NaN."""
    taken = {way: pair for way, run in ways.items() if not isinstance(pair := attempt(way, run), Note)}
    for way, (one, other) in taken.items():
        differ = ~((one == other) | (np.isnan(one) & np.isnan(other))).reshape(-1, one.shape[-1]).all(-1)
        if differ.any():
            kind = "not deterministic" if way == AGAIN else "not batch invariant"
            return Note(kind, name, int(differ.sum()), len(differ), way)
    return Note("same bits", name, tuple(taken))


def bits(kernel: Kernel, many: np.ndarray, together: np.ndarray, some: slice, single: np.ndarray) -> Note:
    """Whether the bits of rows depend on their batch, or on the call; `single` are outputs of `some`, each alone."""
    k, run = len(many) // 3, kernel.run
    ways: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        "alone": lambda: (single, together[some]),
        "in parts": lambda: (np.vstack([run(many[:k]), run(many[k:])]), together),
        "in another place": lambda: (run(many[::-1])[::-1], together),
        "beside other rows": lambda: (run(np.vstack([many, many[:_MORE]]))[: len(many)], together),
    }
    again = {} if kernel.form.filed else {AGAIN: lambda: (run(many), together)}
    return _compared("forward", ways | again)


def derivative_bits(claim: Claim, rows: np.ndarray) -> list[Note]:
    """The same of derivatives: those by parameters beside rows whose cotangent is 0."""
    kernel, x, n = claim.kernel, claim.stored(rows), len(rows)
    seed = claim.stored(np.random.default_rng(7).normal(size=x.shape))
    if kernel.form.filed or kernel.form.interpreted:
        return []
    first, again = (derivatives(kernel, x, seed) for _ in range(2))
    more = derivatives(kernel, np.vstack([x, x[:_MORE]]), np.vstack([seed, 0 * x[:_MORE]]))
    notes = list[Note]()
    for name, values in first.items():
        ways = {"alone": lambda: (derivatives(kernel, x[:1], seed[:1])["x"], first["x"][:1])} if name == "x" else {}
        pairs = {"beside other rows": more[name][: n if name == "x" else None], AGAIN: again[name]}
        ways |= {way: lambda got=got, values=values: (got, values) for way, got in pairs.items()}
        notes.append(_compared(f"d/d{name}", ways))
    return notes
