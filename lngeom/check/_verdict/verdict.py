"""The finding on a kernel: verdict, cause, and the evidence at the row that shows it."""

import math
from dataclasses import replace

from lngeom.sentences import Cause, Statement

from .._calls.options import CheckOptions
from .._calls.scripts import ones, reproducer
from .._diagnosis.diagnoses import BEGINNINGS, STRIDES
from .._diagnosis.names import Named
from .._trials.layouts import NOT_CONTIGUOUS
from .._trials.state import BATCH, LEAK
from .._trials.trials import OTHER_EPS
from .finding import Finding, Point

_SHIFTED = {"gain plus 1", "gain rounded", "gain plus 1 rounded", "gain plus 1 before"}
"""Causes under which the gain is 1 + weight."""


def verdict(named: Named) -> Finding:
    """The finding, with the smallest row that shows a fault, or the worst one of a norm that is right."""
    tried, claim = named.tried, named.tried.inputs.claim
    asked = claim.kernel.asked
    if not tried.trials:
        return replace(nothing_computed(asked, named.cause), kind=claim.kind, eps=claim.eps)
    told = [value for part in (named.cause.parts if named.cause else ()) for value in part.values]
    some = [trial for trial in tried.trials if trial.label in told] or tried.trials  # in the way that the cause tells
    worst = max(some, key=lambda trial: trial.largest)
    shown, refuted = (named.shown, tried.refuted or claim) if named.shown is not None else (worst.shown(), claim)
    of_derivative = shown.cotangent is not None
    by_outputs = named.shown is not None and tried.wrong is not None and not of_derivative
    d = len(shown.cotangent or shown.input)
    bound, (wrong, right, off) = refuted.kernel.at(d), shown.numbers
    contiguous, error = shown.label.kind not in STRIDES | BEGINNINGS | {OTHER_EPS, BATCH}, abs(wrong - right)
    known = claim.meant.stated is None
    usual = known and contiguous and not claim.kernel.form.axes and not error <= off
    of_contract = error / off if named.shown is not None and not (by_outputs or of_derivative) else 0.0
    script = reproducer(refuted.kernel, refuted.base(d), shown.input, off) if by_outputs and usual else ""
    if named.cause == LEAK:
        script = ones(claim.kernel, (1 << 12, claim.kernel.d), grows=True)
    gain, bias = (None if values is None else values.tolist() for values in (bound.gain, bound.bias))
    shifted = claim.meant.offset == 1 or (named.cause is not None and bool(named.cause.kinds & _SHIFTED))
    unheld = claim.proof.affine is not None and claim.proof.affine.gain is not None  # a gain that no trial sets
    laid = named.cause and any(way.kind in NOT_CONTIGUOUS for way in named.cause.ways)
    contract = "contiguous" if asked.contiguous else "if contiguous" if laid else ""
    return Finding(
        named.verdict, named.cause, claim.kind, float(claim.eps),
        ("ones" if unheld else "none") if bound.gain is None else "1 + weight" if shifted else "weight", asked.dtype,
        max(worst.largest, named.ratio or 0.0 if of_derivative else of_contract), shown.input, wrong, right, off,
        (*([Statement(contract)] if contract else []), *named.notes), exact=(by_outputs and known) or of_derivative,
        gradient_ratio=named.ratio, backward=asked.backward, left=tried.left,
        proof=replace(claim.proof, counterexample=None) if claim.meant.offset else claim.proof,  # it is to PyTorch's
        point=Point(tried.inputs.layout(shown.label), shown.component, gain, bias, shown.cotangent, script),
    )  # fmt: skip


def nothing_computed(asked: CheckOptions, cause: Cause | None) -> Finding:
    """The finding on a kernel that computed nothing."""
    none = math.nan, math.nan, math.nan
    return Finding("bug", cause, asked.kind or "norm", asked.eps or math.nan, "none", asked.dtype, math.inf, [], *none)
