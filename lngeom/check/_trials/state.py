"""State: what a call overwrites, what it keeps from earlier calls, and memory that it does not give back."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lngeom.sentences import Cause, Way

from .claim import Claim

UNSTEADY, LEAK = Cause("unsteady"), Cause("leak")
_ORDINARY, _STALE = Way("ordinary"), Cause("stale")
_REPEATED = 12
"""With 12 calls, a fault in one of four is missed with probability 0.75¹² ≈ 3 %."""
_LARGE, _CALLS, _BLOCKS, _BYTES = 1 << 18, 4, 4, {"float64": 8, "float32": 4}
"""Components of a batch large enough to be seen, calls in a block, and blocks, so that no one-time growth counts."""
_STATISTICS = Path("/proc/self/statm")


def state(claim: Claim, x: np.ndarray) -> Cause | None:
    """How a call changes its arguments or depends on earlier calls, None if it does neither."""
    kernel, read = claim.kernel, claim.kernel.framework.read
    if kernel.form.filed:  # a file of outputs is written once
        return None
    if changed := overwritten(claim, x):  # all that follows would read the changed rows
        return changed[0]
    arrays = kernel.arrays(x.shape[-1])
    # Other rows of the same shape, so that a buffer or a cache that is found by shape alone is used again.
    first, second = claim.stored(x), claim.stored(x[::-1] * 2 + 1)

    def run(rows: np.ndarray) -> np.ndarray:
        return read(kernel.call(kernel.array(rows), arrays))

    def is_right(rows: np.ndarray, got: np.ndarray) -> bool:
        return not claim.judged(_ORDINARY, rows, got).wrong.any()

    output = kernel.call(kernel.array(first), arrays)
    before = read(output)
    other = run(second)
    if not np.array_equal(read(output), before, equal_nan=True):
        return Cause("buffer reused")
    again = run(first)
    right = is_right(first, before)
    differs = not np.array_equal(again, before, equal_nan=True)
    # Sums in another order may differ by rounding: only calls that are not both right show a state.
    if differs and not (right and is_right(first, again)):
        # State is the same after the same call; noise is not.
        return _STALE if steady(claim, first) else UNSTEADY
    if right and not is_right(second, other):
        # A wrong formula is wrong in any order of calls; stale state is right where the rows come first, or answers
        # with the outputs of the rows before.
        row = [claim.judged(_ORDINARY, second, other).worst[0]]
        if np.allclose(other, before, equal_nan=True) or is_right(second[row], run(second[row])):
            return _STALE if steady(claim, second) else UNSTEADY
    return _kept(claim, first, before)


def steady(claim: Claim, x: np.ndarray, roundings: float = 0) -> bool:
    """Whether repeated calls agree, up to so many roundings."""
    first, *others = (claim.kernel.run(x) for _ in range(1 if claim.kernel.form.filed else _REPEATED))
    allowed = roundings * 2.0**-claim.arithmetic.storage.bits * (1 + abs(first))
    return all(np.isclose(other, first, 0, allowed, equal_nan=True).all() for other in others)


def overwritten(claim: Claim, x: np.ndarray) -> list[Cause]:
    """The arguments that a call changes: its input, gain or bias."""
    kernel, d = claim.kernel, x.shape[-1]
    if kernel.form.filed:
        return []
    arrays = kernel.arrays(d)
    given = {"input": kernel.array(claim.stored(x)), **kernel.at(d).leaves, **arrays}
    before = {name: kernel.framework.read(values) for name, values in given.items()}
    kernel.call(given["input"], arrays)
    after = {name: kernel.framework.read(values) for name, values in given.items()}
    return [Cause("overwritten", name) for name in given if not np.array_equal(after[name], before[name])]


def _kept(claim: Claim, x: np.ndarray, before: np.ndarray) -> Cause | None:
    """Whether a module answers with a copy of its gain and bias: outputs stay when these are doubled."""
    leaves: list[Any] = [leaf for leaf in claim.kernel.at(x.shape[-1]).leaves.values() if hasattr(leaf, "data")]
    kept = [leaf.data.clone() for leaf in leaves]
    for leaf in leaves:
        leaf.data *= 2
    after = claim.kernel.run(x)
    for leaf, values in zip(leaves, kept, strict=True):
        leaf.data = values
    # Outputs that are 0 or NaN would stay in any case.
    same = leaves and np.isfinite(before).any() and before.any() and np.array_equal(after, before, equal_nan=True)
    bare = replace(claim.base(x.shape[-1]), gain=None, bias=None)  # what never reads them keeps no copy
    unused = same and not claim.judged(_ORDINARY, x, before).against(bare).wrong.any()
    return Cause("stale parameters") if same and not unused else None


def memory() -> int:
    """Bytes that this process holds, on the machine and on its GPU; 0 where the system does not say.

    Free memory goes back to the system first, so that a lost block cannot be taken from it unseen.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
    torch = sys.modules.get("torch")
    held = torch.cuda.memory_allocated() if torch is not None and torch.cuda.is_initialized() else 0
    pages = int(_STATISTICS.read_text().split()[1]) if _STATISTICS.exists() else 0
    return held + pages * os.sysconf("SC_PAGE_SIZE")


def leak(claim: Claim, x: np.ndarray) -> Iterator[Cause]:
    """A fault if each call keeps as much memory as it returns, in block after block of calls."""
    kernel, (n, d) = claim.kernel, x.shape
    if kernel.form.interpreted or kernel.form.filed:  # large batches take too long; files are not called
        return
    rows = kernel.array(claim.stored(np.resize(x, (max(n, _LARGE // d), d))))

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
