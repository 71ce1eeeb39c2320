"""Definitions that families of models differ in: a :class:`Contract`; :class:`Stated` is a definition of one's own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lngeom.carriers import Rounded
from lngeom.errors import InputError
from lngeom.norms import Placement
from lngeom.rounding import FORMATS, REAL, Arithmetic, Definition, Family, Sample

from .._calls.limits import stating
from .._calls.target import resolve
from .._tracing.roles import by_roles

_OTHER_WAYS = 4
"""A kernel may round four times as much as the function: it may use other operations."""
_PARTS = "value", "error"


@dataclass(frozen=True)
class Contract:
    """The points at which definitions of one norm differ.

    Attributes:
        kind: ``layernorm`` or ``rmsnorm``, None where it has both.
        eps: The ε of a kernel that states none; None means PyTorch's: 1e-5 for LayerNorm; for RMSNorm the spacing at 1
            of the dtype, or of float32 for a half format.
        placement: Of ε, inside or outside the root.
        offset: 1 where the layer multiplies by 1 + weight.
        cast: Whether the normalized value is rounded to a half format before the gain.
        sum: Whether a fused kernel normalizes the sum of input and residual after or before it is rounded to the
            dtype; None where both are right.
        stated: The definition itself as a function of x, gain, bias and ε, where it is neither kind; that is its name.
    """

    kind: str | None = None
    eps: float | None = None
    placement: Placement = "inside"
    offset: float = 0.0
    cast: bool = False
    sum: Literal["rounded", "unrounded"] | None = "rounded"
    stated: Callable[..., Any] | None = None

    def default_eps(self, kind: str, dtype: str) -> float:
        """ε of a kernel that states none."""
        spacing = 2 * float(min(FORMATS[each].roundoff for each in (dtype, "float32")))
        unit = 1e-5 if kind == "layernorm" else spacing
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
    """The contract of a family, or of a function FILE.py:NAME.

    Raises:
        InputError: There is none of that name.
    """
    if name is None:
        return ANY
    if ":" in name:
        return Contract(name, 0.0, stated=stating(name)(by_roles(resolve(name))))
    if name not in CONTRACTS:
        raise InputError(f"{name!r} is neither one of {', '.join(CONTRACTS)} nor FILE.py:NAME")
    return CONTRACTS[name]


@dataclass(frozen=True)
class Stated(Definition):
    """The layer that a function of x, gain, bias and ε gives, each row by itself."""

    function: Callable[..., Any] = NotImplemented

    def _rows(self, sample: Sample, dtype: type) -> tuple[np.ndarray, np.ndarray]:
        """Values computed in this format, each with an error bound for any order of summation."""
        given = [None if v is None else Rounded(v.astype(np.float64).astype(dtype)) for v in (self.gain, self.bias)]
        rows = [self.function(Rounded(row), *given, eps=self.eps) for row in sample.x.astype(np.float64).astype(dtype)]
        values, errors = (np.stack([np.broadcast_to(getattr(row, k), sample.d) for row in rows]) for k in _PARTS)
        return values.astype(REAL), errors

    def output(self, sample: Sample) -> np.ndarray:
        """The values as float64 gives them."""
        return self._rows(sample, np.float64)[0]

    def family(self, sample: Sample, arithmetic: Arithmetic, columns: slice = slice(None)) -> Family:
        """All outputs within the rounding errors of the function in the working format."""
        exact, inexact = self._rows(sample, np.float64)
        work = np.float64 if arithmetic.work.bits > 24 else np.float32
        slack = _OTHER_WAYS * self._rows(sample, work)[1] + inexact
        one = np.ones((len(exact), 1), REAL)
        free = np.asarray(~np.isfinite(slack + exact).all(-1))
        exact, slack = (np.where(free[:, None], 0, values)[:, columns] for values in (exact, slack))
        return Family(exact, one, one, 0 * one, one[0], 0 * one[0], slack, free, arithmetic.storage)
