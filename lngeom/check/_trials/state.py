"""State: what a call overwrites, what it keeps from earlier calls, and memory that it does not give back."""

import gc
import importlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.limits import memory
from lngeom.sentences import Cause, Way

from .._calls.binding import with_doubled
from .claim import Claim
from .trial import UNSTEADY, Aside, Outcome, Trial, attempt

LEAK, _STALE = Cause("leak"), Cause("stale")
BATCH = "batch"
_REPEATED = 12
"""With 12 calls, a fault in one of four is missed with probability 0.75¹² ≈ 3 %."""
_LARGE, _CALLS, _BLOCKS, _BYTES = 1 << 18, 4, 4, {"float64": 8, "float32": 4}
"""Components of a batch large enough to be seen, calls in a block, and blocks, so that no one-time growth counts."""


def state(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """A fault if a call changes its arguments or depends on earlier calls, and the outputs."""
    kernel, read = claim.kernel, claim.kernel.framework.read
    if kernel.form.filed:  # a file of outputs is written once
        return
    *changed, called = overwritten(claim, x)
    yield from changed[:1] or [called]
    if changed:  # all that follows would read the changed rows
        return
    arrays = kernel.arrays(x.shape[-1])
    # Other rows of the same shape, so that a buffer or a cache that is found by shape alone is used again.
    first, second = claim.stored(x), claim.stored(x[::-1] * 2 + 1)

    def run(rows: np.ndarray) -> np.ndarray:
        return read(kernel.call(kernel.array(rows), arrays))

    def judged(rows: np.ndarray, got: np.ndarray) -> Trial:
        return claim.judged(Way(BATCH, len(rows)), rows, got, Aside)

    output = kernel.call(kernel.array(first), arrays)
    before = read(output)
    other = run(second)
    if not np.array_equal(read(output), before, equal_nan=True):
        yield Cause("buffer reused")
        return
    again = run(first)
    asides = judged(first, before), judged(first, again), judged(second, other)
    right, right_again, right_other = (not each.wrong.any() for each in asides)
    differs = not np.array_equal(again, before, equal_nan=True)
    # Sums in another order may differ by rounding: only calls that are not both right show a state.
    if differs and not (right and right_again):
        # State is the same after the same call; noise is not.
        yield _STALE if steady(claim, first) else UNSTEADY
        return
    if right and not right_other:
        # A wrong formula is wrong in any order of calls; stale state is right where the rows come first, or answers
        # with the outputs of the rows before.
        row = [asides[2].worst[0]]
        if np.allclose(other, before, equal_nan=True) or not judged(second[row], run(second[row])).wrong.any():
            yield _STALE if steady(claim, second) else UNSTEADY
            return

    def renewed() -> Trial:
        rows: Any = kernel.array(first)
        kernel.call(rows, arrays)
        rows[...] = kernel.array(second)  # arrays of a framework may be constants
        return judged(second, read(kernel.call(rows, arrays)))

    kept = None if claim.proof.certificates else attempt("", renewed)  # what is proved keeps nothing
    if right_other and isinstance(kept, Trial) and kept.wrong.any():
        yield Cause("stale array")
        return
    yield from (*asides, *_kept(claim, first, before))


def steady(claim: Claim, x: np.ndarray, roundings: float = 0) -> bool:
    """Whether repeated calls agree, up to so many roundings."""
    first, *others = (claim.kernel.run(x) for _ in range(1 if claim.kernel.form.filed else _REPEATED))
    allowed = roundings * 2.0**-claim.arithmetic.storage.bits * (1 + abs(first))
    return all(np.isclose(other, first, 0, allowed, equal_nan=True).all() for other in others)


def overwritten(claim: Claim, x: np.ndarray) -> list[Outcome]:
    """The arguments that a call changes, its input, gain or bias; and the outputs."""
    kernel, d = claim.kernel, x.shape[-1]
    if kernel.form.filed:
        return []
    arrays = kernel.arrays(d)
    given = {"input": kernel.array(claim.stored(x)), **kernel.at(d).leaves, **arrays}
    before = {name: kernel.framework.read(values) for name, values in given.items()}
    got = kernel.framework.read(kernel.call(given["input"], arrays))
    after = {name: kernel.framework.read(values) for name, values in given.items()}
    changed = (Cause("overwritten", name) for name in given if not np.array_equal(after[name], before[name]))
    return [*changed, claim.judged(Way(BATCH, len(x)), claim.stored(x), got, Aside)]


def _kept(claim: Claim, x: np.ndarray, before: np.ndarray) -> Iterator[Cause]:
    """Whether a module answers with another gain and bias than its own: outputs stay when these are doubled."""
    kernel, bound = claim.kernel, claim.kernel.at(x.shape[-1])
    leaves: list[Any] = [leaf for leaf in bound.leaves.values() if hasattr(leaf, "data")]
    if not leaves or not np.isfinite(before).any() or not before.any():  # outputs that are 0 or NaN stay in any case
        return

    def stays(parameters: Iterable[Any]) -> bool:
        return np.array_equal(with_doubled(parameters, lambda: kernel.run(x)), before, equal_nan=True)

    def replaced() -> bool:
        torch = importlib.import_module("torch")
        twice = {name: 2 * one.detach() for name, one in bound.original.named_parameters()}
        got = torch.func.functional_call(bound.function, twice, (kernel.array(x),))
        return np.array_equal(kernel.framework.read(got), before, equal_nan=True)

    bare = replace(claim.base(x.shape[-1]), gain=None, bias=None)  # what never reads them keeps no copy
    if stays(leaves):
        if claim.judged(Way(BATCH, len(x)), x, before).against(bare).wrong.any():
            yield Cause("stale parameters")
        elif bound.original is not None and not stays(bound.original.parameters()):
            yield Cause("copy bound")
    elif bound.original is not None and not claim.proof.certificates and attempt("", replaced) is True:
        yield Cause("replaced ignored")


def leak(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """A fault if each call keeps as much memory as it returns, in block after block of calls; and outputs of one."""
    kernel, (n, d) = claim.kernel, x.shape
    if kernel.form.interpreted or kernel.form.filed:  # large batches take too long; files are not called
        return
    many = claim.stored(np.resize(x, (max(n, _LARGE // d), d)))
    rows = kernel.array(many)
    got = kernel.framework.read(kernel.call(rows)).reshape(many.shape)
    some = (got != got[np.arange(len(got)) % n]).any(-1)  # the rows repeat
    some[:n] = True
    yield claim.judged(Way("many", len(many)), many[some], got[some], Aside)

    def grown() -> int:
        before = memory()
        for _ in range(_CALLS):
            kernel.framework.read(kernel.call(rows)[:1])  # waits for the whole output
        if memory() - before > returned / 2:  # garbage in reference cycles is no leak
            gc.collect()
        return memory() - before

    returned = _CALLS * rows.shape[0] * d * _BYTES.get(kernel.dtype, 2)
    grown()  # caches are filled once
    if all(grown() > returned / 2 for _ in range(_BLOCKS)):
        yield LEAK
