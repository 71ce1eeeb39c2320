"""The trials of a kernel: rows of many sizes, dimensions, shapes and batches, and repeated calls."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any

import numpy as np

from lngeom.cli import out_of_memory
from lngeom.rounding import FORMATS, REAL, Sample, rounded
from lngeom.sentences import Way

from .._calls.call_files import Unwritten
from .._calls.fused import Fused
from .._calls.triton_hook import INTERPRETED
from .._tracing.frameworks import FrameworkArray
from .._tracing.triton import BeyondEnd
from .claim import Claim
from .held import memory
from .inputs import HUGE, SMALL, Inputs
from .trial import Trial
from .unexamined import unexamined, without

ODD_GAINS, TRAINING = Way("odd gains"), Way("training")
MANNERS, OTHER, BATCHES = (
    {"odd gains", "training"},
    "other dtype",
    {"single", "tokens", "three axes", "four axes", "many"},
)
"""Kinds of ways: the same kernel in another manner, gain and bias of another dtype, and batches."""
_ORDINARY, _TOKENS = Way("ordinary"), Way("tokens")
_MANY, _MANY_WIDE = 4100, 64  # rows of a large batch, of at most 1024 components and of more
_MANY_INTERPRETED = 130  # one program each, at milliseconds
_GRID = 70_000
"""Rows of up to 128 components, more than 16 bits count and a grid of blocks holds."""
_EVERY = 32
_LARGE, _CALLS, _BLOCKS, _BYTES = 1 << 18, 4, 4, {"float64": 8, "float32": 4}
"""Components of a batch whose memory is seen, and how often it is given; that nothing else grows as much so often."""
LEAK = "memory leak: every call keeps about as much memory as it returns"
UNSTEADY = "two calls in a row differ on the same rows (noise, or a state that grows)"
_REPEATED = 12
"""Calls, of which one in four that goes wrong escapes once in thirty."""
_FILED = "outputs read from files: repeated calls, layouts in memory and mixed dtypes were not examined"


@dataclass
class Tried:
    """What came out of a kernel.

    Attributes:
        inputs: The rows, with the claim.
        trials: Outputs of all groups, those of ordinary rows at the main dimension first.
        notes: What it refused, and what a correct kernel may do.
        faults: What no correct kernel does, whatever it computes; the first one is told.
        left: What was not examined.
        alone: Outputs of the first rows, each a batch of its own, where they are wrong in their batch.
        sums: How a kernel fused with a residual treats the sum, and what is wrong with it.
        wrong, refuted: The smallest row found of which fractions say that it is wrong, None if none; and the claim that
            it refutes, with gain 1 and bias 0 where these are wrong as well.
    """

    inputs: Inputs
    trials: list[Trial] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left: str = "everything but the rows tried"
    alone: np.ndarray | None = None
    sums: tuple[str | None, str | None] = None, None
    wrong: Trial | None = None
    refuted: Claim | None = None

    @contextmanager
    def listing(self, refusals: list[str], what: object) -> Iterator[None]:
        """Whatever a kernel raises in the block is listed; that it raises at some rows of many is a fault."""
        try:
            yield
        except _Raised as error:
            self.faults.append(str(error))
        except Unwritten as error:
            self.notes.append(f"{what} not examined: {error}")
        except Exception as error:  # a kernel may refuse in any way its framework has
            if refusals is self.faults and out_of_memory(error):
                raise
            refusals.append(_refusal(what, error))


def tried(inputs: Inputs) -> Tried:
    """All trials; what the kernel refused, and what repeated calls show."""
    claim, result = inputs.claim, Tried(inputs)
    main, *others = inputs.groups.items()
    ordinary, small = main[1][0][1], dict(main[1]).get(SMALL, main[1][0][1])
    with result.listing(result.faults, _ORDINARY):
        result.trials.append(claim.trial(_ORDINARY, ordinary))
        state = None if claim.kernel.form.filed else _state(claim, ordinary)
        result.faults += filter(None, [state or _ignored_eps(claim, small)])
        result.trials += _of_dimension(claim, main[1])
    for d, groups in others:
        with result.listing(refused := list[str](), f"d = {d}"):
            result.trials += _of_dimension(claim, groups, f", d = {d}")
            result.faults += [f"{text}, at d = {d}" for text in _overwritten(claim, groups[0][1])]
        for text in refused:  # of an array that lies in memory as usual
            (result.faults if "beyond the end of" in text else result.notes).append(text)
    if not result.trials:
        return result
    with result.listing(result.notes, "a second look at its outputs"):
        result.left = unexamined(claim, ordinary)
    if claim.kernel.d > HUGE:
        result.notes.append(f"shapes, memory and batches are not tried at more than {HUGE} components")
        return result
    with result.listing(result.faults, "a batch that it took"):
        _try_shapes(result, inputs.awkward())
        if not any(trial.wrong.any() for trial in result.trials):  # a mistake is named by the usual gains
            result.trials += _in_other_manners(claim, ordinary)
            with result.listing(result.notes, _TOKENS):
                result.trials.append(_tokens(claim, [rows for _, rows in main[1]]))
            if not claim.kernel.form.filed:
                with result.listing(result.notes, "gain or bias that is None"):
                    result.trials += without(claim, ordinary)
    if not result.faults:
        with result.listing(result.notes, "the dtype of its outputs"):
            dtype = str(getattr(claim.kernel.call(claim.kernel.array(ordinary)), "dtype", "")).rpartition(".")[2]
            if dtype not in ("", claim.kernel.dtype) and not claim.kernel.form.filed:
                result.notes.append(
                    f"outputs are of {dtype} for rows of {claim.kernel.dtype}, where PyTorch keeps the dtype"
                )
    with result.listing(result.notes, "a large batch"):
        result.faults += filter(None, [_leak(claim, ordinary)])
    form = claim.kernel.form
    result.notes += ["works in place"] if getattr(form.given, "in_place", False) else []
    result.notes += ["the residual is added after the norm"] if getattr(form.target, "after", False) else []
    result.notes += [INTERPRETED] if claim.kernel.form.interpreted else []
    result.notes += [_FILED] if claim.kernel.form.filed else []
    if not result.faults:
        first = result.trials[0]
        result.alone = _alone(claim, first.x[:3]) if first.wrong[:3].any() else None
        result.sums = _sums(claim) if isinstance(claim.kernel.form.target, Fused) else (None, None)
    return result


class _Raised(Exception):
    """An error that a kernel raised at some rows of a dimension, though it takes others."""


def _refusal(what: object, error: Exception) -> str:
    if isinstance(error, BeyondEnd):
        return f"{error.args[0]} at {what} ({error.args[1]})"
    return f"refuses {what}: {type(error).__name__}: {shorten(str(error), 80, placeholder=' ...')}"


def _of_dimension(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]], where: str = "") -> Iterator[Trial]:
    """All groups of one dimension in one call; where that raises, group by group."""
    try:
        whole = claim.trial(_ORDINARY, np.concatenate([x for _, x in groups]))
    except Exception:
        taken, refused = 0, list[str]()
        for label, x in groups:
            try:
                claim.trial(label, x)
                taken += 1
            except Exception as error:
                if out_of_memory(error):
                    raise
                refused.append(_refusal(label, error))
        if taken and refused:
            raise _Raised(refused[0] + where) from None
        raise
    begin = 0
    for label, x in groups:
        yield whole.part(label, begin, begin := begin + len(x))


def _tokens(claim: Claim, groups: Sequence[np.ndarray]) -> Trial:
    """Rows of every group as sequences of one token, for which a kernel may have a path of its own."""
    rows = claim.stored(np.concatenate(groups))
    return claim.judged(_TOKENS, rows, claim.kernel.run(rows[:, None]).reshape(rows.shape))


def _in_other_manners(claim: Claim, x: np.ndarray) -> Iterator[Trial]:
    """Gains that are zero or large, and the training mode of a module."""
    if claim.base(x.shape[-1]).gain is not None:
        yield claim.like("odd gains").trial(ODD_GAINS, x)
    if claim.kernel.at(x.shape[-1]).leaves:
        yield claim.like("training").trial(TRAINING, x)


def _ignored_eps(claim: Claim, x: np.ndarray) -> str | None:
    """Whether rows of small variance do not tell one ε that is given from another."""
    other = 64 * float(claim.eps) or 1e-3
    if not claim.kernel.takes_eps:
        return None
    x = claim.stored(x)
    outputs = [claim.kernel.like(eps=eps).run(x) for eps in (other, max(1.0, other))]  # a limit may lie between them
    if not all(np.array_equal(claim.kernel.run(x), output, equal_nan=True) for output in outputs):
        return None
    return f"the eps that is given is ignored: {float(claim.eps):g} and {other:g} give the same outputs"


def _state(claim: Claim, x: np.ndarray) -> str | None:
    """Whether a call depends on earlier ones, changes its input, or returns a buffer that the next call overwrites."""
    kernel, read = claim.kernel, claim.kernel.framework.read
    arrays = kernel.arrays(x.shape[-1])
    first, second = claim.stored(x), claim.stored(x[::-1] * 2 + 1)

    def run(rows: np.ndarray) -> np.ndarray:
        return read(kernel.call(kernel.array(rows), arrays))

    if overwritten := _overwritten(claim, x):
        return overwritten[0]
    output = kernel.call(kernel.array(first), arrays)
    before = read(output)
    other = run(second)
    if not np.array_equal(read(output), before, equal_nan=True):
        return "output buffer reused: the next call overwrites it"
    again = run(first)
    stale = "depends on earlier calls (stale state)"
    right = not claim.judged(_ORDINARY, first, before).wrong.any()
    changed = not np.array_equal(again, before, equal_nan=True)
    if changed and not (right and not claim.judged(_ORDINARY, first, again).wrong.any()):
        # Behind the same call a state is the same, and noise is not.
        return stale if steady(claim, first) else UNSTEADY
    if right and claim.judged(_ORDINARY, second, other).wrong.any():
        row = [claim.judged(_ORDINARY, second, other).worst[0]]
        alike = np.allclose(other, before, equal_nan=True)
        if alike or not claim.judged(_ORDINARY, second[row], run(second[row])).wrong.any():
            return stale if steady(claim, second) else UNSTEADY
    return _kept(claim, first, before)


def steady(claim: Claim, x: np.ndarray, roundings: float = 0) -> bool:
    """Whether calls in a row give the same, up to so many roundings."""
    first, *others = (claim.kernel.run(x) for _ in range(1 if claim.kernel.form.filed else _REPEATED))
    allowed = roundings * 2.0**-claim.arithmetic.storage.bits * (1 + abs(first))
    return all(np.isclose(other, first, 0, allowed, equal_nan=True).all() for other in others)


def _overwritten(claim: Claim, x: np.ndarray) -> list[str]:
    """What of its input, gain and bias a call changes."""
    kernel, d = claim.kernel, x.shape[-1]
    if kernel.form.filed:
        return []
    arrays = kernel.arrays(d)
    given = {"input": kernel.array(claim.stored(x)), **kernel.at(d).leaves, **arrays}
    before = {name: kernel.framework.read(values) for name, values in given.items()}
    kernel.call(given["input"], arrays)
    after = {name: kernel.framework.read(values) for name, values in given.items()}
    return [f"{name} overwritten in place" for name in given if not np.array_equal(after[name], before[name])]


def _kept(claim: Claim, x: np.ndarray, before: np.ndarray) -> str | None:
    """Whether the outputs stay as they were when a module's gain and bias are changed between two calls."""
    leaves: list[Any] = [leaf for leaf in claim.kernel.at(x.shape[-1]).leaves.values() if hasattr(leaf, "data")]
    kept = [leaf.data.clone() for leaf in leaves]
    for leaf in leaves:
        leaf.data *= 2
    after = claim.kernel.run(x)
    for leaf, values in zip(leaves, kept, strict=True):
        leaf.data = values
    same = leaves and np.isfinite(before).any() and before.any() and np.array_equal(after, before, equal_nan=True)
    return "gain and bias of an earlier call are used after they were changed (stale state)" if same else None


