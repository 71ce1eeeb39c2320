"""Bits: the same rows alone, in two parts, in another place, beside other rows, and once more."""

from collections.abc import Callable, Iterator

import numpy as np

from lngeom.sentences import Way

from .._calls.derivatives import derivatives
from .claim import Claim
from .trial import Aside, Note, Outcome, attempt

_MORE, AGAIN = 5, "when called again"
"""Other rows beside those that are looked at; the way of a second call, which batches do not differ in."""
Pair = tuple[np.ndarray, np.ndarray]
"""Numbers that should have the same bits."""


def _taken(ways: dict[str, Callable[[], Pair]]) -> dict[str, Pair]:
    return {way: pair for way, run in ways.items() if not isinstance(pair := attempt(way, run), Note)}


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which rows have other bits; NaN is like NaN."""
    return ~((one == other) | (np.isnan(one) & np.isnan(other))).reshape(-1, one.shape[-1]).all(-1)


def _compared(name: str, taken: dict[str, Pair]) -> list[Note]:
    """The first ways in which rows have other bits, and all in which they have the same."""
    found, same = dict[str, Note](), list[str]()
    for way, pair in taken.items():
        if (differ := _differ(*pair)).any():
            kind = "not deterministic" if way == AGAIN else "not batch invariant"
            found.setdefault(kind, Note(kind, name, int(differ.sum()), len(differ), way))
        else:
            same.append(way)
    return [*found.values(), *([Note("same bits", name, tuple(same))] if same else [])]


def bits(claim: Claim, many: np.ndarray, together: np.ndarray, alone: Pair) -> Iterator[Outcome]:
    """Whether the bits of rows depend on their batch, or on the call, and outputs that differ; `alone` is judged."""
    k, run = len(many) // 3, claim.kernel.run
    ways: dict[str, Callable[[], Pair]] = {
        "in two parts": lambda: (np.vstack([run(many[:k]), run(many[k:])]), together),
        "in another place": lambda: (run(many[::-1])[::-1], together),
        "beside other rows": lambda: (run(np.vstack([many, many[:_MORE]]))[: len(many)], together),
    }
    ways |= {} if claim.kernel.form.filed else {AGAIN: lambda: (run(many), together)}
    taken = _taken(ways)
    yield from _compared("forward", {"alone": alone, **taken})
    for way, (got, _) in taken.items():
        if (differ := _differ(got, together)).any():
            aside = claim.judged(Way("many", len(many)), many[differ], got[differ], Aside)
            yield aside.steady(lambda way=way, differ=differ: ways[way]()[0][differ])


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
        notes.extend(_compared(f"d/d{name}", _taken(ways)))
    return notes
