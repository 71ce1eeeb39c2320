"""What a kernel computes in exact arithmetic, and from that the definition that it is held against."""

import contextlib

import numpy as np

from lngeom.errors import InputError
from lngeom.rounding import FORMATS, Sample, rounded

from .._calls.behaviours import behaviour, probes
from .._calls.contracts import Contract, contract
from .._calls.kernel import Kernel
from .._calls.limits import Endless, limited
from .._proving.proof import Proof
from .._proving.verdict import prove_target
from .claim import Claim


def claimed(kernel: Kernel) -> Claim:
    """The definition that is meant: kind and ε as given, as proved, or as the kernel's behaviour and name show.

    Raises:
        InputError: Nothing shows them.
    """
    asked, meant = kernel.asked, contract(kernel.asked.spec)
    proof = _proof(kernel, meant)
    if proof.affine is not None:
        named = {proof.affine.gain: "gain", proof.affine.bias: "bias"}
        kernel = kernel.like(purposes={name: what for name, what in named.items() if name})
    if meant.stated is not None:
        claim = Claim(kernel, str(meant.kind), kernel.eps or proof.eps or 0.0, meant, proof, ())
        try:
            claim.base(kernel.d).output(Sample(np.linspace(-1.0, 2.0, kernel.d)[None]))
        except Exception as error:  # whatever a function raises that is no definition on rows
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{meant.kind} has no value at a row of d = {kernel.d}: {reason:.150}") from error
        return claim
    wanted = asked.kind or meant.kind
    kind, eps, measured = _known(kernel, wanted, proof) or _inferred(kernel, wanted, proof)
    default = not eps and kernel.eps is None
    eps = meant.default_eps(kind, asked.dtype) if default or (asked.spec and kernel.eps is None) else eps
    return Claim(kernel, kind, eps, meant, proof, measured, default=default)


def _proof(kernel: Kernel, meant: Contract) -> Proof:
    """The proof of what the target computes in exact arithmetic, if tracing it ends."""
    asked = kernel.asked
    if kernel.form.filed:
        return Proof("not traced", "its outputs are files")
    try:
        with limited("its trace", asked.seconds):
            options = {"kind": asked.kind, "dtype": asked.dtype, "backward": asked.backward}
            options["stated"] = (meant.kind, meant.stated) if meant.stated else None
            return prove_target(kernel.form.given, kernel.name, kernel.framework.name, **options)
    except (Endless, RuntimeError) as error:
        return Proof("not traced", str(error))


def _known(kernel: Kernel, kind: str | None, proof: Proof) -> tuple[str, float, tuple[float, ...]] | None:
    """Kind and ε as a proof has them, None where it tells of no norm."""
    eps = kernel.eps if kernel.eps is not None else proof.eps
    if proof.kind not in ("layernorm", "rmsnorm") or eps is None:
        return None
    return kind or proof.kind, eps, (proof.eps,) if proof.eps else ()


def _inferred(kernel: Kernel, kind: str | None, proof: Proof) -> tuple[str, float, tuple[float, ...]]:
    """Kind and ε of what cannot be traced, where not given, and the ε that the kernel's behaviour shows."""
    x = rounded(probes(kernel.d, kernel.dtype), kernel.dtype).astype(np.float64)
    seen = None
    if kernel.d > 2:
        with contextlib.suppress(Exception):  # what it raises is told by the trials
            got = kernel.run(x)
            seen = behaviour(x, got, float(FORMATS[kernel.dtype].roundoff)) if got.shape == x.shape else None
    if kind is None:
        named = kernel.name.lower()
        kind = seen.kind if seen else "rmsnorm" if "rms" in named else "layernorm" if "layer" in named else None
        if kind is None:
            what = f"{proof.text}, which is" if proof.certificates else f"{kernel.name} computes"
            raise InputError(f"{what} neither norm, and its name does not say which it should be: give --kind")
    measured = (float(seen.eps),) if seen and seen.eps is not None and seen.eps > 0 else ()
    if kernel.eps is not None:
        return kind, kernel.eps, measured
    if seen is not None and seen.eps is None:
        raise InputError(f"{kernel.name} does not state its eps, and its outputs do not reveal it: give --eps")
    return kind, float(f"{seen.eps:.2g}") if seen else 0.0, measured
