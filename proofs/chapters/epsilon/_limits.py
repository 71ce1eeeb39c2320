"""Limits: repeated normalization, and large variances."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    equal,
    greater,
    multiply,
    prove,
    root,
    square,
    transport,
    weaken,
)

from ..._hypotheses import NOT_CONSTANT, POSITIVE_EPS, deviation, two_levels, variance
from ..._sources import OWN, RIECHERS
from ..._theorem import Mutant, Source, Theorem


def _between(goal: Formula, given: list[Proved], x: Any, eps: Any, factor: Callable[[Any, Any], Any]) -> Proved:
    """The claim is (s − σ)² times a positive factor, s = √(σ² + ε)."""
    sigma, s = deviation(x), root(variance(x) + eps)
    positive = prove(greater(factor(sigma, s)), *given)
    whole = multiply(square(s - sigma), weaken(positive, ">="))
    return transport(goal.term, prove(equal(goal.term, whole.conclusion.term), *given), whole)


def _upper(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: (s + 2 * sigma) / (2 * sigma * sigma * s))


def _lower(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    return _between(goal, given, x, eps, lambda sigma, s: 1 / (2 * s * s))


THEOREMS = (
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
                lambda x, eps: equal(variance(lg.standardize(x, eps=eps)), (deviation(x) / (deviation(x) + eps)) ** 2),
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
            variance(lg.standardize(x, eps=eps)) - (1 - eps), eps * (variance(x) - (1 - eps)) / (variance(x) + eps)
        ),
        last_step=(
            "For 0 < ε < 1 and x not constant the variances of LN_ε(x), LN_ε(LN_ε(x)), … tend to 1 − ε, "
            "in every Archimedean real closed field, such as that of the real numbers."
        ),
        mutants=(
            Mutant(
                "the fixed point is 1",
                lambda x, eps: equal(
                    variance(lg.standardize(x, eps=eps)) - 1, eps * (variance(x) - 1) / (variance(x) + eps)
                ),
            ),
            Mutant(
                "the factor is 1/(v + ε)",
                lambda x, eps: equal(
                    variance(lg.standardize(x, eps=eps)) - (1 - eps), (variance(x) - (1 - eps)) / (variance(x) + eps)
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
            Mutant("1 − r <= ε/4σ²", lambda x, eps: at_least(eps / (4 * variance(x)), 1 - lg.gauge(x, eps=eps))),
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
)
