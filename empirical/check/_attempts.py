"""The attempts on a kernel: rows of many sizes, dimensions, shapes and batches, and repeated calls."""

from collections.abc import Callable, Iterator, Sequence
from textwrap import shorten

import numpy as np

from ._cause import ODD_GAINS, TRAINING
from ._frameworks import FrameworkArray
from ._inputs import DIMENSIONS, awkward, suite
from ._judge import Judge, Trial

_MANY, _MANY_WIDE = 4100, 64  # rows of a large batch, of at most 1024 components and of more
_MANY_INTERPRETED = 130  # one program each, at milliseconds
_GRID = 70_000
"""Rows of up to 128 components, more than 16 bits count and a grid of blocks holds."""
_EVERY = 32
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
    """An error that a kernel raised at some rows of a dimension, though it takes others."""


def _refusal(what: str, error: Exception) -> str:
    return f"refuses {what}: {type(error).__name__}: {shorten(str(error), 80, placeholder=' ...')}"


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
    outputs = (judge.kernel.like(eps=eps).run(x) for eps in (other, max(1.0, other)))  # a limit may lie between them
    if not all(np.array_equal(judge.kernel.run(x), output, equal_nan=True) for output in outputs):
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
        # Behind the same call a state is the same, and noise is not.
        steady = np.array_equal(run(first), run(first), equal_nan=True)
        return stale if steady else "two calls in a row differ on the same rows (noise, or a state that grows)"
    if right and judge.judged("second call", second, other).wrong.any():
        alike = np.allclose(other, before, equal_nan=True)
        if alike or not judge.judged("second call", second[:1], run(second[:1])).wrong.any():
            return stale
    return None


Way = tuple[str, np.ndarray, Callable[[], np.ndarray]]
"""A label, the rows of shape (n, d), and a call that should give their outputs."""


def _layouts(judge: Judge, x: np.ndarray) -> Iterator[Way]:
    """The rows in memory of every kind: parts of wider arrays, broken strides, other beginnings."""
    kernel = judge.kernel
    n, d = x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    heads = np.stack([cube, -cube])
    other = judge.stored(np.full_like(x, 7.0))

    def seen(values: np.ndarray, view: Callable[[FrameworkArray], FrameworkArray]) -> Callable[[], np.ndarray]:
        return lambda: kernel.framework.read(kernel.call(view(kernel.array(values))))

    yield "every other component of a wider array", x, seen(np.repeat(x, 2, axis=-1), lambda a: a[..., ::2])
    yield "the first components of a wider array", x, seen(np.hstack([x, other]), lambda a: a[:, :d])
    yield "the last components of a wider array", x, seen(np.hstack([other, x]), lambda a: a[:, d:])
    yield "the last rows of an array", x, seen(np.vstack([other, x]), lambda a: a[n:])
    yield "every other row of an array", x, seen(np.repeat(x, 2, axis=0), lambda a: a[::2])
    yield ("memory that begins one element later", x, seen(np.append(7.0, x), lambda a: a[1:].reshape(n, d)))
    yield "a transposed array", x, seen(x.T.copy(), lambda a: a.T)
    yield "three axes, two exchanged", cube.reshape(-1, d), seen(np.swapaxes(cube, 0, 1), lambda a: a.swapaxes(0, 1))
    yield "four axes, two exchanged", heads.reshape(-1, d), seen(np.swapaxes(heads, 0, 2), lambda a: a.swapaxes(0, 2))


def _mixed(judge: Judge, x: np.ndarray) -> Iterator[Way]:
    """Gain and bias of another dtype than the rows, which hold the same numbers in it."""
    kernel, d = judge.kernel, x.shape[-1]
    bound = kernel.at(d)
    given = {name: value for name, value in (("gain", bound.gain), ("bias", bound.bias)) if value is not None}
    if given and not bound.holds:
        dtype = "float32" if kernel.dtype in ("float16", "bfloat16") else "float16"
        made = {name: kernel.framework.make(value, dtype, kernel.asked.device) for name, value in given.items()}
        yield f"gain and bias of {dtype}", x, lambda: kernel.framework.read(kernel.call(kernel.array(x), made))


def _batch_variance(judge: Judge, many: np.ndarray, together: np.ndarray) -> tuple[int, int]:
    """How many rows of a batch give other bits alone, and of how many: of all where a note may be refused."""
    some = slice(None, None, 1 if judge.kernel.asked.refuse else _EVERY)
    pairs = list(zip(many[some], together[some], strict=True))
    return sum(not np.array_equal(judge.kernel.run(x[None])[0], y, equal_nan=True) for x, y in pairs), len(pairs)


def _shapes(judge: Judge, x: np.ndarray) -> tuple[list[Trial], list[str]]:
    """One row, one row alone, three and four axes, strided memory, many rows; and what was refused."""
    kernel, x = judge.kernel, judge.stored(x)
    n, d = x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    heads = np.stack([cube, -cube])
    # All different, so that a row computed in the place of another one is seen.
    count = _MANY_INTERPRETED if kernel.interpreted else _MANY if d <= 1024 else _MANY_WIDE
    many = judge.stored(np.random.default_rng(d).normal(size=(count, d)))
    grid = np.resize(many, (_GRID if d <= 128 and not kernel.interpreted else len(many), d))
    told = np.unique([place % len(grid) for at in (0, 1 << 15, 1 << 16) for place in range(at - 16, at + 16)])

    def alone(count: int) -> np.ndarray:
        return np.concatenate([kernel.run(row) for row in x[:count, None]])

    ways: tuple[Way, ...] = (
        ("single vectors of shape (d,)", x[:2], lambda: np.stack([kernel.run(row) for row in x[:2]])),
        ("batches of one row", x[:3], lambda: alone(3)),
        ("batches of shape (2, n, d)", cube.reshape(-1, d), lambda: kernel.run(cube)),
        ("batches of shape (2, 2, n, d)", heads.reshape(-1, d), lambda: kernel.run(heads)),
        *_layouts(judge, x),
        *_mixed(judge, x),
        ("no rows", x[:0], lambda: kernel.run(x[:0])),
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
        if not len(rows):
            continue
        trials.append(judge.judged(label, rows, got))
        if label.startswith(f"batches of {len(many)}"):
            different, tried = _batch_variance(judge, many, got)
            if different:
                notes.append(
                    f"not batch invariant: {different:,} of {tried:,} rows give other bits alone than in a batch"
                )
        if label.startswith("batches of") and trials[-1].wrong[1:].any() and not trials[-1].wrong[0]:
            break  # a smaller batch shows it
    return trials, notes
