"""Epsilon: with ε > 0 outputs lie inside the sphere, and how deep is a matter of σ²/ε."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    add,
    at_least,
    combine,
    constant,
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
    square,
    square_norm,
    transport,
    unequal,
    weaken,
)

from .._models import Values, draw_scalar
from .._sources import BLOG, GUPTA, OWN, RIECHERS
from .._theorem import Mutant, Source, Theorem
from .._words import NOT_CONSTANT, POSITIVE_EPS, assuming, deviation, variance
from . import _outside


def length(x: Any, eps: Any) -> Any:
    """‖LN_ε(x)‖²."""
    return square_norm(lg.standardize(x, eps=eps))


def mismatch(x: Any, outside: Any, inside: Any) -> Any:
    """(σ + ε_out)² − (σ² + ε_in): how far the two denominators are from each other."""
    v = variance(x)
    return lg.scale(v, eps=outside, placement="outside") ** 2 - lg.scale(v, eps=inside) ** 2


def _scaled_root(goal: Formula, given: list[Proved], x: Any, a: Any, eps: Any) -> Proved:
    positive, nonnegative = given
    v = variance(x)
    inside = v + eps / (a * a)
    u = a * root(inside)
    above = prove(at_least(u), positive)
    squared = prove(equal(u * u, a * a * v + eps), positive, nonnegative)
    same = root_of_square(a * a * v + eps, above, squared)
    return prove(goal, (same, root(a * a * v + eps)), positive, nonnegative)


def _between(
    goal: Formula, given: list[Proved], x: Any, eps: Any, factor: Callable[[Any, Any], Any]
) -> Proved:
    """The claim is (s − σ)² times a positive factor, s = √(σ² + ε)."""
    sigma, s = deviation(x), root(variance(x) + eps)
    positive = prove(greater(factor(sigma, s)), *given)
    whole = multiply(square(s - sigma), weaken(positive, ">="))
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), *given), whole)


def _upper(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: (s + 2 * sigma) / (2 * sigma * sigma * s))


def _lower(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: 1 / (2 * s * s))


def _gauge(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    u = root(dim(x)) * lg.gauge(x, eps=eps)
    squared = prove(equal(u * u, length(x, eps)), *given)
    same = root_of_square(length(x, eps), prove(at_least(u), *given), squared)
    return prove(goal, (same, norm(lg.standardize(x, eps=eps))))


def _conjugate(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """(s − σ)(s + σ) = ε for s = √(σ² + ε), divided by s + σ."""
    sigma, s = deviation(x), root(variance(x) + eps)
    above = prove(greater(s + sigma), *given)
    one = inverse(above)
    product = prove(equal((s - sigma) * (s + sigma), eps), *given)
    return combine(goal.term, [(1 / (s + sigma), None, product), (sigma - s, None, one)])


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


def _no_constant(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any, c: Any) -> Proved:
    outside, inside, different = given
    product = multiply(multiply(constant(2, "!="), outside), different)
    same = prove(equal(goal.term, product.conclusion.term), inside)
    return transport(goal.term, same, product)


def two_levels(random: Random, d: int) -> Values:
    """Two vectors and two values of ε, all positive, with rational deviations in even dimensions."""
    signs = [(-1) ** i * (i < d - d % 2) for i in range(d)]
    first, second = (Fraction(random.choice((1, 2, 3)), random.choice((1, 2))) for _ in range(2))
    return {
        "x": tuple(first * sign for sign in signs),
        "x2": tuple(second * sign for sign in signs),
        "eps": abs(draw_scalar(random)) or Fraction(1, 2),
        "c": abs(draw_scalar(random)) or Fraction(1, 3),
    }


THEOREMS = (
    Theorem(
        id="epsilon.norm",
        title="The length of an output tells how large the variance was against ε",
        statement="‖y_ε‖² = d‖Πx‖²/(‖Πx‖² + dε)",
        source=Source(RIECHERS, "eq. 6", "the norm of a standardized vector falls short of √N by a factor"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            length(x, eps),
            dim(x) * square_norm(lg.project(x)) / (square_norm(lg.project(x)) + dim(x) * eps),
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
                lambda x, eps: equal(
                    square_norm(lg.standardize(x, eps=eps, placement="outside")), length(x, eps)
                ),
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
        without={
            "ε > 0": "at ε = 0 both sides are √d, or 0 for a constant vector, where the kernel reads 0/0 as 0"
        },
        mutants=(
            Mutant(
                "the gauge squared",
                lambda x, eps: equal(
                    norm(lg.standardize(x, eps=eps)), root(dim(x)) * lg.gauge(x, eps=eps) ** 2
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.decreasing",
        title="A larger ε draws every output inward",
        statement="ε′ > ε > 0 implies ‖y_ε′‖ < ‖y_ε‖",
        source=Source(RIECHERS, "discussion", "ε sets how far outputs stay from the surface"),
        scalars="eps c",
        hypotheses={
            **NOT_CONSTANT,
            **POSITIVE_EPS,
            "ε′ > ε": lambda eps, c: greater(c, eps),
        },
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
        hypotheses={
            **POSITIVE_EPS,
            "σ²(x′) > σ²(x)": lambda x, x2: greater(variance(x2), variance(x)),
        },
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
                hypotheses={
                    **POSITIVE_EPS,
                    "‖x′‖ > ‖x‖": lambda x, x2: greater(square_norm(x2), square_norm(x)),
                },
            ),
        ),
    ),
    Theorem(
        id="epsilon.scaling",
        title="Scaling the input is scaling ε",
        statement="LN_ε(ax) = LN_{ε/a²}(x) for a > 0",
        source=Source(OWN, "epsilon", "LayerNorm with ε is not free of scale"),
        scalars="a eps",
        hypotheses={
            "a > 0": lambda a: greater(a),
            "ε >= 0": lambda eps: at_least(eps),
        },
        claim=lambda x, a, eps: equal(lg.standardize(a * x, eps=eps), lg.standardize(x, eps=eps / (a * a))),
        proof=_scaled_root,
        without={"ε >= 0": "for ε < 0 both roots are of a²σ² + ε up to the factor a², and 0 together"},
        mutants=(
            Mutant(
                "LN_ε does not depend on the scale",
                lambda x, a, eps: equal(lg.standardize(a * x, eps=eps), lg.standardize(x, eps=eps)),
            ),
            Mutant(
                "ε/a",
                lambda x, a, eps: equal(lg.standardize(a * x, eps=eps), lg.standardize(x, eps=eps / a)),
            ),
        ),
    ),
    Theorem(
        id="epsilon.placements",
        title="For one vector ε outside the root equals another ε inside it",
        statement="σ + ε = √(σ² + ε′) for ε′ = 2σε + ε²",
        source=Source(BLOG, "definition", "divides by the standard deviation plus ε"),
        scalars="eps",
        hypotheses={"ε >= 0": lambda eps: at_least(eps)},
        claim=lambda x, eps: equal(
            lg.scale(variance(x), eps=eps, placement="outside"),
            lg.scale(variance(x), eps=lg.matching_eps(x, eps=eps, placement="outside")),
        ),
        proof=lambda goal, given, x, eps: prove(
            goal,
            *given,
            root_of_square(
                variance(x) + 2 * deviation(x) * eps + eps * eps,
                prove(at_least(deviation(x) + eps), *given),
                prove(equal((deviation(x) + eps) ** 2, variance(x) + 2 * deviation(x) * eps + eps * eps)),
            ),
        ),
        mutants=(
            Mutant(
                "the same ε",
                lambda x, eps: equal(
                    lg.scale(variance(x), eps=eps, placement="outside"), lg.scale(variance(x), eps=eps)
                ),
            ),
            Mutant(
                "ε² inside",
                lambda x, eps: equal(
                    lg.scale(variance(x), eps=eps, placement="outside"), lg.scale(variance(x), eps=eps * eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.placements_back",
        title="For one vector ε inside the root equals another ε outside it",
        statement="√(σ² + ε) = σ + ε′ for ε′ = ε/(√(σ² + ε) + σ)",
        source=Source(OWN, "epsilon", "the other direction of the conversion"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            lg.scale(variance(x), eps=eps),
            lg.scale(variance(x), eps=lg.matching_eps(x, eps=eps), placement="outside"),
        ),
        without={"ε > 0": "at ε = 0 both sides are σ, where the kernel reads 0/0 as 0"},
        proof=_conjugate,
        mutants=(
            Mutant(
                "ε′ = √ε",
                lambda x, eps: equal(
                    lg.scale(variance(x), eps=eps), lg.scale(variance(x), eps=root(eps), placement="outside")
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.no_conversion",
        title="No constant converts one placement of ε into the other",
        statement="the mismatches (σ + ε)² − (σ² + ε′) of two vectors of unequal σ are unequal",
        source=Source(BLOG, "definition", "the two forms are used interchangeably"),
        vectors="x x2",
        scalars="eps c",
        hypotheses={
            "ε ≠ 0": lambda eps: unequal(eps),
            "ε′ >= 0": lambda c: at_least(c),
            "σ(x) ≠ σ(x′)": lambda x, x2: unequal(deviation(x), deviation(x2)),
        },
        claim=lambda x, x2, eps, c: unequal(mismatch(x, eps, c), mismatch(x2, eps, c)),
        proof=_no_constant,
        last_step="Two unequal numbers are not both 0, so that ε′ serves at most one of two deviations.",
        without={
            "ε′ >= 0": "for ε′ < 0 the root inside is not real and PyTorch returns NaN; the kernel reads it as 0"
        },
        mutants=(
            Mutant(
                "they are unequal whatever ε is",
                hypotheses={
                    "ε′ >= 0": lambda c: at_least(c),
                    "σ(x) ≠ σ(x′)": lambda x, x2: unequal(deviation(x), deviation(x2)),
                    "ε >= 0": lambda eps: at_least(eps),
                },
            ),
        ),
    ),
    Theorem(
        id="epsilon.variance_map",
        title="The output has variance σ²/(σ² + ε)",
        statement="σ²(y_ε) = σ²/(σ² + ε)",
        source=Source(OWN, "epsilon", "the map of variances that repeated normalization iterates"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(variance(lg.standardize(x, eps=eps)), variance(x) / (variance(x) + eps)),
        mutants=(
            Mutant("variance 1", lambda x, eps: equal(variance(lg.standardize(x, eps=eps)), 1)),
            Mutant(
                "deviation σ/(σ + ε)",
                lambda x, eps: equal(
                    variance(lg.standardize(x, eps=eps)), (deviation(x) / (deviation(x) + eps)) ** 2
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.fixed_point",
        title="Repeated normalization tends to variance 1 − ε",
        statement="v′ − (1 − ε) = ε(v − (1 − ε))/(v + ε), with v′ the variance of LN_ε(x)",
        source=Source(OWN, "epsilon", "dynamics of repeated normalization"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            variance(lg.standardize(x, eps=eps)) - (1 - eps),
            eps * (variance(x) - (1 - eps)) / (variance(x) + eps),
        ),
        last_step=(
            "For 0 < ε < 1 and v > 0 the factor ε/(v + ε) is between 0 and 1: the distance to 1 − ε keeps its sign and "
            "decreases, and v stays above min(v, 1 − ε), so the factor stays below a number less than 1 and v tends to "
            "1 − ε, in the end by the factor ε per step."
        ),
        cites=("a sequence with ratios bounded below 1 tends to 0",),
        mutants=(
            Mutant(
                "the fixed point is 1",
                lambda x, eps: equal(
                    variance(lg.standardize(x, eps=eps)) - 1,
                    eps * (variance(x) - 1) / (variance(x) + eps),
                ),
            ),
            Mutant(
                "the factor is 1/(v + ε)",
                lambda x, eps: equal(
                    variance(lg.standardize(x, eps=eps)) - (1 - eps),
                    (variance(x) - (1 - eps)) / (variance(x) + eps),
                ),
            ),
        ),
    ),
    Theorem(
        id="epsilon.concentration",
        title="Outputs of inputs with large variance lie near the surface",
        statement="1 − r <= ε/2σ²",
        source=Source(RIECHERS, "key results", "typical inputs are mapped near the surface"),
        scalars="eps",
        hypotheses={**NOT_CONSTANT, **POSITIVE_EPS},
        claim=lambda x, eps: at_least(eps / (2 * variance(x)), 1 - lg.gauge(x, eps=eps)),
        proof=_upper,
        without={"ε > 0": lambda random, d: two_levels(random, d) | {"eps": Fraction(-3)}},
        mutants=(
            Mutant(
                "1 − r <= ε/4σ²", lambda x, eps: at_least(eps / (4 * variance(x)), 1 - lg.gauge(x, eps=eps))
            ),
            Mutant("1 − r <= ε/2", lambda x, eps: at_least(eps / 2, 1 - lg.gauge(x, eps=eps))),
        ),
    ),
    Theorem(
        id="epsilon.concentration_below",
        title="And not nearer than that",
        statement="1 − r >= ε/2(σ² + ε)",
        source=Source(OWN, "epsilon", "the other bound: 1 − r is about ε/2σ²"),
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: at_least(1 - lg.gauge(x, eps=eps), eps / (2 * (variance(x) + eps))),
        proof=_lower,
        without={"ε > 0": lambda random, d: two_levels(random, d) | {"eps": Fraction(-3)}},
        mutants=(
            Mutant(
                "1 − r >= ε/2σ²",
                lambda x, eps: at_least(1 - lg.gauge(x, eps=eps), eps / (2 * variance(x))),
                {**NOT_CONSTANT, **POSITIVE_EPS},
            ),
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
            Mutant(
                "it becomes 0", lambda x, g, b, c, eps: equal(lg.layer_norm(c * ones(x), g, b, eps=eps), 0)
            ),
            Mutant(
                "the same for RMSNorm",
                lambda x, g, b, c, eps: equal(lg.rms_norm(c * ones(x), g, b, eps=eps), b),
            ),
        ),
    ),
    *_outside.THEOREMS,
)
