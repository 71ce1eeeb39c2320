"""Untested conditions: the verdict lists them, so that silence does not read as checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lngeom.rounding import REAL, Sample
from lngeom.sentences import Way

from .._calls.fused import left
from .._tracing.roles import REQUIRED, parameters, role
from .claim import Claim
from .state import BATCH
from .trial import Aside, Trial

ALWAYS = (
    "more than five axes",
    "rows, sizes, eps, parameters and buffers other than those tried",
    "inputs that are results of other operations, or were changed in place before the call",
    "other modes of Python and its libraries (such as autocast, threads, the environment and -O)",
    "what loading, copying, converting or freezing a module changes",
)
"""Conditions that no trial in floats has."""


class Untested(NamedTuple):
    """Conditions that no trial had."""

    here: tuple[str, ...] = ()
    always: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join([*self.here, *self.always])


ALL = Untested(("everything but the call that failed",))


def unexamined(claim: Claim, x: np.ndarray, take: Callable[[Trial], None]) -> Untested:
    """Further outputs, options at their defaults, formats and modes that no trial had; takes the first output."""
    kernel, listed = claim.kernel, list[str]()
    x = claim.stored(x)
    output: Any = kernel.whole(kernel.array(x))
    outputs = output if isinstance(output, tuple | list) else [output]
    take(claim.judged(Way(BATCH, len(x)), x, kernel.framework.read(outputs[0]), Aside))
    for i, further in enumerate(outputs[1:], start=2):
        if (what := statistic(claim, x, np.asarray(kernel.framework.read(further)))) is None:
            listed.append(f"output {i}")
        elif kernel.asked.backward:
            listed.append(f"whether the cotangent of output {i}, {what}, is right")
    function = kernel.at(x.shape[-1]).function
    known = {"gain", "bias", "eps", "shape", "d", "axis"}
    some = list(parameters(getattr(function, "forward", function)).items())[1:]
    odd = [(n, p.default) for n, p in some if p.default is not REQUIRED and role(n) not in known]
    listed += [f"{name} other than {default!r}" for name, default in odd]
    listed += filter(None, left(kernel.form.target))
    listed += ["memory that is not contiguous"] * (kernel.asked.axis is not None or kernel.asked.contiguous)
    listed += ["further outputs"] * bool(kernel.form.axes)
    backward = [] if kernel.asked.backward else ["the backward pass"]
    others = [name for name in ("float64", "float32", "bfloat16", "float16") if name != kernel.dtype]
    return Untested(tuple(listed), (*backward, f"rows of {', '.join(others[:-1])} and {others[-1]}", *ALWAYS))


def statistic(claim: Claim, x: np.ndarray, values: np.ndarray) -> str | None:
    """Which statistic of the rows values are, None if they are none."""
    base, rows = claim.base(x.shape[-1]), Sample(x)
    square = base.exact(rows)[1]
    known = {
        "the mean": rows.mean, "the mean square": square, "the variance": rows.variance,
        "the reciprocal of the root": base.reciprocal(square, rows), "the root": 1 / base.reciprocal(square, rows),
        "the input": x.astype(REAL),
    }  # fmt: skip
    for name, exact in known.items():
        size = abs(x).max(-1, keepdims=True) if name == "the mean" else abs(exact)
        allowed = 8 * x.shape[-1] * 2.0**-claim.arithmetic.storage.bits * size
        if values.size == exact.size and (abs(values.reshape(exact.shape) - exact) <= allowed).all():
            return name
    return None
