"""Kernels that add a residual before they normalize: ``f(x, residual, weight)``, of one or two outputs."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lngeom.rounding import FORMATS, Sample, rounded

from ..tracing import parameters
from ._judge import Judge

_RESIDUALS = ("residual", "resid", "res", "skip")


class Fused:
    """Such a kernel as a norm of the sum: every other component of x comes as the residual, so that it is exact.

    Attributes:
        residual: What is given as the residual instead, beside the whole x.
        total: The second output of the last call.
    """

    def __init__(self, target: Callable[..., Any], name: str) -> None:
        self.target, self.name = target, name
        self.__name__ = getattr(target, "__name__", type(target).__name__)
        kept = [parameter for key, parameter in parameters(target).items() if key != name]
        self.__signature__ = inspect.Signature(kept)
        self.__wrapped__ = target
        self.residual: Any = None
        self.total: Any = None

    def __call__(self, x: Any, *given: Any, **named: Any) -> Any:
        residual = self.residual
        if residual is None:
            even = np.arange(x.shape[-1]) % 2 == 0
            even = x.new_tensor(even) if hasattr(x, "new_tensor") else even.astype(x.dtype)
            x, residual = x * even, x * (1 - even)
        names = list(inspect.signature(self).parameters)[1:]
        output = self.target(x, **{self.name: residual}, **dict(zip(names, given, strict=False)), **named)
        output, self.total = (*output, None)[:2] if isinstance(output, tuple | list) else (output, None)
        return output


def as_norm(target: Any) -> Any:
    """The target, as a norm of the sum if it is a function that takes a residual."""
    if isinstance(target, type) or hasattr(target, "named_parameters") or not callable(target):
        return target
    name = next((name for name in list(parameters(target))[1:] if name.lower() in _RESIDUALS), None)
    return target if name is None else Fused(target, name)


def sum_of(judge: Judge, d: int) -> tuple[str | None, str | None]:
    """How a fused kernel treats the sum, "rounded", "unrounded" or None where both hold; and what is wrong with it."""
    kernel, rng = judge.kernel, np.random.default_rng(d)
    fused: Fused = kernel.target
    x, residual = (judge.stored(size * rng.normal(size=(32, d))) for size in (1.0, 0.37))
    exact, read = x + residual, kernel.framework.read
    fused.residual = kernel.array(residual)
    try:
        got = kernel.run(x)
    finally:
        fused.residual = None
    once = rounded(exact, kernel.dtype).astype(float)
    if fused.total is not None and not np.array_equal(read(fused.total), once):
        return None, "the sum that is returned is not that of input and residual, rounded once"
    base, sums = judge.base(d), {"rounded": once, "unrounded": exact}
    holds = [key for key, rows in sums.items() if base.family(Sample(rows), judge.arithmetic).fit(got).ok.all()]
    if not holds:
        return None, "neither the rounded nor the unrounded sum of input and residual is normalized"
    return (holds[0] if len(holds) == 1 and FORMATS[kernel.dtype].bits < 24 else None), None
