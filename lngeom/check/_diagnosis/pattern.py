"""Causes that are measured, not listed: a family of formulas is fitted to outputs, and holds if it gives them all.

Of ordinary rows alone: on these fewer than 4d roundings stay far below differences of order 1.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import REAL, Definition, Sample, candidates, places
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


def patterned(claim: Claim, trials: list[Trial]) -> Cause | None:
    """The first fitted cause that gives the ordinary rows of every failing dimension that is not too wide."""
    ordinary = [t for t in trials if t.label.kind == "ordinary" and 2 < t.d <= _WIDEST and t.wrong.any()]
    if not (finite := [trial for trial in ordinary if np.isfinite(trial.got).all()]):
        return None
    first = max(finite[:4], key=lambda trial: trial.d)  # a pattern has to have room
    with np.errstate(all="ignore"):
        found = _of_zeros(first) or _of_blocks(first) or _of_statistics(claim, first)
        return found or _of_affine(claim, first, trials) or _of_two(claim, first, trials)


def of_other_rows(trial: Trial) -> Cause | None:
    """Which other rows the statistics are those of: all columns, the whole array, or a neighbour."""
    for kind, axes in (("axis of rows", (0,)), ("whole array", (0, 1))):
        if _gives(trial, *_moments(trial, trial.x.shape, axes)):
            return Cause(kind)
    center, square, _ = trial.base.exact(Sample(trial.x))
    rows = np.arange(n := len(trial.x))
    for k in range(n):
        step = f"+ {k}" if 2 * k <= n else f"- {n - k}"
        for taken, text in ((np.roll(rows, -k), Statement("row step", step)), (rows * 0 + k, Statement("one row", k))):
            for what, centers in (("statistics", center[taken]), ("variance", center)):
                if (taken != rows).any() and _gives(trial, centers, square[taken]):
                    return Cause("rows mixed by", what, text)
    return None


def _affine(base: Definition) -> tuple[np.ndarray, np.ndarray]:
    one = np.ones(1)
    return (one if base.gain is None else base.gain), (0 * one if base.bias is None else base.bias)


def _gives(trial: Trial, center: Reals, square: Reals, kept: Reals = 1) -> bool:
    gain, bias = _affine(trial.base)
    return _gave(trial, ((trial.x.astype(REAL) - center) / np.sqrt(square + trial.base.eps) * gain + bias) * kept)


def _moments(trial: Trial, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[Reals]:
    """Center and mean square of the rows as an array of this shape, over these axes, for each component."""
    x = trial.x.astype(REAL).reshape(shape)
    center = x.mean(axes, keepdims=True) if trial.base.centered else REAL(0)
    parts = (center, ((x - center) ** 2).mean(axes, keepdims=True))
    return [np.broadcast_to(part, x.shape).reshape(trial.x.shape) for part in parts]


def _unit(trial: Trial, count: int = 64) -> float:
    """So many roundings of each component in the work, and 4 of the output."""
    return count * trial.d * 2.0**-trial.arithmetic.work.bits + 4 * 2.0**-trial.arithmetic.storage.bits


def _gave(trial: Trial, expected: np.ndarray) -> bool:
    """Whether outputs are the expected ones up to 4d roundings."""
    allowed = np.minimum(_unit(trial, 4) * (1 + abs(expected)), 0.05 * abs(expected).max())
    return bool((abs(trial.got - expected) <= allowed).all())


def _of_zeros(trial: Trial) -> Cause | None:
    """Last outputs that are 0, as after whole tiles, and others that are right by statistics of all or their own."""
    kept, x, d = (trial.got != 0).any(0), trial.x.astype(REAL), trial.d
    if kept[-1] or not kept[0] or np.diff(kept).sum() > 1:
        return None
    for how, part, count in (("", x, d), ("in statistics", x[:, kept], kept.sum()), ("in sums", x[:, kept], d)):
        center = part.sum(-1, keepdims=True) / count if trial.base.centered else REAL(0)
        if _gives(trial, center, ((part - center) ** 2).sum(-1, keepdims=True) / count, kept):
            return Cause("left out", places(~kept), d, Statement(how) if how else "")
    return None


def _of_blocks(trial: Trial) -> Cause | None:
    """Each block of a row normalized by itself."""
    n, d = trial.x.shape
    for size in (size for size in range(d // 2, 1, -1) if d % size == 0):
        if _gives(trial, *_moments(trial, (n, -1, size), (-1,))):
            return Cause("halves", d) if 2 * size == d else Cause("blocks", size, d)
    return None


def of_other_axes(trials: list[Trial], shapes: dict[str, tuple[int, ...]]) -> Cause | None:
    """Over which axes of a batch of more than two the statistics are, where it is not the last one."""
    for trial in (trial for trial in trials if trial.label.kind in shapes and trial.wrong.any()):
        shape = shapes[trial.label.kind]
        axes = tuple(range(len(shape) + 2))
        for some in (some for count in axes for some in itertools.combinations(axes, count + 1) if some != axes[-1:]):
            if _gives(trial, *_moments(trial, (*shape, -1, trial.d), some)):
                return Cause("axis" if len(some) == 1 else "axes", some, trial.label)
    return None


def of_residual(trial: Trial) -> Cause | None:
    """What a kernel that is fused with a residual, every other component, normalizes instead of the sum."""
    even, odd = trial.x * (np.arange(trial.d) % 2 == 0), trial.x * (np.arange(trial.d) % 2 == 1)
    ways = [*((kind, even + k * odd) for k, kind in _RESIDUAL.items()), ("residual alone", odd)]
    return next((Cause(kind) for kind, rows in ways if _gave(trial, trial.base.output(Sample(rows)))), None)


def _of_statistics(claim: Claim, trial: Trial) -> Cause | None:
    """The weight of each component in the statistics, measured by rows with one entry."""
    (gain, bias), d = _affine(trial.base), trial.d
    entry = 8.0
    try:
        got = (claim.kernel.run(np.eye(d) * entry) - bias) / gain
    except Exception:  # a batch of another size may be refused in any way
        return None
    own = np.diagonal(got)
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


def _of_two(claim: Claim, trial: Trial, trials: list[Trial]) -> Cause | None:
    """Another gain or bias beside a change of the statistics or of the scale."""
    for cause, made in _changes(claim, trial):
        same = made.gain is trial.base.gain and made.bias is trial.base.bias
        if same and (told := _of_affine(claim, replace(trial, base=made), trials)) is not None:
            return several(cause, told)
    return None


def _changes(claim: Claim, trial: Trial) -> Iterator[tuple[Cause, Definition]]:
    """The known single changes of the definition."""
    known = candidates(trial.base, trial.d, claim.kernel.dtype, eps=claim.measured)
    return ((cause, make()) for cause, _, make in known if len(cause.parts) == 1)


def _of_affine(claim: Claim, trial: Trial, trials: list[Trial]) -> Cause | None:
    """Other gains, fitted to each component by least squares over the rows, and the bias that rows of zeros show."""
    plain = replace(trial.base, gain=None, bias=None)
    n, (gain, bias) = plain.output(Sample(trial.x)).astype(float), _affine(trial.base)
    gain, bias = (np.broadcast_to(values, trial.d).astype(float) for values in (gain, bias))
    try:
        shift = claim.kernel.run(np.zeros_like(trial.x))[0]
        shift = np.where(np.isfinite(shift), shift, bias)  # without eps
    except Exception:  # it may refuse rows of zeros
        return None
    slope = (n * (trial.got - shift)).sum(0) / (n * n).sum(0)
    if len(n) < 4 or not _gave(trial, n * slope + shift):
        return None
    unit, own = _unit(trial), trial.base
    same = {name: getattr(own, name) for name in ("gain", "bias", "cause", "verdict")}
    known = [(cause, made) for cause, made in _changes(claim, trial) if replace(made, **same) == own]
    told, used = _told("gain", slope, gain, unit, known)
    more, _ = _told("bias", shift, bias, 8 * 2.0**-trial.arithmetic.storage.bits, known)
    ratio = shift / np.where(gain == 0, 1, gain)
    if more and np.ptp(ratio) < unit * abs(ratio).max():
        more = Cause("times gain", ratio[0])
    base = replace(trial.base, gain=used.astype(REAL), bias=shift.astype(REAL))
    if any(one.against(base).wrong.any() for one in trials if one.d == trial.d and one.label.kind not in _OWN_GAINS):
        return None
    return several(told, more) if told or more else None


def _told(
    name: str, used: np.ndarray, right: np.ndarray, unit: float, known: list[tuple[Cause, Definition]]
) -> tuple[Cause | None, np.ndarray]:
    """What is used instead, where it is another than the right one, and all that is used."""

    def close(values: np.ndarray) -> np.ndarray:
        return np.asarray(abs(used - values) <= unit * (1 + abs(values)))

    wrong, none = ~close(right), float(name == "gain")
    if not wrong.any():
        return None, right
    for cause, made in known:
        values = np.zeros_like(right) + (none if getattr(made, name) is None else getattr(made, name))
        if close(values).all():
            return cause, values
    ways = [(Statement("without", name), np.full_like(right, none)), (Statement("with 0", name), 0 * right)]
    ways += [(Statement("with later", name, k), np.roll(right, -k)) for k in range(1, len(right))]
    other = Statement("with another", name), used
    how, values = next(((how, values) for how, values in ways if close(values)[wrong].all()), other)
    return Cause("of places", places(wrong), how), np.where(wrong, values, right)
