"""The definition that a kernel is held against, and what a proof says of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from lngeom.rounding import REAL, Arithmetic, Definition, candidates, rounded

from .._calls.contracts import Contract
from .._calls.kernel import Kernel, Manner
from .._calls.own_spec import Stated
from .._calls.trial import Trial
from .._proving.proof import Proof


@dataclass(frozen=True)
class Claim:
    """A kernel with the definition that it is held against.

    Attributes:
        kind, eps, meant: The definition.
        proof: What the kernel computes in exact arithmetic.
        measured: Values of ε that its proof or its behaviour shows.
        default: Whether ε is the default of what is meant, because it is neither stated nor seen.
        variant: The known variant that came out, whose derivatives are the right ones then.
    """

    kernel: Kernel
    kind: str
    eps: float
    meant: Contract
    proof: Proof
    measured: tuple[float, ...]
    variant: str = ""
    default: bool = False

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """That of the dtype."""
        return Arithmetic.of(self.kernel.dtype)

    @property
    def centered(self) -> bool:
        """Whether the mean is subtracted."""
        return self.kind == "layernorm"

    @cached_property
    def base(self) -> Callable[[int], Definition]:
        """The definition at a dimension, with the gain and the bias that the kernel uses."""
        return cache(self._base)

    def _base(self, d: int) -> Definition:
        bound = self.kernel.at(d)
        gain, bias = (None if p is None else p.astype(REAL) for p in (bound.gain, bound.bias))
        gain = gain if gain is None else gain + self.meant.offset
        if self.meant.stated is not None:
            return Stated(False, gain, bias, self.eps, function=self.meant.stated)
        base = Definition(self.centered, gain, bias, self.eps, self.meant.placement)
        known = candidates(base, d, self.kernel.dtype, eps=self.measured) if self.variant else ()
        return next((make() for name, _, make in known if name == self.variant), base)

    def stored(self, x: np.ndarray) -> np.ndarray:
        """`x` rounded to the dtype."""
        return rounded(x, self.kernel.dtype).astype(np.float64)

    def judged(self, label: str, x: np.ndarray, got: np.ndarray) -> Trial:
        """Outputs `got` of the rows `x`, both of shape (n, d), as a trial; outputs of another shape are wrong."""
        got = got if got.shape == x.shape else np.full_like(x, np.nan)
        return Trial.of(label, x, got, self.base(x.shape[-1]), self.arithmetic)

    def trial(self, label: str, x: np.ndarray) -> Trial:
        """The kernel on the rows `x`."""
        x = self.stored(x)
        return self.judged(label, x, self.kernel.run(x))

    def like(self, manner: Manner) -> "Claim":
        """The claim about the same kernel in another manner."""
        return replace(self, kernel=self.kernel.like(manner))
