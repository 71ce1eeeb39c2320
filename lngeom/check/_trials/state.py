"""State: what a call overwrites, and what it keeps from earlier calls."""

from typing import Any

import numpy as np

from lngeom.sentences import Cause, Way

from .claim import Claim

UNSTEADY = Cause("unsteady")
_ORDINARY, _STALE = Way("ordinary"), Cause("stale")
_REPEATED = 12
"""With 12 calls, a fault in one of four is missed with probability 0.75¹² ≈ 3 %."""


def state(claim: Claim, x: np.ndarray) -> Cause | None:
    """How a call changes its arguments or depends on earlier calls, None if it does neither."""
    kernel, read = claim.kernel, claim.kernel.framework.read
    if kernel.form.filed:  # a file of outputs is written once
        return None
    if changed := overwritten(claim, x):
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
    return Cause("stale parameters") if same else None