def _leak(claim: Claim, x: np.ndarray) -> str | None:
    """Whether each call keeps as much memory as it returns, in block after block of calls."""
    kernel, (n, d) = claim.kernel, x.shape
    if kernel.form.interpreted or kernel.form.filed:
        return None
    rows = kernel.array(claim.stored(np.resize(x, (max(n, _LARGE // d), d))))

    def grown() -> int:
        before = memory()
        for _ in range(_CALLS):
            kernel.framework.read(kernel.call(rows)[:1])  # which waits for the whole
        if memory() - before > returned / 2:  # some of which cycles may hold
            gc.collect()
        return memory() - before

    returned = _CALLS * rows.shape[0] * d * _BYTES.get(kernel.dtype, 2)
    grown()  # what is made once
    if all(grown() > returned / 2 for _ in range(_BLOCKS)):
        return LEAK
    return None


Given = tuple[Way, np.ndarray, Callable[[], np.ndarray]]
"""A way, the rows of shape (n, d), and a call that should give their outputs."""


def _layouts(claim: Claim, x: np.ndarray) -> Iterator[Given]:
    """The rows in memory of every kind: parts of wider arrays, broken strides, other beginnings."""
    kernel = claim.kernel
    n, d = x.shape
    m = n // 2
    cube = x[: 2 * m].reshape(2, m, d)
    heads = np.stack([cube, -cube])
    other = claim.stored(np.full_like(x, 7.0))

    def seen(values: np.ndarray, view: Callable[[FrameworkArray], FrameworkArray]) -> Callable[[], np.ndarray]:
        return lambda: kernel.framework.read(kernel.call(view(kernel.array(values))))

    yield Way("every other component"), x, seen(np.repeat(x, 2, axis=-1), lambda a: a[..., ::2])
    yield Way("first components"), x, seen(np.hstack([x, other]), lambda a: a[:, :d])
    yield Way("last components"), x, seen(np.hstack([other, x]), lambda a: a[:, d:])
    yield Way("last rows"), x, seen(np.vstack([other, x]), lambda a: a[n:])
    yield Way("every other row"), x, seen(np.repeat(x, 2, axis=0), lambda a: a[::2])
    yield (Way("one later"), x, seen(np.append(7.0, x), lambda a: a[1:].reshape(n, d)))
    yield Way("transposed"), x, seen(x.T.copy(), lambda a: a.T)
    yield Way("three exchanged"), cube.reshape(-1, d), seen(np.swapaxes(cube, 0, 1), lambda a: a.swapaxes(0, 1))
    between = np.hstack([np.full((2, m * d), 7.0), cube.reshape(2, -1), np.full((2, m * d), 7.0)])
    # As queries, keys and values of one product: no single step leads from every row to the next.
    yield (Way("heads"), cube.reshape(-1, d), seen(between, lambda a: a[:, m * d : -m * d].reshape(2, m, d)))
    yield Way("four exchanged"), heads.reshape(-1, d), seen(np.swapaxes(heads, 0, 2), lambda a: a.swapaxes(0, 2))


def _mixed(claim: Claim, x: np.ndarray) -> Iterator[Given]:
    """Gain and bias of another dtype than the rows, which hold the same numbers in it."""
    kernel, d = claim.kernel, x.shape[-1]
    bound = kernel.at(d)
    given = {name: value for name, value in (("gain", bound.gain), ("bias", bound.bias)) if value is not None}
    if given and not bound.holds:
        dtype = "float32" if kernel.dtype in ("float16", "bfloat16") else "float16"
        made = {name: kernel.framework.make(value, dtype, kernel.asked.device) for name, value in given.items()}
        yield Way(OTHER, dtype), x, lambda: kernel.framework.read(kernel.call(kernel.array(x), made))


def _reread(claim: Claim, trial: Trial, dtype: str) -> bool:
    """Whether the outputs are those of the memory of gain and bias of another dtype, read as if of the kernel's own."""
    made = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
    own = np.dtype(made.get(claim.kernel.dtype, np.float16))
    if own.itemsize == 2:  # there it is usual that gains are of float32
        return False

    def read(values: Any) -> Any:
        raw = values.astype(made[dtype]).view(np.uint8)
        return raw[: len(raw) // own.itemsize * own.itemsize].view(own).astype(REAL)[: trial.d]

    base, plain = trial.base, replace(trial.base, gain=None, bias=None)
    if claim.meant.offset or claim.meant.stated:
        return False
    parts = [None if values is None else read(values) for values in (base.gain, base.bias)]
    k = min(len(part) for part in parts if part is not None)
    gain, bias = (1 if part is None else part[:k] for part in parts)
    expected = plain.output(Sample(trial.x))[:, :k] * gain + (0 if base.bias is None else bias)
    got, unit = trial.got[:, :k], 4 * trial.d * 2.0**-trial.arithmetic.storage.bits
    with np.errstate(all="ignore"):
        return bool(((abs(got - expected) <= unit * (abs(expected) + abs(bias))) | ~np.isfinite(expected)).all())


def _batch_variance(claim: Claim, many: np.ndarray, together: np.ndarray) -> Iterator[str]:
    """A note on rows of a batch that give other bits alone; all are tried where a note may be refused."""
    some = slice(None, None, 1 if claim.kernel.asked.refuse else _EVERY)
    pairs = list(zip(many[some], together[some], strict=True))
    different = sum(not np.array_equal(claim.kernel.run(x[None])[0], y, equal_nan=True) for x, y in pairs)
    if different:
        yield f"not batch invariant: {different:,} of {len(pairs):,} rows give other bits alone than in a batch"


def _try_shapes(result: Tried, x: np.ndarray) -> None:
    """One row, one row alone, three and four axes, strided memory, many rows; and what is refused."""
    claim = result.inputs.claim
    kernel, x = claim.kernel, claim.stored(x)
    n, d = x.shape
    cube = x[: n // 2 * 2].reshape(2, -1, d)
    heads = np.stack([cube, -cube])
    # All different, so that a row computed in place of another one is seen.
    slow = kernel.form.interpreted or claim.meant.stated  # whose bounds are of one row at a time
    count = _MANY_INTERPRETED if slow else _MANY if d <= 1024 else _MANY_WIDE
    many = claim.stored(np.random.default_rng(d).normal(size=(count, d)))
    grid = np.resize(many, (_GRID if d <= 128 and not kernel.form.interpreted else len(many), d))
    told = np.unique([place % len(grid) for at in (0, 1 << 15, 1 << 16) for place in range(at - 16, at + 16)])

    def alone(count: int) -> np.ndarray:
        return np.concatenate([kernel.run(row) for row in x[:count, None]])

    ways: tuple[Given, ...] = (
        (Way("vectors"), x[:2], lambda: np.stack([kernel.run(row) for row in x[:2]])),
        (Way("single"), x[:3], lambda: alone(3)),
        (Way("zeros"), 0 * x[:1], lambda: kernel.run(0 * x[:1])),
        (_TOKENS, x[:3], lambda: kernel.run(x[:3, None])),
        (Way("three axes"), cube.reshape(-1, d), lambda: kernel.run(cube)),
        (Way("four axes"), heads.reshape(-1, d), lambda: kernel.run(heads)),
        *(() if kernel.form.filed else (*_layouts(claim, x), *_mixed(claim, x))),
        (Way("no rows"), x[:0], lambda: kernel.run(x[:0])),
        (Way("many", len(many)), many, lambda: kernel.run(many)),
        (Way("grid", len(grid)), grid[told], lambda: kernel.run(grid)[told]),
    )
    for label, rows, run in ways:
        got = None
        with result.listing(result.notes, label):
            got = run()
        if got is None:
            continue
        if got.size == rows.size:
            got = got.reshape(rows.shape)
        else:
            result.faults.append(f"outputs of shape {got.shape} for {label}")
            continue
        if not len(rows):
            continue
        trial = claim.judged(label, rows, got)
        if label.kind == OTHER and trial.wrong.any() and _reread(claim, trial, str(label.values[0])):
            result.notes.append(f"reads {label} as if they were of {kernel.dtype}")
            continue
        result.trials.append(trial)
        if label.kind == "many":
            result.notes += _batch_variance(claim, many, got)
        if label.kind in BATCHES and trial.wrong[1:].any() and not trial.wrong[0]:
            break  # a smaller batch shows it


def _alone(claim: Claim, x: np.ndarray) -> np.ndarray | None:
    """Outputs of rows that are each a batch of its own; None where it refuses such a batch."""
    try:
        return np.concatenate([claim.trial(_ORDINARY, row).got for row in x[:, None]])
    except Exception:  # in any way that its framework has
        return None


def _sums(claim: Claim) -> tuple[str | None, str | None]:
    """How a fused kernel treats the sum, "rounded", "unrounded" or None where both hold; and what is wrong with it."""
    kernel, rng = claim.kernel, np.random.default_rng(claim.kernel.d)
    fused: Fused = kernel.form.target
    x, residual = (claim.stored(size * rng.normal(size=(32, kernel.d))) for size in (1.0, 0.37))
    exact, read = x + residual, kernel.framework.read
    fused.residual = kernel.array(residual)
    try:
        got = kernel.run(x)
    finally:
        fused.residual = None
    once = rounded(exact, kernel.dtype).astype(float)
    if fused.after:
        plain, unit = kernel.run(x), float(FORMATS[kernel.dtype].roundoff)  # a rounding of each, and of the sum
        off = abs(got - plain - residual) > 4 * unit * (abs(plain) + abs(got))
        return None, "the residual is not added to the output, as it is elsewhere" if off.any() else None
    if fused.total is not None and not np.array_equal(read(fused.total), once):
        return None, "the sum that is returned is not that of input and residual, rounded once"
    base, sums = claim.base(kernel.d), {"rounded": once, "unrounded": exact}
    holds = [key for key, rows in sums.items() if base.family(Sample(rows), claim.arithmetic).fit(got).ok.all()]
    if not holds:
        return None, "neither the rounded nor the unrounded sum of input and residual is normalized"
    return (holds[0] if len(holds) == 1 and FORMATS[kernel.dtype].bits < 24 else None), None
