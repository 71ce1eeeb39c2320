"""The verdict on outputs with its cause, under the contract that is meant, and notes on what it leaves open."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lngeom.rounding import FORMATS, REAL, Arithmetic, Sample, rounded
from lngeom.sentences import Cause, Statement, several

from .._trials.trial import Shown, Trial
from .._trials.trials import Tried
from .diagnoses import explained

_OFFSET = {"gain less 1": "weight alone", "gain plus 1": "1 twice"}
"""What a gain off by 1 is where 1 + weight is meant."""

Told = tuple[str, Cause | None, Shown | None]
"""Verdict, cause, and what shows it beside the smallest wrong trial."""


@dataclass(frozen=True)
class Named:
    """What a kernel computes."""

    tried: Tried
    verdict: str
    cause: Cause | None
    notes: tuple[Statement, ...]
    shown: Shown | None
    ratio: float | None = None


def named(tried: Tried) -> Named:
    """The verdict with its name, under the contract that is meant."""
    told: Told = "rounding", None, None
    for judge in JUDGES:
        told = judge(tried, told)
    verdict, cause, shown = told
    if tried.wrong is not None and verdict != "rounding":
        shown = tried.wrong.shown()
    return Named(tried, verdict, cause, (*tried.notes, *_noted(tried, verdict)), shown)


def _of_outputs(tried: Tried, told: Told) -> Told:
    """The verdict by PyTorch's contract: a fault that calls showed, or what explains the wrong outputs."""
    if tried.faults or tried.wrong is None:
        return ("bug", tried.faults[0], None) if tried.faults else told
    verdict, cause = explained(tried)
    return verdict, cause.renamed(_OFFSET) if cause and tried.inputs.claim.meant.offset else cause, None


def _of_cast(tried: Tried, told: Told) -> Told:
    """Where the normalized value is meant to be cast before the gain, doing so is right and leaving it out is not."""
    verdict, cause, shown = told
    dtype = tried.inputs.claim.kernel.dtype
    if not tried.inputs.claim.meant.cast or FORMATS[dtype].bits >= 24:
        return told
    if verdict == "rounding":
        uncast = next(filter(None, (_uncast(trial, dtype) for trial in tried.trials)), None)
        return ("variant", Cause("not cast", dtype), uncast) if uncast else told
    rest = [part for part in cause.parts if part.kind != "cast gain"] if cause else []
    return ("rounding", None, None) if cause and not rest else (verdict, several(*rest) if rest else None, shown)


def _of_sum(tried: Tried, told: Told) -> Told:
    """A fused kernel that is right otherwise normalizes the sum that is meant."""
    way, fault = tried.sums
    if told[0] != "rounding" or (fault is None and way is None):
        return told
    if fault is not None:
        return "bug", fault, None
    return told if tried.inputs.claim.meant.sum in (None, way) else ("variant", Cause("sum", way), None)


JUDGES: tuple[Callable[[Tried, Told], Told], ...] = (_of_outputs, _of_cast, _of_sum)
"""What decides in turn: each takes the verdict of those before."""


def _noted(tried: Tried, verdict: str) -> Iterator[Statement]:
    """What such a verdict leaves open."""
    claim, trials = tried.inputs.claim, tried.trials
    kernel, (way, _) = claim.kernel, tried.sums
    if verdict == "rounding" and way is not None:
        yield Statement("sum", way)
    still = kernel.at(kernel.d).still if trials else ()
    # A buffer may be meant to stay; what is not registered is neither trained nor saved.
    yield from (note for note in still if kernel.asked.backward or note.kind == "unregistered")
    if claim.default:
        yield Statement("eps by default", float(claim.eps))
    infinite = sorted({trial.d for trial in trials if math.isinf(trial.largest)})
    if verdict != "rounding" and infinite and kernel.d not in infinite:
        yield Statement("infinite at", tuple(infinite))
    if kernel.asked.backward and verdict not in ("rounding", "variant"):
        yield Statement("derivatives not checked")


def _uncast(trial: Trial, dtype: str) -> Shown | None:
    """A component that no cast before the gain gives, None if there is none.

    Where the family of the normalized value holds a single number of the dtype, the output has a single value.
    """
    base, plain = trial.base, Arithmetic.of(dtype)
    low, high = replace(base, gain=None, bias=None).family(Sample(trial.x), replace(plain, storage=plain.work)).box()
    single = rounded(low, dtype) == rounded(high, dtype)
    scaled = rounded(low, dtype) * (1 if base.gain is None else base.gain)
    bias = np.zeros(1) if base.bias is None else base.bias
    ways = [rounded(scaled + bias, dtype), rounded(rounded(scaled, dtype) + bias, dtype)]
    # What underflows on the way has no exact product.
    large = abs(scaled) > 2 * float(FORMATS[dtype].tiny) / float(FORMATS[dtype].roundoff)
    off = np.minimum(*(abs(trial.got.astype(REAL) - way) for way in ways)) * (single & large)
    at = np.unravel_index(np.argmax(off), off.shape)
    if not off[at] > 0:
        return None
    evidence = float(trial.got[at]), float(ways[0][at]), float(off[at] / 2)
    return Shown(trial.x[at[0]].tolist(), int(at[1]), evidence, trial.label)
