"""Named orders of the rows of a matrix that attention reads."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def order(old: Tensor, new: Tensor, unit: float, heads: tuple[int, ...]) -> str:
    """How the rows of `new` are those of `old` in another order, which has a name; else ``permuted``.

    Args:
        old, new: float64, of one shape.
        unit: The largest relative error of a number.
        heads: How many heads the rows may be of.
    """

    def near(that: Tensor) -> bool:
        return torch.allclose(that, new, rtol=unit, atol=0)

    counts = dict.fromkeys(n for n in heads if len(old) % n == 0)
    known = (f"permuted: {text}" for text, made in _orders(old, tuple(counts)) if near(made()))
    if found := next(known, ""):
        return found
    for count in counts:
        blocks, theirs = (w.unflatten(0, (count, -1)) for w in (old, new))
        if near(blocks[_places(blocks, theirs, unit)].flatten(0, 1)):
            return f"permuted: the {count} heads in another order"
    return "permuted"


def _orders(old: Tensor, counts: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Orders in words, and how they are made."""

    def moved(w: Tensor, count: int, *parts: int, axis: int = 1) -> Tensor:
        return w.unflatten(0, (count, *parts)).transpose(axis, axis + 1).reshape(w.shape)

    for n in counts:
        if len(old) % (2 * n) == 0:
            yield "the two rows of each rotary pair side by side, as Meta has them", lambda n=n: moved(old, n, 2, -1)
            text = "the even rows of each head before the odd ones, as if rotary pairs had stood side by side"
            yield text, lambda n=n: moved(old, n, -1, 2)
        if len(old) % (3 * n) == 0:
            yield "all queries, all keys, all values, one after the other", lambda n=n: moved(old, n, 3, -1, axis=0)
            yield "query, key and value head by head", lambda n=n: moved(old, 3, n, -1, axis=0)
    for of, n in ((of, n) for of in counts for n in counts if of != n and len(old) % (2 * of * n) == 0):
        numbers = f"{min(of, n)} and {max(of, n)}"
        text = f"rotary pairs placed side by side and apart again with different numbers of heads, {numbers}"
        yield text, lambda of=of, n=n: moved(moved(old, of, 2, -1), n, -1, 2)


def _places(blocks: Tensor, theirs: Tensor, unit: float) -> list[int]:
    """Which block stands in the place of each, the first where none does."""
    same = ([k for k, block in enumerate(blocks) if torch.allclose(block, that, rtol=unit, atol=0)] for that in theirs)
    return [at[0] if at else 0 for at in same]
