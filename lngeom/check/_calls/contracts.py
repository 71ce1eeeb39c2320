"""Which definition is meant: where families of models differ, what is right for one is wrong for another."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lngeom.errors import InputError
from lngeom.norms import Placement
from lngeom.rounding import FORMATS

from .._tracing.roles import by_roles
from .limits import stating
from .target import resolve


@dataclass(frozen=True)
class Contract:
    """The points at which definitions of one norm differ.

    Attributes:
        kind: ``layernorm`` or ``rmsnorm``, None where it has both.
        eps: The ε of a kernel that states none; None means PyTorch's: 1e-5 for LayerNorm, the spacing of the dtype at 1
            for RMSNorm.
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
    """The contract of a family, of a function FILE.py:NAME, or that of a JSON file with some of its fields.

    Raises:
        InputError: There is none of them, or the file has other fields.
    """
    if name is None:
        return ANY
    if ":" in name:
        return Contract(name, 0.0, stated=stating(name)(by_roles(resolve(name))))
    if name in CONTRACTS:
        return CONTRACTS[name]
    try:
        return Contract(**json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        known = ", ".join(CONTRACTS)
        msg = f"{name!r} is neither one of {known} nor FILE.py:NAME nor a JSON file of a contract: {error}"
        raise InputError(msg) from error
