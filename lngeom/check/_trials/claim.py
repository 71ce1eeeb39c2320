"""The definition that a kernel is held against, from its proof in exact arithmetic, its behaviour and its name."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from lngeom.behaviours import behaviour, probes
from lngeom.errors import InputError
from lngeom.limits import TRACE, Endless, limited
from lngeom.rounding import FORMATS, REAL, Arithmetic, Definition, Sample, Stated, candidates, rounded
from lngeom.sentences import Cause, Way

from .._calls.binding import Manner
from .._calls.kernel import Kernel
from .._calls.triton_hook import has_kernels
from .._proving.proof import Proof
from .._proving.verdict import prove
from .contracts import Contract, contract
from .trial import Trial


@dataclass(frozen=True)
class Claim:
    """A kernel with the definition that it is held against.

    Attributes:
        measured: Values of ε that its proof or its behaviour shows.
        default: Whether ε is the default of the contract, because it is neither stated nor measured.
        variant: The known variant that the outputs show, against which derivatives are judged.
    """

    kernel: Kernel
    kind: str
    eps: float
    meant: Contract
    proof: Proof
    measured: tuple[float, ...]
    variant: Cause | None = None
    default: bool = False

    arithmetic = property(lambda self: Arithmetic.of(self.kernel.dtype))
    centered = property(lambda self: self.kind == "layernorm")  # the mean is subtracted

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

    def judged(self, label: Way, x: np.ndarray, got: np.ndarray, kind: type[Trial] = Trial) -> Trial:
        """Outputs `got` of the rows `x`, both of shape (n, d), as a trial."""
        return kind.of(label, x, got, self.base(x.shape[-1]), self.arithmetic)

    def trial(self, label: Way, x: np.ndarray) -> Trial:
        """The kernel on the rows `x`."""
        x = self.stored(x)
        return self.judged(label, x, self.kernel.run(x))

    def like(self, manner: Manner = "usual", dtype: str = "") -> "Claim":
        """The claim about the same kernel in another manner or dtype."""
        return replace(self, kernel=self.kernel.like(manner, dtype=dtype))


def claimed(kernel: Kernel) -> Claim:
    """The definition that is meant: kind and ε as given, as proved, or as the kernel's behaviour and name show.

    Raises:
        InputError: Nothing shows them.
    """
    asked, meant = kernel.asked, contract(kernel.asked)
    stated = (str(meant.kind), meant.stated) if meant.stated else None
    try:
        with limited(TRACE, asked.seconds):
            proof = prove(kernel.program, kind=asked.kind, dtype=asked.dtype, backward=asked.backward, stated=stated)
    except (Endless, RuntimeError) as error:  # without a proof its outputs decide
        proof = Proof("not traced", str(error))
    if proof.orders or (proof.status == "not traced" and has_kernels()):  # other calls may launch what this one did not
        kernel.form = replace(kernel.form, interpreted=True)
    if proof.affine is not None:
        named = {proof.affine.gain: "gain", proof.affine.bias: "bias"}
        kernel = kernel.like(purposes={name: what for name, what in named.items() if name})
    return next(claim for source in SOURCES if (claim := source(kernel, meant, proof)) is not None)


def _stated(kernel: Kernel, meant: Contract, proof: Proof) -> Claim | None:
    """The definition that the user states as a function, with a value on rows and of the kind that is given."""
    kind, spec = kernel.asked.kind, kernel.asked.spec
    other = InputError(f"spec {spec} and kind {kind} exclude each other: leave one out")
    if meant.stated is None:
        if kind and meant.kind not in (None, kind):
            raise other
        return None
    claim = Claim(kernel, str(meant.kind), kernel.eps or proof.eps or meant.eps or 0.0, meant, proof, ())
    bound, taken = kernel.at(kernel.d), getattr(meant.stated, "roles", ())
    if lacking := [name for name in ("gain", "bias") if name in taken and getattr(bound, name) is None]:
        raise InputError(f"{meant.kind} takes a {lacking[0]}, which {kernel.name} does not: compare with one that does")
    row = np.linspace(-1.0, 2.0, kernel.d)[None]
    try:
        one, shifted = (claim.base(kernel.d).output(Sample(x)).astype(float) for x in (row, row + 1))
    except Exception as error:  # whatever a function raises that is no definition on rows
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{meant.kind} has no value at a row of d = {kernel.d}: {reason:.150}") from error
    if kind and np.allclose(one, shifted, equal_nan=True) != (kind == "layernorm"):
        raise other
    return claim


def _proved(kernel: Kernel, meant: Contract, proof: Proof) -> Claim | None:
    """Kind and ε as the proof has them."""
    eps = kernel.eps if kernel.eps is not None else proof.eps
    if proof.kind not in ("layernorm", "rmsnorm") or eps is None:
        return None
    kind = kernel.asked.kind or meant.kind or proof.kind
    return _usual(kernel, meant, proof, kind, eps, (proof.eps,) if proof.eps else ())


def _measured(kernel: Kernel, meant: Contract, proof: Proof) -> Claim:
    """Kind and ε as given, or else as behaviour and name show them."""
    x = rounded(probes(kernel.d, kernel.dtype), kernel.dtype).astype(np.float64)
    seen = None
    if kernel.d > 2:
        with contextlib.suppress(Exception):  # the trials report it
            got = kernel.run(x)
            seen = behaviour(x, got, float(FORMATS[kernel.dtype].roundoff)) if got.shape == x.shape else None
    named = kernel.name.lower()
    shown = seen.kind if seen else "rmsnorm" if "rms" in named else "layernorm" if "layer" in named else None
    kind = kernel.asked.kind or meant.kind or shown
    if kind is None:
        what = f"{proof.text}, which is" if proof.certificates else f"{kernel.name} computes"
        raise InputError(f"{what} neither norm, and its name does not say which it should be: give --kind")
    if kernel.eps is None and seen is not None and seen.eps is None:
        raise InputError(f"{kernel.name} does not state its eps, and its outputs do not reveal it: give --eps")
    own = seen.eps if seen is not None and seen.eps is not None else 0.0
    eps = kernel.eps if kernel.eps is not None else float(f"{own:.2g}")
    return _usual(kernel, meant, proof, kind, eps, (float(own),) if own > 0 else ())


def _usual(kernel: Kernel, meant: Contract, proof: Proof, kind: str, eps: float, measured: tuple[float, ...]) -> Claim:
    """The claim to be a norm of this kind; where no ε is stated or seen, with the default of the contract."""
    default = not eps and kernel.eps is None
    if default or (kernel.asked.spec and kernel.eps is None):
        spacing = 2 * float(min(FORMATS[each].roundoff for each in (kernel.dtype, "float32")))
        eps = meant.eps if meant.eps is not None else 1e-5 if kind == "layernorm" else spacing
    return Claim(kernel, kind, eps, meant, proof, measured, default=default)


SOURCES: tuple[Callable[[Kernel, Contract, Proof], Claim | None], ...] = (_stated, _proved, _measured)
"""Where the definition comes from, the most certain first; the last one always has it, or raises."""
