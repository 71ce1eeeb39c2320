"""The finding on a kernel: verdict, cause, and the evidence at the row that shows it."""

import math
from dataclasses import replace
from typing import Any

from ._finding import Finding, Point
from ._gradient import Differentiated, GradientTrial
from ._inputs import Inputs
from ._kernel import Kernel
from ._name import BEGINNINGS, STRIDES, Named
from ._options import CheckOptions
from ._reproducer import reproducer
from ._trial import Trial


def verdict(found: Differentiated) -> Finding:
    """The finding, with the smallest row that shows a fault, or the worst one of a norm that is right."""
    named, tried = found.named, found.named.judged.tried
    claim, kernel = tried.inputs.claim, tried.inputs.claim.kernel
    if not tried.trials:
        return nothing_computed(replace(kernel.asked, kind=claim.kind, eps=claim.eps), str(named.cause))
    worst = max(tried.trials, key=lambda trial: trial.largest)
    if found.shown is None:
        ratio, evidence = worst.largest, _of_outputs(named, worst)
    else:
        ratio, evidence = max(worst.largest, found.ratio or 0.0), _of_derivatives(found.shown, tried.inputs)
    shifted = claim.meant.offset == 1 or "1 + gain" in (named.cause or "")
    gain = "none" if claim.base(kernel.d).gain is None else "1 + weight" if shifted else "weight"
    against = claim.kind, float(claim.eps), gain, kernel.dtype
    told = {"notes": found.notes, "gradient_ratio": found.ratio, "proof": claim.proof}
    return Finding(found.verdict, found.cause, *against, ratio, **evidence, **told)


def nothing_computed(asked: CheckOptions, cause: str) -> Finding:
    """The finding on a kernel that computed nothing."""
    none = math.nan, math.nan, math.nan
    return Finding("bug", cause, asked.kind or "norm", asked.eps or math.nan, "none", asked.dtype, math.inf, [], *none)


def _of_outputs(named: Named, worst: Trial) -> dict[str, Any]:
    """The row that refutes the claim, or the worst one; with a script if it can be given contiguous."""
    judged, inputs = named.judged, named.judged.tried.inputs
    exact = judged.refuted and named.verdict != "rounding"
    shown, kernel = (judged.shown, judged.claim.kernel) if exact else (worst, inputs.claim.kernel)
    (row, component), evidence = shown.worst, shown.evidence()
    x = shown.x[row].tolist()
    contiguous = shown.label not in (*STRIDES, *BEGINNINGS)
    script = reproducer(kernel, x, shown.base, evidence[2]) if exact and contiguous else ""
    if named.shown is not None:
        x, component, evidence = named.shown
    point = Point(inputs.layout(shown.label), component, *_parameters(kernel, shown.d), reproducer=script)
    return _evidence(x, evidence, point, exact=exact)


def _of_derivatives(shown: GradientTrial, inputs: Inputs) -> dict[str, Any]:
    row, component = shown.worst
    parameters = _parameters(inputs.claim.kernel, shown.d)
    point = Point(inputs.layout(shown.label), component, *parameters, shown.cotangent[row].tolist())
    return _evidence(shown.input, shown.evidence, point, exact=True)


def _evidence(x: object, evidence: tuple[float, float, float], point: Point, *, exact: bool) -> dict[str, Any]:
    wrong, right, bound = evidence
    return {"input": x, "wrong": wrong, "right": right, "bound": bound, "exact": exact, "point": point}


def _parameters(kernel: Kernel, d: int) -> list[list[float] | None]:
    """Gain and bias that the kernel uses."""
    bound = kernel.at(d)
    return [None if values is None else values.tolist() for values in (bound.gain, bound.bias)]
