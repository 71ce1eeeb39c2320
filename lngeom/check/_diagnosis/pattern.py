"""Causes that are measured, not listed: a family of formulas is fitted to outputs, and holds if it gives them all.

Of ordinary rows alone: on these fewer than 4d roundings stay far below differences of order 1.
"""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import REAL, Definition, Sample
from lngeom.sentences import Cause, Statement, several

from .._trials.claim import Claim
from .._trials.trial import Trial

Reals = Any
"""Numbers, or arrays of them."""
_RESIDUAL = {0: "residual lost", -1: "residual subtracted", 2: "residual twice", 0.5: "residual halved"}
_OWN_GAINS = {"odd gains", "other dtype", "no gain"}
"""Ways that have another gain than the usual one."""
_WIDEST = 1100
"""Components that are probed one by one."""


def places(wrong: np.ndarray, noun: str = "component") -> Statement:
    """Positions of components or rows, a mask of shape (d,): a range, a range of each block, or how many."""
    d, at = len(wrong), np.flatnonzero(wrong)
    if not len(at) or len(at) == d:
        return Statement("all" if len(at) else "none", noun)
    first, last = int(at[0]), int(at[-1])
    if len(at) == last - first + 1:
        one = Statement("last", noun) if last == d - 1 else Statement("at", noun, first)
        return one if first == last else Statement("range", noun, first, last)
    for period in range(2, d // 2 + 1):
        block = wrong[:period]
        if (np.resize(block, d) == wrong).all() and block.any():
            return Statement("period", places(block, noun), period)
    ends = np.flatnonzero(np.diff(at) > 1)
    if len(ends) > 3:
        return Statement("count", len(at), d, noun, first)
    parts = np.split(at, ends + 1)
    runs = " and ".join(f"{a[0]} to {a[-1]}" if len(a) > 1 else f"{a[0]}" for a in parts)
    return Statement("runs", noun, runs)


def patterned(claim: Claim, trials: list[Trial]) -> Cause | None:
    """The first fitted cause that gives the ordinary rows of every failing dimension that is not too wide."""
    ordinary = [t for t in trials if t.label.kind == "ordinary" and 2 < t.d <= _WIDEST and t.wrong.any()]
    finite = [trial for trial in ordinary if np.isfinite(trial.got).all()]
    if not finite:
        return None
    first = max(finite[:4], key=lambda trial: trial.d)  # a pattern has to have room
    with np.errstate(all="ignore"):
        return _of_blocks(first) or _of_statistics(claim, first) or _of_affine(claim, first, trials) or _of_power(first)


def of_other_rows(trial: Trial) -> Cause | None:
    """Which other rows the statistics are those of: all columns, the whole array, or a neighbour."""
    x = trial.x.astype(REAL)
    for kind, axes in (("axis of rows", (0,)), ("whole array", (0, 1))):
        center = x.mean(axes, keepdims=True) if trial.base.centered else 0
        if _gives(trial, center, ((x - center) ** 2).mean(axes, keepdims=True)):
            return Cause(kind)
    center, square, _ = trial.base.exact(Sample(trial.x))
    rows = np.arange(len(x))
    for k in range(len(x)):
        step = f"+ {k}" if 2 * k <= len(x) else f"- {len(x) - k}"
        for taken, text in ((np.roll(rows, -k), Statement("row step", step)), (rows * 0 + k, Statement("one row", k))):
            if (taken != rows).any() and _gives(trial, center[taken], square[taken]):
                return Cause("rows mixed by", "statistics", text)
            if (taken != rows).any() and trial.base.centered and _gives(trial, center, square[taken]):
                return Cause("rows mixed by", "variance", text)
    return None


def _affine(base: Definition) -> tuple[np.ndarray, np.ndarray]:
    one = np.ones(1)
    return (one if base.gain is None else base.gain), (0 * one if base.bias is None else base.bias)


def _gives(trial: Trial, center: Reals, square: Reals) -> bool:
    gain, bias = _affine(trial.base)
    return _gave(trial, (trial.x.astype(REAL) - center) / np.sqrt(square + trial.base.eps) * gain + bias)


def _gave(trial: Trial, expected: np.ndarray) -> bool:
    """Whether outputs are the expected ones up to 4d roundings."""
    allowed = 4 * trial.d * 2.0**-trial.arithmetic.storage.bits * (1 + abs(expected))
    return bool((abs(trial.got - expected) <= np.minimum(allowed, 0.05 * abs(expected).max())).all())


def _of_blocks(trial: Trial) -> Cause | None:
    """Each block of a row normalized by itself."""
    n, d = trial.x.shape
    for size in (size for size in range(d // 2, 1, -1) if d % size == 0):
        x = trial.x.astype(REAL).reshape(n, -1, size)
        center = x.mean(-1, keepdims=True) if trial.base.centered else REAL(0)
        square = ((x - center) ** 2).mean(-1, keepdims=True)
        wide = (np.broadcast_to(value, x.shape).reshape(n, d) for value in (center, square))
        if _gives(trial, *wide):
            return Cause("halves", d) if 2 * size == d else Cause("blocks", size, d)
    return None


def of_other_axes(trials: list[Trial], shapes: dict[str, tuple[int, ...]]) -> Cause | None:
    """Over which axes of a batch of more than two the statistics are, where it is not the last one."""
    for trial in (trial for trial in trials if trial.label.kind in shapes and trial.wrong.any()):
        shape = shapes[trial.label.kind]
        x = trial.x.astype(REAL).reshape(*shape, -1, trial.d)
        axes = tuple(range(x.ndim))
        for some in (some for count in axes for some in itertools.combinations(axes, count + 1) if some != axes[-1:]):
            center = x.mean(some, keepdims=True) if trial.base.centered else REAL(0)
            parts = (center, ((x - center) ** 2).mean(some, keepdims=True))
            if _gives(trial, *(np.broadcast_to(part, x.shape).reshape(trial.x.shape) for part in parts)):
                return Cause("axis" if len(some) == 1 else "axes", some, trial.label)
    return None


def of_residual(trial: Trial) -> Cause | None:
    """What a kernel that is fused with a residual, every other component, normalizes instead of the sum."""
    even, odd = trial.x * (np.arange(trial.d) % 2 == 0), trial.x * (np.arange(trial.d) % 2 == 1)
    ways = [(kind, even + k * odd) for k, kind in _RESIDUAL.items()]
    for kind, rows in (*ways, ("residual alone", odd)):
        if _gave(trial, trial.base.output(Sample(rows))):
            return Cause(kind)
    return None


def _of_statistics(claim: Claim, trial: Trial) -> Cause | None:
    """The weight of each component in the statistics, measured by rows with one entry."""
    (gain, bias), d = _affine(trial.base), trial.d
    entry = 8.0
    try:
        got = (claim.kernel.run(np.eye(d) * entry) - bias) / gain
    except Exception:  # a batch of another size may be refused in any way
        return None
    own = np.diagonal(got)
    with np.errstate(all="ignore"):
        if trial.base.centered:
            rest = np.array([np.median(np.delete(row, j)) for j, row in enumerate(got)])
            weights = -rest / (own - rest)
        else:
            weights = 1 / own**2 - trial.base.eps / entry**2
    weights = np.nan_to_num(weights)
    taken = weights > 0.3 * weights.max()
    unit = float(np.median(weights[taken])) if taken.any() else 0.0
    counts = np.round(weights / unit) if unit > 0 else weights * 0
    if not (counts > 0).any() or (counts == 1).all():
        return None
    divisor = round(1 / unit)
    x = trial.x.astype(REAL)
    center = (x * counts).sum(-1, keepdims=True) / divisor if trial.base.centered else REAL(0)
    if not _gives(trial, center, (counts * (x - center) ** 2).sum(-1, keepdims=True) / divisor):
        return None
    more = "" if divisor == counts.sum() else Statement("divisor", divisor)
    more = Statement("divisor d") if divisor == d and counts.sum() != d else more
    if (counts > 1).any():
        return Cause("counted", places(counts > 1), int(counts.max()), more)
    return Cause("part", places(counts > 0), d, more)


def _of_affine(claim: Claim, trial: Trial, trials: list[Trial]) -> Cause | None:
    """Other gains, fitted to each component by least squares over the rows, and the bias that rows of zeros show."""
    plain = replace(trial.base, gain=None, bias=None)
    n, (gain, bias) = plain.output(Sample(trial.x)).astype(float), _affine(trial.base)
    gain, bias = (np.broadcast_to(values, trial.d).astype(float) for values in (gain, bias))
    try:
        shift = claim.kernel.run(np.zeros_like(trial.x))[0]
    except Exception:  # it may refuse rows of zeros
        return None
    slope = (n * (trial.got - shift)).sum(0) / (n * n).sum(0)
    if len(n) < 4 or not _gave(trial, n * slope + shift):
        return None
    unit = 64 * trial.d * 2.0**-trial.arithmetic.storage.bits
    other = abs(slope - gain) > unit * (1 + abs(gain))
    told, used = _told("gain", other, slope, gain, 1.0, unit)
    wrong = abs(shift - bias) > 4 * 2.0**-trial.arithmetic.storage.bits * abs(bias)
    ratio = shift / np.where(gain == 0, 1, gain)
    if wrong.all() and np.ptp(ratio) < unit * abs(ratio).max():
        more = Cause("times gain", ratio[0])
    else:
        more, _ = _told("bias", wrong, shift, bias, 0.0, unit)
    base = replace(trial.base, gain=used.astype(REAL), bias=shift.astype(REAL))
    if any(one.against(base).wrong.any() for one in trials if one.d == trial.d and one.label.kind not in _OWN_GAINS):
        return None
    return several(told, more) if told or more else None


def _of_power(trial: Trial) -> Cause | None:
    """Rows of the right direction, divided by another power of the variance and eps."""
    gain, bias = _affine(trial.base)
    _, square, c = trial.base.exact(Sample(trial.x))
    y = (trial.got - bias) / np.where(gain == 0, 1, gain)
    p = ((y * c).sum(-1) / (c * c).sum(-1)).astype(float)
    if len(p) < 4 or not (p > 0).all() or not _gave(trial, c * p[:, None] * gain + bias):
        return None
    size = np.log((square[:, 0] + trial.base.eps).astype(float))
    power = np.polyfit(size, np.log(p), 1)[0]
    quarter = round(-4 * power) / 4
    off = np.log(p) + quarter * size
    if np.ptp(off) > 64 * trial.d * 2.0**-trial.arithmetic.storage.bits or np.ptp(size) < 0.1:
        return None
    same = abs(off).max() <= 64 * trial.d * 2.0**-trial.arithmetic.storage.bits
    if same and quarter == 0.5:
        return None
    factor, powers = np.exp(off.mean()), {"1/d": -1.0, "1/sqrt(d)": -0.5, "sqrt(d)": 0.5, "d": 1.0}
    named = (text for text, k in powers.items() if trial.d > 1 and abs(factor / trial.d**k - 1) < 1e-3)
    text = next(named, f"{factor:.6g}")
    if quarter == 0.5:
        return Cause("multiplied by", text)
    return Cause("power", quarter) if same else Cause("power times", quarter, text)


def _told(
    name: str, wrong: np.ndarray, used: np.ndarray, right: np.ndarray, none: float, unit: float
) -> tuple[Cause | None, np.ndarray]:
    """What is used instead, where it is another than the right one, and all that is used."""

    def held(values: np.ndarray) -> bool:
        return bool((abs(used - values) <= unit * (1 + abs(values)))[wrong].all())

    if not wrong.any():
        return None, right
    ways = [(Statement("without", name), np.full_like(right, none)), (Statement("with 0", name), 0 * right)]
    ways += [(Statement("with later", name, k), np.roll(right, -k)) for k in range(1, len(right))]
    other = Statement("with another", name), used
    how, values = next(((how, values) for how, values in ways if held(values)), other)
    return Cause("of places", places(wrong), how), np.where(wrong, values, right)


def summed(terms: np.ndarray, got: np.ndarray, bound: np.ndarray) -> Statement | None:
    """What was summed instead of all rows of `terms`, shape (n, d), where `got` is off by more than `bound`."""
    total, n = terms.sum(0), len(terms)
    wrong = abs(got - total) > bound

    def held(values: np.ndarray) -> bool:
        return bool((abs(got - values) <= bound)[wrong].all())

    def at(how: Statement) -> Statement:
        return how if wrong.all() else Statement("of places", places(wrong), how)

    if held(0 * total):
        return at(Statement("is zero"))
    if held(total / n):
        return at(Statement("mean of rows"))
    for text, ordered in (("first", terms), ("last", terms[::-1])):
        sums = ordered.cumsum(0)
        k = next((k for k in range(1, n) if held(sums[k - 1])), None)
        if k is not None:
            return at(Statement("rows alone", text, k, n))
    orders = [(Statement("shifted", k), np.roll(total, k)) for k in range(1, len(total))]
    orders += [(Statement("reversed"), total[::-1]), (Statement("first for all"), total[:1] + 0 * total)]
    known = next((text for text, values in orders if (abs(got - values) <= bound.max()).all()), None)
    if known or (abs(np.sort(got) - np.sort(total)) <= bound.max()).all():
        return known or Statement("in another order")
    factor = np.median((got / np.where(total == 0, 1, total))[wrong])
    return at(Statement("times 6", factor)) if held(factor * total) else None
