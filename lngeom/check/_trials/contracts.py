"""Definitions that families of models differ in: a :class:`Contract`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lngeom.carriers import Rounded
from lngeom.errors import InputError
from lngeom.limits import stating
from lngeom.norms import Placement

from .._calls.call_form import call_form
from .._calls.kernel import Kernel
from .._calls.options import CheckOptions
from .._calls.target import resolve
from .._proving.traced import Traced
from .._tracing.roles import by_roles

_ROW = np.linspace(-1.0, 2.0, 8)


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
        kernel: The kernel that it is, if it is one.
    """

    kind: str | None = None
    eps: float | None = None
    placement: Placement = "inside"
    offset: float = 0.0
    cast: bool = False
    sum: Literal["rounded", "unrounded"] | None = "rounded"
    stated: Callable[..., Any] | None = None
    kernel: Kernel | None = None


ANY = Contract(sum=None)
"""Without a named family: the definition of PyTorch, and either sum."""
CONTRACTS = {
    "torch": Contract(), "llama": Contract("rmsnorm", 1e-6, cast=True), "gemma": Contract("rmsnorm", 1e-6, offset=1.0),
    "onnx": Contract(None, 1e-5, cast=True),
}  # fmt: skip


def contract(asked: CheckOptions) -> Contract:
    """The contract of a family, of a function on carriers, or of another kernel.

    Raises:
        InputError: There is none of that name.
    """
    if (name := asked.spec) is None:
        return ANY
    if ":" in name:
        return _of_name(name, resolve(name), asked)
    if name not in CONTRACTS:
        raise InputError(f"{name!r} is neither one of {', '.join(CONTRACTS)} nor FILE.py:NAME")
    return CONTRACTS[name]


def _of_name(name: str, target: Any, asked: CheckOptions) -> Contract:
    """The definition if it has a value on carriers, else what a kernel is traced to compute."""
    try:
        stated = stating(name)(by_roles(target))
        stated(Rounded(_ROW), *(None, None), eps=1e-5).error  # noqa: B018
        return Contract(name, 0.0, stated=stated)
    except Exception as error:  # whatever a kernel raises at what is no array of its framework
        no_value = f"{type(error).__name__}: {error}"
    try:
        kernel = call_form(target, replace(asked, name=name, spec=None))
    except InputError as error:
        raise InputError(f"{name} has no value at a row of d = {len(_ROW)}: {no_value:.150}") from error
    stated = Traced(name, kernel.program, asked.dtype)
    return Contract(name, stated.eps, stated=stated, kernel=kernel)
