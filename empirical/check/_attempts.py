"""What a kernel is tried on: rows of many sizes, dimensions, shapes and batches, and repeated calls."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ._cause import ODD_GAINS, TRAINING
from ._inputs import DIMENSIONS, awkward, suite
from ._judge import Judge, Trial

_MANY, _MANY_WIDE = 4100, 64  # rows of a large batch, of at most 1024 components and of more
_GRID = 70_000
"""Rows of up to 128 components, more than 16 bits count and a grid of blocks holds."""
_WIDE = 4096
"""Of more components three groups of rows are enough."""


def attempts(judge: Judge, d: int, *, several: bool) -> tuple[list[Trial], list[str], str | None]:
    """All trials at dimension `d`, and if `several` at many; what was refused; and what repeated calls show."""
    groups = list(suite(d, judge.kernel.dtype))
    ordinary = groups[0][1]
    trials, notes, state = list[Trial](), list[str](), None
    try:
        trials.append(judge.trial("ordinary rows", ordinary))
        state = _state(judge, ordinary) or _ignored_eps(judge, groups[1][1])
        trials += _of_dimension(judge, groups)
    except Raised as error:
        state = state or str(error)
    except Exception as error:  # whatever it raises where it should compute
        state = state or _refusal("ordinary rows", error)
    for other in DIMENSIONS if several else ():
        if other != d:
            chosen = list(suite(other, judge.kernel.dtype, rows=4))[: 3 if other > _WIDE else None]
            try:
                trials += _of_dimension(judge, chosen)
            except Raised as error:
                state = state or f"{error}, d = {other}"
            except Exception as error:  # a kernel may refuse a dimension in any way its framework has
                notes.append(_refusal(f"d = {other}", error))
    try:
        if trials:
            shapes, remarks = _shapes(judge, awkward(groups))
            trials, notes = [*trials, *shapes], [*notes, *remarks]
        if not any(trial.wrong.any() for trial in trials):  # a mistake is named by the usual gains
            trials += _in_other_manners(judge, ordinary)
    except Exception as error:  # of a call like one that it has answered
        state = state or _refusal("a batch that it took", error)
    return trials, notes, state


class Raised(Exception):
    """What a kernel raised at some rows of a dimension of which it takes others."""


def _refusal(what: str, error: Exception) -> str:
    return f"refuses {what}: {type(error).__name__}: {' '.join(str(error).split())[:80]}"


def _of_dimension(judge: Judge, groups: Sequence[tuple[str, np.ndarray]]) -> Iterator[Trial]:
    """All groups of one dimension in one call; where that raises, group by group."""
    try:
        whole = judge.trial("all", np.concatenate([x for _, x in groups]))
    except Exception:
        taken, refused = 0, list[str]()
        for label, x in groups:
            try:
                judge.trial(label, x)
                taken += 1
            except Exception as error:
                refused.append(_refusal(label, error))
        if taken and refused:
            raise Raised(refused[0]) from None
        raise
    begin = 0
    for label, x in groups:
        yield whole.part(label, begin, begin := begin + len(x))


def _in_other_manners(judge: Judge, x: np.ndarray) -> Iterator[Trial]:
    """Gains that are zero or large, and the training mode of a module."""
    if judge.base(x.shape[-1]).gain is not None:
        yield judge.like("odd gains").trial(ODD_GAINS, x)
    if judge.kernel.at(x.shape[-1]).leaves:
        yield judge.like("training").trial(TRAINING, x)


def _ignored_eps(judge: Judge, x: np.ndarray) -> str | None:
    """Whether rows of small variance do not tell one ε that is given from another."""
    other = 64 * float(judge.eps) or 1e-3
    if not judge.kernel.takes_eps:
        return None
    x = judge.stored(x)
    if not np.array_equal(judge.kernel.run(x), judge.kernel.like(eps=other).run(x), equal_nan=True):
        return None
    return f"the eps that is given is ignored: {float(judge.eps):g} and {other:g} give the same outputs"


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
    """One row, one row alone, three and four axes, strided memory, many rows; and what was refused."""
    kernel, x = judge.kernel, judge.stored(x)
    n, d = x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    heads = np.stack([cube, -cube])
    # All different, so that a row computed in the place of another one is seen.
    many = judge.stored(np.random.default_rng(d).normal(size=(_MANY if d <= 1024 else _MANY_WIDE, d)))
    grid = np.resize(many, (_GRID if d <= 128 else len(many), d))
    told = np.unique([place % len(grid) for at in (0, 1 << 15, 1 << 16) for place in range(at - 16, at + 16)])
    together = kernel.run(x)

    def alone(count: int) -> np.ndarray:
        return np.concatenate([kernel.run(row) for row in x[:count, None]])

    def seen(values: np.ndarray, view: Callable[[Any], Any]) -> np.ndarray:
        return kernel.framework.read(kernel.call(view(kernel.array(values))))

    ways: tuple[tuple[str, np.ndarray, Callable[[], np.ndarray]], ...] = (
        ("single vectors of shape (d,)", x[:2], lambda: np.stack([kernel.run(row) for row in x[:2]])),
        ("batches of one row", x[:3], lambda: alone(3)),
        ("batches of shape (2, n, d)", cube.reshape(-1, d), lambda: kernel.run(cube)),
        ("batches of shape (2, 2, n, d)", heads.reshape(-1, d), lambda: kernel.run(heads)),
        ("every other component of a wider array", x, lambda: seen(np.repeat(x, 2, axis=-1), lambda a: a[..., ::2])),
        ("a transposed array", x, lambda: seen(x.T.copy(), lambda a: a.T)),
        (f"batches of {len(many)} rows", many, lambda: kernel.run(many)),
        (f"rows of a batch of {len(grid)}", grid[told], lambda: kernel.run(grid)[told]),
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
        if label.startswith("batches of") and trials[-1].wrong[1:].any() and not trials[-1].wrong[0]:
            break  # a smaller batch shows it
    if not np.array_equal(alone(4), together[:4], equal_nan=True):
        notes.append("not batch invariant: a row alone gives other bits than in a batch")
    return trials, notes
