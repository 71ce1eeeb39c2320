"""The verdict on outputs with its cause, under the contract that is meant, and notes on what it leaves open."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lngeom.rounding import FORMATS, REAL, Arithmetic, Sample, indistinct, rounded
from lngeom.sentences import Cause, several

from .._calls.binding import UNREGISTERED
from .._trials.inputs import HUGE
from .._trials.trial import Shown, Trial
from .._trials.trials import Tried
from .diagnoses import explained

_OFFSET = {"gain less 1": "weight alone", "gain plus 1": "1 twice"}
"""What a gain off by 1 is where 1 + weight is meant."""

Told = tuple[str, Cause | None, Shown | None]
"""Verdict, cause, and what shows it."""


@dataclass(frozen=True)
class Named:
    """What a kernel computes.

    Attributes:
        verdict, cause: ``rounding``, ``unstable``, ``variant`` or ``bug``, and the algorithm, definition or mistake.
        notes: All notes.
        shown: What shows it, None of what is right or computes nothing.
        ratio: Largest distance of a derivative from an exact one over its bound, None if none was computed.
    """

    tried: Tried
    verdict: str
    cause: Cause | None
    notes: tuple[str, ...]
    shown: Shown | None
    ratio: float | None = None


def named(tried: Tried) -> Named:
    """The verdict with its name, under the contract that is meant."""
    wrong, claim, notes, shown = tried.wrong, tried.inputs.claim, list(tried.notes), None
    if tried.faults:
        fault = tried.faults[0]
        verdict, cause = "bug", fault if isinstance(fault, Cause) else Cause("fault", fault)
    else:
        verdict, cause = ("rounding", None) if wrong is None else explained(tried)
    if claim.meant.offset and cause is not None:
        cause = cause.renamed(_OFFSET)
    if claim.meant.cast and FORMATS[claim.kernel.dtype].bits < 24:
        verdict, cause, shown = _held_to_cast(verdict, cause, tried.trials, claim.kernel.dtype)
    way, not_the_sum = tried.sums if verdict == "rounding" else (None, None)
    if not_the_sum:
        verdict, cause = "bug", Cause("fault", not_the_sum)
    elif way is not None:
        of_sum = Cause("sum", way)
        if claim.meant.sum in (None, way):
            notes.append(str(of_sum))
        else:
            verdict, cause = "variant", of_sum
    if wrong is not None and verdict != "rounding":
        shown = wrong.shown()
    return Named(tried, verdict, cause, (*notes, *_noted(tried, verdict)), shown)


def _noted(tried: Tried, verdict: str) -> Iterator[str]:
    """What such a verdict leaves open."""
    claim, trials = tried.inputs.claim, tried.trials
    kernel = claim.kernel
    still = kernel.at(kernel.d).still if trials else ()
    yield from (text for text in still if kernel.asked.backward or text.endswith(UNREGISTERED))
    if claim.default:
        yield f"no eps is given, stated or seen: the default, {float(claim.eps):.3g}, is meant"
    if verdict == "rounding":
        listed = kernel.asked.undetectable and not claim.meant.stated
        cases = [trial.case() for trial in trials if trial.d <= HUGE] if listed else []
        names = ", ".join(map(str, indistinct(cases, kernel.dtype) if cases else ()))
        if names:
            yield f"undetectable by these inputs, within rounding: {names}"
        return
    if (infinite := {trial.d for trial in trials if math.isinf(trial.largest)}) and kernel.d not in infinite:
        yield f"NaN or infinite at d = {', '.join(map(str, sorted(infinite)))}"
    if kernel.asked.backward and verdict != "variant":
        yield "the derivatives were not checked: those of the definition are not those of this forward pass"


def _held_to_cast(verdict: str, cause: Cause | None, trials: list[Trial], dtype: str) -> Told:
    """A verdict that PyTorch's order of casts gave, where the normalized value is meant to be cast before the gain."""
    if verdict != "rounding":
        rest = [part for part in cause.parts if part.kind != "cast gain"] if cause else []
        verdict = verdict if rest or cause is None else "rounding"
        return verdict, several(*rest) if rest else None, None
    for trial in trials:
        if shown := _uncast(trial, dtype):
            return "variant", Cause("not cast", dtype), shown
    return verdict, cause, None


def _uncast(trial: Trial, dtype: str) -> Shown | None:
    """A component that no cast before the gain gives, None if there is none.

    Where the family of the normalized value holds a single number of the dtype, the output has a single value.
    """
    base = trial.base
    plain = Arithmetic.of(dtype)
    low, high = replace(base, gain=None, bias=None).family(Sample(trial.x), replace(plain, storage=plain.work)).box()
    single = rounded(low, dtype) == rounded(high, dtype)
    gain = 1 if base.gain is None else base.gain
    scaled = rounded(low, dtype) * gain
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
