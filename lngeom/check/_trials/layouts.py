"""Rows in arrays of other shapes, in other memory layouts, with parameters of another dtype, and in large batches."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import REAL, Sample
from lngeom.sentences import Cause, Way

from .._tracing.frameworks import FrameworkArray
from .bits import bits
from .claim import Claim
from .trial import Note, Outcome, Trial, attempt

SINGLE, TOKENS = Way("single"), Way("tokens")
OTHER, BATCHES = "other dtype", {"tokens", "three axes", "four axes", "many"}
"""Kinds of ways: gain and bias of another dtype than the rows, and batches."""
EXCHANGED = {"heads", "three exchanged", "four exchanged"}
NOT_CONTIGUOUS = {"transposed", "every other component", "every other row", "first components", *EXCHANGED}
NOT_CONTIGUOUS |= {"last components", "strided"}
_MANY, _MANY_WIDE = 4100, 64  # rows of a large batch, of at most 1024 components and of more
_MANY_INTERPRETED = 130  # one program each, at milliseconds
GRID = 70_000
"""Rows of up to 128 components: more than 16 bits count, and than blocks fit into a grid."""
_EVERY = 32
Given = tuple[Way, np.ndarray, Callable[[], np.ndarray]]
"""A way, the rows of shape (n, d), and a call that should give their outputs."""


def shaped(claim: Claim, x: np.ndarray, vectors: np.ndarray) -> Iterator[Outcome]:
    """The rows `x` in every shape and layout, large batches, and `vectors` each by itself, of one axis."""
    slow, d = claim.kernel.form.interpreted or claim.meant.stated, x.shape[-1]  # stated definitions take row by row
    count = _MANY_INTERPRETED if slow else _MANY if d <= 1024 else _MANY_WIDE
    many = np.random.default_rng(d).normal(size=(count, d))  # all different: one in place of another is seen
    x, many, vectors = map(claim.stored, (x, many, vectors))
    by_itself = (Way("vectors"), vectors, lambda: np.stack([claim.kernel.run(row) for row in vectors]))
    judged = dict[tuple[bytes, bytes], Trial]()  # most ways give the same outputs of the same rows
    for label, rows, run in (by_itself, *_ways(claim, x, many)):
        got = attempt(label, run)
        if isinstance(got, Note):
            yield got.fault if got.kind == "beyond end" else got  # the memory of another array
        elif got.size != rows.size:  # of a shape that it took: no refusal
            yield Cause("output shape", str(got.shape), label)
        elif len(rows):
            got = got.reshape(rows.shape)
            same = rows.tobytes(), got.tobytes()
            judged[same] = replace(judged[same], label=label) if same in judged else claim.judged(label, rows, got)
            trial = judged[same].steady(lambda run=run, rows=rows: run().reshape(rows.shape))
            if isinstance(trial, Cause):
                yield trial
                return
            if label.kind == OTHER and trial.wrong.any():
                dtype = str(label.values[0])
                wider = not either_cast(claim.like(dtype=dtype), label, rows, got).wrong.any()
                if wider or _reread(claim, trial, dtype):
                    told = ("to other dtype", dtype) if wider else ("read as own dtype", label)
                    yield Note(*told, claim.kernel.dtype)
                    continue
            if label.kind == "strided" and trial.wrong.any() and claim.kernel.form.interpreted:
                yield Note("strides of gain")
                continue
            yield trial
            if rows is many:
                yield from _batch_variance(claim, many, got)
            if label.kind in BATCHES and trial.wrong[1:].any() and not trial.wrong[0]:
                break  # a smaller batch shows it


def _ways(claim: Claim, x: np.ndarray, many: np.ndarray) -> tuple[Given, ...]:
    """From one row to large batches, simple shapes first: the first failure names the cause."""
    kernel, (n, d) = claim.kernel, x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    heads = np.stack([cube, -cube])
    grid = np.resize(many, (GRID if d <= 128 and not kernel.form.interpreted else len(many), d))
    told = counted(len(grid))
    laid = () if kernel.form.filed else (*_layouts(claim, x, cube, heads), *_mixed(claim, x))
    return (
        (SINGLE, x[:3], lambda: alone(claim, x[:3])), (Way("zeros"), 0 * x[:1], lambda: kernel.run(0 * x[:1])),
        (TOKENS, x[:3], lambda: kernel.run(x[:3, None])),
        (Way("three axes"), cube.reshape(-1, d), lambda: kernel.run(cube)),
        (Way("four axes"), heads.reshape(-1, d), lambda: kernel.run(heads)),
        *(given for given in laid if not (kernel.asked.contiguous and given[0].kind in NOT_CONTIGUOUS)),
        (Way("no rows"), x[:0], lambda: kernel.run(x[:0])), (Way("many", len(many)), many, lambda: kernel.run(many)),
        (Way("grid", len(grid)), grid[told], lambda: kernel.run(grid)[told]),
    )  # fmt: skip


def counted(rows: int) -> np.ndarray:
    """The rows of a large batch that are judged: its ends, and where counters of 15 and 16 bits overflow."""
    return np.unique([place % rows for at in (0, 1 << 15, 1 << 16) for place in range(at - 16, at + 16)])


def tokens(claim: Claim, groups: list[np.ndarray]) -> Iterator[Outcome]:
    """Rows of every group as sequences of one token, for which a kernel may have a path of its own."""
    rows = claim.stored(np.concatenate(groups))
    run = lambda: claim.kernel.run(rows[:, None]).reshape(rows.shape)  # noqa: E731
    yield claim.judged(TOKENS, rows, run()).steady(run)


def _layouts(claim: Claim, x: np.ndarray, cube: np.ndarray, heads: np.ndarray) -> Iterator[Given]:
    """The rows as views that are not contiguous: slices of wider arrays, transposed, at an offset."""
    kernel, (n, d), m = claim.kernel, x.shape, len(x) // 2
    other = claim.stored(np.full_like(x, 7.0))

    def seen(values: np.ndarray, view: Callable[[FrameworkArray], FrameworkArray]) -> Callable[[], np.ndarray]:
        return lambda: kernel.framework.read(kernel.call(view(kernel.array(values))))

    yield Way("five axes"), heads.reshape(-1, d), lambda: kernel.run(heads[:, :, None])
    yield Way("every other component"), x, seen(np.repeat(x, 2, axis=-1), lambda a: a[..., ::2])
    yield Way("first components"), x, seen(np.hstack([x, other]), lambda a: a[:, :d])
    yield Way("last components"), x, seen(np.hstack([other, x]), lambda a: a[:, d:])
    yield Way("last rows"), x, seen(np.vstack([other, x]), lambda a: a[n:])
    yield Way("every other row"), x, seen(np.repeat(x, 2, axis=0), lambda a: a[::2])
    yield (Way("one later"), x, seen(np.append(7.0, x), lambda a: a[1:].reshape(n, d)))
    yield Way("transposed"), x, seen(x.T.copy(), lambda a: a.T)
    yield Way("three exchanged"), cube.reshape(-1, d), seen(np.swapaxes(cube, 0, 1), lambda a: a.swapaxes(0, 1))
    between = np.hstack([np.full((2, m * d), 7.0), cube.reshape(2, -1), np.full((2, m * d), 7.0)])
    # As queries, keys and values in one projection: the rows have no common stride.
    yield (Way("heads"), cube.reshape(-1, d), seen(between, lambda a: a[:, m * d : -m * d].reshape(2, m, d)))
    yield Way("four exchanged"), heads.reshape(-1, d), seen(np.swapaxes(heads, 0, 2), lambda a: a.swapaxes(0, 2))


def _mixed(claim: Claim, x: np.ndarray) -> Iterator[Given]:
    """Gain and bias in another dtype than the rows, with the same values, and as views."""
    kernel, d = claim.kernel, x.shape[-1]
    bound = kernel.at(d)
    given = {name: value for name, value in (("gain", bound.gain), ("bias", bound.bias)) if value is not None}
    if given and not bound.holds:
        dtype = "float32" if kernel.dtype in ("float16", "bfloat16") else "float16"
        made = {name: kernel.framework.make(value, dtype, kernel.asked.device) for name, value in given.items()}
        yield Way(OTHER, dtype), x, lambda: kernel.framework.read(kernel.call(kernel.array(x), made))
        strided = {name: kernel.array(np.repeat(value, 2))[::2] for name, value in given.items()}
        yield Way("strided"), x, lambda: kernel.framework.read(kernel.call(kernel.array(x), strided))


def either_cast(claim: Claim, label: Way, x: np.ndarray, got: np.ndarray) -> Trial:
    """Outputs in the format of the claim, where the normalized value may be cast to it before the gain."""
    cast = replace(claim, variant=Cause("cast gain", claim.kernel.dtype))
    return min((one.judged(label, x, got) for one in (claim, cast)), key=lambda trial: trial.largest)


def _reread(claim: Claim, trial: Trial, dtype: str) -> bool:
    """Whether the kernel reads the bytes of gain and bias of another dtype as numbers of its own."""
    own = np.dtype(claim.kernel.dtype.replace("bfloat16", "float16"))
    # Kernels of 16 bits have to expect gains of float32; 1 + weight and other functions need not be linear in them.
    if own.itemsize == 2 or claim.meant.offset or claim.meant.stated:
        return False

    def read(values: Any) -> Any:
        raw = values.astype(dtype).view(np.uint8)
        return raw[: len(raw) // own.itemsize * own.itemsize].view(own).astype(REAL)[: trial.d]

    base, plain = trial.base, replace(trial.base, gain=None, bias=None)
    parts = [None if values is None else read(values) for values in (base.gain, base.bias)]
    k = min(len(part) for part in parts if part is not None)
    gain, bias = (1 if part is None else part[:k] for part in parts)
    expected = plain.output(Sample(trial.x))[:, :k] * gain + (0 if base.bias is None else bias)
    got, unit = trial.got[:, :k], 4 * trial.d * 2.0**-trial.arithmetic.storage.bits
    with np.errstate(all="ignore"):
        return bool(((abs(got - expected) <= unit * (abs(expected) + abs(bias))) | ~np.isfinite(expected)).all())


def alone(claim: Claim, x: np.ndarray) -> np.ndarray:
    """Outputs of rows that are each a batch of its own."""
    return np.concatenate([claim.kernel.run(row) for row in x[:, None]])


def _batch_variance(claim: Claim, many: np.ndarray, together: np.ndarray) -> Iterator[Outcome]:
    """Rows that are wrong alone, and what is seen of bits."""
    some = slice(None, None, 1 if claim.kernel.asked.refuse or claim.kernel.asked.require else _EVERY)
    x = many[some]
    single = alone(claim, x).reshape(x.shape)
    trial = claim.judged(SINGLE, x, single)
    if trial.wrong.any():
        yield trial
    if not claim.kernel.form.interpreted:  # it sums in another order than a GPU
        yield from bits(claim, many, together, (single, together[some]))
