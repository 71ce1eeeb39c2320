"""Which definition is meant: where families of models differ, what is right for one is wrong for another."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from lngeom.errors import InputError
from lngeom.norms import Placement
from lngeom.rounding import FORMATS, REAL, Arithmetic, Sample, rounded

if TYPE_CHECKING:
    from ._judge import Trial


@dataclass(frozen=True)
class Contract:
    """The points at which definitions of one norm differ.

    Attributes:
        kind: ``layernorm`` or ``rmsnorm``, None where it has both.
        eps: What a kernel means that states none; None is PyTorch's: 1e-5 for LayerNorm, the spacing of the dtype at 1
            for RMSNorm.
        placement: Of ε, inside or outside the root.
        offset: 1 where the layer multiplies by 1 + weight.
        cast: Whether the normalized value is rounded to a half format before the gain.
        sum: Whether a fused kernel normalizes the sum of input and residual after or before it is rounded to the
            dtype; None where both are right.
    """

    kind: Literal["layernorm", "rmsnorm"] | None = None
    eps: float | None = None
    placement: Placement = "inside"
    offset: float = 0.0
    cast: bool = False
    sum: Literal["rounded", "unrounded"] | None = "rounded"

    def default_eps(self, kind: str, dtype: str) -> float:
        """ε of a kernel that states none."""
        unit = 1e-5 if kind == "layernorm" else 2 * float(FORMATS[dtype].roundoff)
        return unit if self.eps is None else self.eps


ANY = Contract(sum=None)
"""Without a named family: the definition of PyTorch, and either sum."""
CONTRACTS = {
    "torch": Contract(),
    "llama": Contract("rmsnorm", 1e-6, cast=True),
    "gemma": Contract("rmsnorm", 1e-6, offset=1.0),
    "onnx": Contract(None, 1e-5, cast=True),
}


def contract(name: str | None) -> Contract:
    """The contract of a family, or that of a JSON file with some of its fields.

    Raises:
        InputError: There is neither, or the file has other fields.
    """
    if name is None:
        return ANY
    if name in CONTRACTS:
        return CONTRACTS[name]
    try:
        return Contract(**json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        known = ", ".join(CONTRACTS)
        raise InputError(f"{name!r} is neither one of {known} nor a JSON file of a contract: {error}") from error


class Shown(NamedTuple):
    """A row, its component that is wrong, and there what was computed, what is right, and half the way between."""

    row: list[float]
    component: int
    evidence: tuple[float, float, float]


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
    return Shown(trial.x[at[0]].tolist(), int(at[1]), evidence)
