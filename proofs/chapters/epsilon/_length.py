"""The length of an output: how far inside the sphere it lies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    add,
    at_least,
    combine,
    dim,
    equal,
    greater,
    inverse,
    multiply,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square_norm,
    transport,
)

from ..._hypotheses import NOT_CONSTANT, POSITIVE_EPS, assuming, two_levels, variance
from ..._sources import GUPTA, OWN, RIECHERS
from ..._theorem import Mutant, Source, Theorem


def length(x: Any, eps: Any) -> Any:
    """‖LN_ε(x)‖²."""
    return square_norm(lg.standardize(x, eps=eps))


def _scaled_root(goal: Formula, given: list[Proved], x: Any, a: Any, eps: Any) -> Proved:
    positive, nonnegative = given
    v = variance(x)
    inside = v + eps / (a * a)
    u = a * root(inside)
    above = prove(at_least(u), positive)
    squared = prove(equal(u * u, a * a * v + eps), positive, nonnegative)
    same = root_of_square(a * a * v + eps, above, squared)
    return prove(goal, (same, root(a * a * v + eps)), positive, nonnegative)


def _gauge(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    u = root(dim(x)) * lg.gauge(x, eps=eps)
    squared = prove(equal(u * u, length(x, eps)), *given)
    same = root_of_square(length(x, eps), prove(at_least(u), *given), squared)
    return prove(goal, (same, norm(lg.standardize(x, eps=eps))))


def _decreasing(goal: Formula, given: list[Proved], x: Any, eps: Any, c: Any) -> Proved:
    positive = prove(greater(c), *given, add(given[1], given[2]))
    v = variance(x)
    i, j = 1 / (v + eps), 1 / (v + c)
    whole = multiply(given[2], prove(greater(dim(x) * v * i * j), *given, positive))
    one = inverse(prove(greater(v + eps), *given))
    other = inverse(prove(greater(v + c), *given, positive))
    # i − j = (c − ε)ij, from (v + ε)i = 1 and (v + c)j = 1.
    fractions = combine(i - j - (c - eps) * i * j, [(-i, None, other), (j, None, one)])
    same = prove(equal(goal.term, whole.conclusion.term), (fractions, c * i * j), *given, positive)
    return transport(goal.term, same, whole)


def _increasing(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any) -> Proved:
    positive, larger = given
    v, v2 = variance(x), variance(x2)
    factor = prove(greater(dim(x) * eps / (v + eps) / (v2 + eps)), positive)
    whole = multiply(larger, factor)
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), positive), whole)


THEOREMS = (
    Theorem(
        id="epsilon.norm",
        title="The length of an output tells how large the variance was against ε",
        statement="‖y_ε‖² = d‖Πx‖²/(‖Πx‖² + dε)",
        source=Source(RIECHERS, "eq. 6", "the norm of a standardized vector falls short of √N by a factor"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            length(x, eps), dim(x) * square_norm(lg.project(x)) / (square_norm(lg.project(x)) + dim(x) * eps)
        ),
        mutants=(
            Mutant(
                "ε in place of dε",
                lambda x, eps: equal(
                    length(x, eps), dim(x) * square_norm(lg.project(x)) / (square_norm(lg.project(x)) + eps)
                ),
            ),
            Mutant("norm √d for every ε", lambda x, eps: equal(length(x, eps), dim(x))),
            Mutant(
                "ε outside the root",
                lambda x, eps: equal(square_norm(lg.standardize(x, eps=eps, placement="outside")), length(x, eps)),
            ),
        ),
    ),
    Theorem(
        id="epsilon.interior",
        title="Outputs lie strictly inside the sphere",
        statement="‖y_ε‖² < d for ε > 0",
        source=Source(RIECHERS, "section 2", "outputs lie inside the ball of radius √N"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: greater(dim(x), length(x, eps)),
        remainder=lambda x, eps: dim(x) * eps / (variance(x) + eps),
        mutants=(
            Mutant("also at ε = 0", hypotheses={"ε = 0": lambda eps: equal(eps, 0)}),
            Mutant("‖y_ε‖² < d − 1", lambda x, eps: greater(dim(x) - 1, length(x, eps))),
        ),
    ),
    Theorem(
        id="epsilon.gauge",
        title="The gauge is the norm of the output in units of √d",
        statement="‖y_ε‖ = √d r, with r = σ/√(σ² + ε)",
        source=Source(RIECHERS, "eq. 6", "how near the surface an output lies"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(norm(lg.standardize(x, eps=eps)), root(dim(x)) * lg.gauge(x, eps=eps)),
        proof=_gauge,
        without={"ε > 0": "at ε = 0 both sides are √d, or 0 for a constant vector, where the kernel reads 0/0 as 0"},
        mutants=(
            Mutant(
                "the gauge squared",
                lambda x, eps: equal(norm(lg.standardize(x, eps=eps)), root(dim(x)) * lg.gauge(x, eps=eps) ** 2),
            ),
        ),
    ),
    Theorem(
        id="epsilon.decreasing",
        title="A larger ε draws every output inward",
        statement="ε′ > ε > 0 implies ‖y_ε′‖ < ‖y_ε‖",
        source=Source(RIECHERS, "discussion", "ε sets how far outputs stay from the surface"),
        scalars="eps c",
        hypotheses={**NOT_CONSTANT, **POSITIVE_EPS, "ε′ > ε": lambda eps, c: greater(c, eps)},
        claim=lambda x, eps, c: greater(length(x, eps), length(x, c)),
        proof=_decreasing,
        without={"ε > 0": lambda random, d: two_levels(random, d) | {"eps": Fraction(-1, 4)}},
        mutants=(Mutant("it grows with ε", lambda x, eps, c: greater(length(x, c), length(x, eps))),),
    ),
    Theorem(
        id="epsilon.increasing",
        title="A larger variance pushes outputs outward",
        statement="σ(x′) > σ(x) and ε > 0 imply ‖LN_ε(x′)‖ > ‖LN_ε(x)‖",
        source=Source(RIECHERS, "key results", "typical inputs land near the surface"),
        vectors="x x2",
        scalars="eps",
        hypotheses={**POSITIVE_EPS, "σ²(x′) > σ²(x)": lambda x, x2: greater(variance(x2), variance(x))},
        claim=lambda x, x2, eps: greater(length(x2, eps), length(x, eps)),
        proof=_increasing,
        mutants=(
            Mutant(
                "at ε = 0",
                hypotheses={
                    "ε = 0": lambda eps: equal(eps, 0),
                    "σ²(x′) > σ²(x) > 0": lambda x, x2: greater(variance(x2) - variance(x)),
                },
            ),
            Mutant(
                "a larger norm suffices",
                hypotheses={**POSITIVE_EPS, "‖x′‖ > ‖x‖": lambda x, x2: greater(square_norm(x2), square_norm(x))},
            ),
        ),
    ),
    Theorem(
        id="epsilon.scaling",
        title="Scaling the input is scaling ε",
        statement="LN_ε(ax; g, b) = LN_{ε/a²}(x; g, b) for a > 0",
        source=Source(OWN, "epsilon", "LayerNorm with ε is not free of scale"),
        vectors="x g b",
        scalars="a eps",
        hypotheses={"a > 0": lambda a: greater(a), "ε >= 0": lambda eps: at_least(eps)},
        claim=lambda x, g, b, a, eps: equal(
            lg.layer_norm(a * x, g, b, eps=eps), lg.layer_norm(x, g, b, eps=eps / (a * a))
        ),
        proof=_scaled_root,
        without={"ε >= 0": "for ε < 0 both roots are of a²σ² + ε up to the factor a², and 0 together"},
        mutants=(
            Mutant(
                "LN_ε does not depend on the scale",
                lambda x, a, eps: equal(lg.standardize(a * x, eps=eps), lg.standardize(x, eps=eps)),
            ),
            Mutant("ε/a", lambda x, a, eps: equal(lg.standardize(a * x, eps=eps), lg.standardize(x, eps=eps / a))),
        ),
    ),
    Theorem(
        id="epsilon.constant",
        title="A constant vector becomes the bias",
        statement="LN_ε(c1; g, b) = b for ε > 0",
        source=Source(GUPTA, "after eq. 4", "for σ = 0 LayerNorm outputs zeros"),
        vectors="x g b",
        scalars="c eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, g, b, c, eps: equal(lg.layer_norm(c * ones(x), g, b, eps=eps), b),
        proof=lambda goal, given: assuming(prove(goal), given),
        without={"ε > 0": "at ε = 0 the kernel reads 0/0 as 0; the library returns NaN"},
        mutants=(
            Mutant("it becomes 0", lambda x, g, b, c, eps: equal(lg.layer_norm(c * ones(x), g, b, eps=eps), 0)),
            Mutant("the same for RMSNorm", lambda x, g, b, c, eps: equal(lg.rms_norm(c * ones(x), g, b, eps=eps), b)),
        ),
    ),
)
