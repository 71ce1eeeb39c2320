"""Where the outputs of RMSNorm lie: on an ellipsoid at ε = 0, strictly inside it for ε > 0, and how far inside."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    dim,
    dot,
    equal,
    greater,
    norm,
    prove,
    root,
    root_of_square,
    square_norm,
)

from ..._hypotheses import NONZERO_GAIN, POSITIVE_EPS, POSITIVE_FACTOR, mean_square
from ..._sources import BLOG, GUPTA, OWN, RIECHERS
from ..._steps import as_sum, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ..ellipsoid import INVERSE_ON_SUPPORT, zero_gain_model

INVERSE = {"g²h = g": INVERSE_ON_SUPPORT["g²h = g"]}


def _gauge(x: Any, eps: Any) -> Any:
    """R = √(m/(m + ε)), m the mean square."""
    return lg.gauge_from_mean_square(mean_square(x), eps=eps)


def _length(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    y, u = lg.rms_norm(x, eps=eps), root(dim(x)) * _gauge(x, eps)
    squared = prove(equal(u * u, square_norm(y)), *given)
    same = root_of_square(square_norm(y), prove(at_least(u), *given), squared)
    return prove(goal, (same, norm(y)))


def _missing(x: Any, eps: Any, given: list[Proved]) -> Proved:
    """What a squared length lacks to d: dε/(m + ε) > 0."""
    positive = prove(greater(mean_square(x) + eps), *given)
    return prove(greater(dim(x) * eps / (mean_square(x) + eps)), *given, positive)


def _interior(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    nonzero, positive = given
    return as_sum(goal, [_missing(x, eps, [positive])], nonzero, positive)


def _hidden(goal: Formula, given: list[Proved], x: Any, g: Any, h: Any, eps: Any) -> Proved:
    """D − ‖ghy‖² = dε/(m + ε) + ‖(1 − gh)y‖², because gh is 0 or 1."""
    first, positive = given
    idempotent = prove(equal(g * h * (g * h), g * h), first)
    parts = [_missing(x, eps, [positive]), sum_of_squares((1 - g * h) * lg.rms_norm(x, eps=eps))]
    return as_sum(goal, parts, positive, (first, g * g * h), (idempotent, g**2 * h**2))


def _scaled(goal: Formula, given: list[Proved], x: Any, a: Any, eps: Any) -> Proved:
    positive, nonnegative = given
    m = mean_square(x)
    u = a * root(m + eps / (a * a))
    squared = prove(equal(u * u, a * a * m + eps), positive, nonnegative)
    same = root_of_square(a * a * m + eps, prove(at_least(u), positive), squared)
    return prove(goal, (same, root(a * a * m + eps)), positive, nonnegative)


THEOREMS = (
    Theorem(
        id="rmsnorm.surface",
        title="RMSNorm's outputs at ε = 0 lie on the ellipsoid with semi-axes √d|g_i| along the coordinates",
        statement="Σ (z_i − b_i)²/g_i² = d",
        source=Source(BLOG, "RMSNorm", "gives the semi-axes as √n a_i, which is negative for negative gains"),
        vectors="x g b",
        hypotheses={**NONZERO_GAIN, "x ≠ 0": lambda x: greater(square_norm(x))},
        claim=lambda x, g, b: equal(square_norm((lg.rms_norm(x, g, b, eps=0) - b) / g), dim(x)),
        mutants=(
            Mutant(
                "they lie in the hyperplane of LayerNorm too",
                lambda x, g, b: equal(dot(1 / g, lg.rms_norm(x, g, b, eps=0) - b), 0),
            ),
            Mutant(
                "the centre of the ellipsoid is 0",
                lambda x, g, b: equal(square_norm(lg.rms_norm(x, g, b, eps=0) / g), dim(x)),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.recovered",
        title="Where no gain is zero, gain and bias of RMSNorm can be undone",
        statement="(RMS_ε(x; g, b) − b)/g = RMS_ε(x)",
        source=Source(OWN, "measurement", "what a layer puts out is its normalized vector, stretched and moved"),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN,
        claim=lambda x, g, b, eps: equal((lg.rms_norm(x, g, b, eps=eps) - b) / g, lg.rms_norm(x, eps=eps)),
        mutants=(
            Mutant(
                "the gain undone before the bias",
                lambda x, g, b, eps: equal(lg.rms_norm(x, g, b, eps=eps) / g - b, lg.rms_norm(x, eps=eps)),
            ),
            Mutant(
                "the input itself is recovered", lambda x, g, b, eps: equal((lg.rms_norm(x, g, b, eps=eps) - b) / g, x)
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.length",
        title="The length of RMSNorm's output is √d times its gauge",
        statement="‖RMS_ε(x)‖ = √d r, with r = √(m/(m + ε)) and m = ‖x‖²/d",
        source=Source(GUPTA, "section 3", "says that RMSNorm only normalizes, which at ε = 0 gives √d"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(norm(lg.rms_norm(x, eps=eps)), root(dim(x)) * _gauge(x, eps)),
        proof=_length,
        without={"ε > 0": "at ε = 0 both sides are √d, or 0 for the zero vector, where the kernel reads 0/0 as 0"},
        mutants=(
            Mutant("norm √d for every ε", lambda x, eps: equal(norm(lg.rms_norm(x, eps=eps)), root(dim(x)))),
            Mutant(
                "the gauge of LayerNorm, with σ² for m",
                lambda x, eps: equal(norm(lg.rms_norm(x, eps=eps)), root(dim(x)) * lg.gauge(x, eps=eps)),
            ),
            Mutant(
                "the gauge squared",
                lambda x, eps: equal(norm(lg.rms_norm(x, eps=eps)), root(dim(x)) * _gauge(x, eps) ** 2),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.interior",
        title="With ε > 0 all outputs of RMSNorm lie strictly inside the ellipsoid",
        statement="Σ (z_i − b_i)²/g_i² < d for ε > 0",
        source=Source(RIECHERS, "eq. 6", "says of LayerNorm that outputs lie within a hyperellipsoid"),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN | POSITIVE_EPS,
        claim=lambda x, g, b, eps: greater(dim(x), square_norm((lg.rms_norm(x, g, b, eps=eps) - b) / g)),
        proof=_interior,
        without={"g_i ≠ 0": "the total inverse leaves the components of zero gain out, which lowers the sum"},
        mutants=(
            Mutant("strictly inside at ε = 0 too", hypotheses=NONZERO_GAIN | {"ε ≥ 0": lambda eps: at_least(eps)}),
            Mutant(
                "Σ (z_i − b_i)² < d, without the gains",
                lambda x, g, b, eps: greater(dim(x), square_norm(lg.rms_norm(x, g, b, eps=eps) - b)),
            ),
            Mutant(
                "Σ z_i²/g_i² < d, without the bias",
                lambda x, g, b, eps: greater(dim(x), square_norm(lg.rms_norm(x, g, b, eps=eps) / g)),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.zero_gain_interior",
        title="With zero gains the seen components of RMSNorm's outputs lie inside the ellipsoid as well",
        statement="‖h∘(z − b)‖² < d for ε > 0, h = 1/g on the support of g and 0 elsewhere",
        source=Source(OWN, "zero gains", "what a zero gain hides can only lower the sum"),
        vectors="x g h b",
        scalars="eps",
        hypotheses=INVERSE | POSITIVE_EPS,
        claim=lambda x, g, h, b, eps: greater(dim(x), square_norm(h * (lg.rms_norm(x, g, b, eps=eps) - b))),
        proof=_hidden,
        model=zero_gain_model,
        without={
            "g²h = g": lambda random, d: {**dict.fromkeys(("x", "g"), (1,) * d), "h": (2,) * d, "b": (0,) * d, "eps": 1}
        },
        mutants=(
            Mutant(
                "the number of nonzero gains in place of d",
                lambda x, g, h, b, eps: greater(dot(g, h), square_norm(h * (lg.rms_norm(x, g, b, eps=eps) - b))),
            ),
            Mutant(
                "h = 1 on the zero gains",
                lambda x, g, h, b, eps: greater(dim(x), square_norm((h + 1 - g * h) * lg.rms_norm(x, g, b, eps=eps))),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.scaling",
        title="Scaling the input of RMSNorm is scaling its ε",
        statement="RMS_ε(ax; g, b) = RMS_{ε/a²}(x; g, b) for a > 0",
        source=Source(OWN, "epsilon", "RMSNorm with ε is not free of scale"),
        vectors="x g b",
        scalars="a eps",
        hypotheses={**POSITIVE_FACTOR, "ε >= 0": lambda eps: at_least(eps)},
        claim=lambda x, g, b, a, eps: equal(lg.rms_norm(a * x, g, b, eps=eps), lg.rms_norm(x, g, b, eps=eps / (a * a))),
        proof=_scaled,
        without={"ε >= 0": "for ε < 0 both roots are of a²m + ε up to the factor a², and 0 together"},
        mutants=(
            Mutant(
                "RMS_ε does not depend on the scale",
                lambda x, g, b, a, eps: equal(lg.rms_norm(a * x, g, b, eps=eps), lg.rms_norm(x, g, b, eps=eps)),
            ),
            Mutant(
                "ε/a",
                lambda x, g, b, a, eps: equal(lg.rms_norm(a * x, g, b, eps=eps), lg.rms_norm(x, g, b, eps=eps / a)),
            ),
            Mutant("for a < 0 too", hypotheses={"a < 0": lambda a: greater(-a), "ε >= 0": lambda eps: at_least(eps)}),
        ),
    ),
)
