"""Verdicts under a contract that casts the normalized value before the gain."""

from dataclasses import replace

import numpy as np

from lngeom.rounding import FORMATS, REAL, Arithmetic, Sample, rounded

from .._trials.trial import Shown, Trial

Told = tuple[str, str | None, Shown | None]
"""Verdict, cause, and what shows it."""


def held_to_cast(verdict: str, cause: str | None, trials: list[Trial], dtype: str) -> Told:
    """A verdict that PyTorch's order of casts gave, where the normalized value is meant to be cast before the gain."""
    parts = cause.split("; ") if cause else []
    if verdict != "rounding":
        rest = [part for part in parts if not part.endswith("before the gain (as Llama)")]
        verdict = verdict if rest or not parts else "rounding"
        return verdict, "; ".join(rest) or (None if parts else cause), None
    for trial in trials:
        if shown := _uncast(trial, dtype):
            return "variant", f"normalized value not cast to {dtype} before the gain", shown
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
