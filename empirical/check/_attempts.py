"""What a kernel is tried on: rows of many sizes, dimensions, shapes and batches, and repeated calls."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ._inputs import DIMENSIONS, awkward, suite
from ._judge import Judge, Trial

_MANY, _MANY_WIDE = 4100, 64  # rows of a large batch, of at most 1024 components and of more


def attempts(judge: Judge, d: int, *, several: bool) -> tuple[list[Trial], list[str], str | None]:
    """All trials at dimension `d`, and if `several` at many; what was refused; and what repeated calls show."""
    groups = list(suite(d, judge.kernel.dtype))
    ordinary = groups[0][1]
    trials, notes = [judge.trial("ordinary rows", ordinary)], list[str]()
    state = _state(judge, ordinary)
    trials += _of_dimension(judge, groups)
    for other in DIMENSIONS if several else ():
        if other != d:
            try:
                trials += _of_dimension(judge, list(suite(other, judge.kernel.dtype, rows=4)))
            except Exception as error:  # a kernel may refuse a dimension in any way its framework has
                notes.append(_refusal(f"d = {other}", error))
    shapes, remarks = _shapes(judge, awkward(groups))
    return [*trials, *shapes], [*notes, *remarks], state


def _refusal(what: str, error: Exception) -> str:
    return f"refuses {what}: {type(error).__name__}: {' '.join(str(error).split())[:80]}"


def _of_dimension(judge: Judge, groups: Sequence[tuple[str, np.ndarray]]) -> Iterator[Trial]:
    """All groups of one dimension in one call."""
    whole = judge.trial("all", np.concatenate([x for _, x in groups]))
    begin = 0
    for label, x in groups:
        yield whole.part(label, begin, begin := begin + len(x))


def _state(judge: Judge, x: np.ndarray) -> str | None:
    """Whether a call depends on earlier ones, changes its input, or returns a buffer that the next call overwrites."""
    kernel, read = judge.kernel, judge.kernel.framework.read
    arrays = kernel.arrays(x.shape[-1])
    first, second = judge.stored(x), judge.stored(x[::-1] * 2 + 1)

    def run(rows: np.ndarray) -> np.ndarray:
        return read(kernel.call(kernel.array(rows), arrays))

    given = kernel.array(first)
    output = kernel.call(given, arrays)
    before = read(output)
    if not np.array_equal(read(given), first):
        return "input overwritten in place"
    other = run(second)
    if not np.array_equal(read(output), before, equal_nan=True):
        return "output buffer reused: the next call overwrites it"
    again = run(first)
    stale = "depends on earlier calls (stale state)"
    right = not judge.judged("first call", first, before).wrong.any()
    changed = not np.array_equal(again, before, equal_nan=True)
    if changed and not (right and not judge.judged("repeated call", first, again).wrong.any()):
        return stale
    if right and judge.judged("second call", second, other).wrong.any():
        alike = np.allclose(other, before, equal_nan=True)
        if alike or not judge.judged("second call", second[:1], run(second[:1])).wrong.any():
            return stale
    return None


def _shapes(judge: Judge, x: np.ndarray) -> tuple[list[Trial], list[str]]:
    """One row, one row alone, three axes, strided memory, many rows; and what was refused."""
    kernel, x = judge.kernel, judge.stored(x)
    n, d = x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    # All different, so that a row computed in the place of another one is seen.
    many = judge.stored(np.random.default_rng(d).normal(size=(_MANY if d <= 1024 else _MANY_WIDE, d)))
    together = kernel.run(x)

    def alone(count: int) -> np.ndarray:
        return np.concatenate([kernel.run(row) for row in x[:count, None]])

    def seen(values: np.ndarray, view: Callable[[Any], Any]) -> np.ndarray:
        return kernel.framework.read(kernel.call(view(kernel.array(values))))

    ways: tuple[tuple[str, np.ndarray, Callable[[], np.ndarray]], ...] = (
        ("single vectors of shape (d,)", x[:2], lambda: np.stack([kernel.run(row) for row in x[:2]])),
        ("batches of one row", x[:3], lambda: alone(3)),
        ("batches of shape (2, n, d)", cube.reshape(-1, d), lambda: kernel.run(cube)),
        ("every other component of a wider array", x, lambda: seen(np.repeat(x, 2, axis=-1), lambda a: a[..., ::2])),
        ("a transposed array", x, lambda: seen(x.T.copy(), lambda a: a.T)),
        (f"batches of {len(many)} rows", many, lambda: kernel.run(many)),
    )
    trials, notes = list[Trial](), list[str]()
    for label, rows, run in ways:
        try:
            got = run()
        except Exception as error:  # refused, in whatever way the framework has
            notes.append(_refusal(label, error))
            continue
        if got.size == rows.size:
            got = got.reshape(rows.shape)
        else:
            notes.append(f"output of shape {got.shape} for {label}")
        trials.append(judge.judged(label, rows, got))
    if not np.array_equal(alone(4), together[:4], equal_nan=True):
        notes.append("not batch invariant: a row alone gives other bits than in a batch")
    return trials, notes
