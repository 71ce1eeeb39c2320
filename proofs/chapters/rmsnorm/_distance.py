"""How far LayerNorm and RMSNorm of one vector are apart as the layers run, ε included."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import Formula, Theorem as Proved, combine, dim, equal, greater, prove, square_norm

from ..._hypotheses import POSITIVE_EPS, mean_square, variance
from ..._sources import OWN
from ..._theorem import Mutant, Source, Theorem


def _difference(x: Any, eps: Any) -> Any:
    return square_norm(lg.standardize(x, eps=eps) - lg.rms_norm(x, eps=eps))


def _without_the_sum_of_roots(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """With w = 1/(r + s) the claim is A + Bw² = 0: it follows from A(r + s)² + B = 0, where no w occurs."""
    s, r = lg.scale(variance(x), eps=eps), lg.scale(mean_square(x), eps=eps)
    mean, w = lg.moments(x)[0], 1 / (r + s)
    a = _difference(x, eps) - dim(x) * mean**2 / r**2
    b = -dim(x) * mean**4 * variance(x) / (r**2 * s**2)
    cleared = prove(equal(a * (r + s) ** 2 + b, 0), *given)
    unit = prove(equal((r + s) * w, 1), prove(greater(r + s), *given))
    divided = combine(a + b * w * w, [(w * w, None, cleared), (-a * (1 + (r + s) * w), None, unit)])
    rest = prove(equal(goal.term - divided.conclusion.term, 0), *given)
    return combine(goal.term, [(1, None, rest), (1, None, divided)])


THEOREMS = (
    Theorem(
        id="rmsnorm.distance_with_eps",
        title="The distance of the two outputs for every ε > 0, without a subtraction",
        statement="‖LN_ε(x) − RMS_ε(x)‖² = d (μ²/r²)(1 + (μσ/(s(r + s)))²), with s = √(σ² + ε) and r = √(μ² + σ² + ε)",
        source=Source(OWN, "RMSNorm", "what a sweep reports of each layer, computed from the two moments alone"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(_difference(x, eps), dim(x) * lg.layer_rms_distance(x, eps=eps) ** 2),
        proof=_without_the_sum_of_roots,
        mutants=(
            Mutant(
                "the part along 1 alone",
                lambda x, eps: equal(_difference(x, eps), dim(x) * lg.moments(x)[0] ** 2 / (mean_square(x) + eps)),
            ),
            Mutant(
                "the formula of ε = 0",
                lambda x, eps: equal(_difference(x, eps), dim(x) * lg.layer_rms_distance(x, eps=0) ** 2),
            ),
            Mutant("without √d", lambda x, eps: equal(_difference(x, eps), lg.layer_rms_distance(x, eps=eps) ** 2)),
        ),
    ),
)
