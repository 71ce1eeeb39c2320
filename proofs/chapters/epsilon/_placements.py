"""The two places of ε, inside the root and outside it."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    combine,
    constant,
    equal,
    greater,
    inverse,
    multiply,
    prove,
    root,
    root_of_square,
    transport,
    unequal,
)

from ..._hypotheses import POSITIVE_EPS, deviation, variance
from ..._sources import BLOG, OWN
from ..._theorem import Mutant, Source, Theorem


def mismatch(x: Any, outside: Any, inside: Any) -> Any:
    """(σ + ε_out)² − (σ² + ε_in): how far the two denominators are from each other."""
    v = variance(x)
    return lg.scale(v, eps=outside, placement="outside") ** 2 - lg.scale(v, eps=inside) ** 2


def _conjugate(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """(s − σ)(s + σ) = ε for s = √(σ² + ε), divided by s + σ."""
    sigma, s = deviation(x), root(variance(x) + eps)
    above = prove(greater(s + sigma), *given)
    one = inverse(above)
    product = prove(equal((s - sigma) * (s + sigma), eps), *given)
    return combine(goal.term, [(1 / (s + sigma), None, product), (sigma - s, None, one)])


def _no_constant(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any, c: Any) -> Proved:
    outside, inside, different = given
    product = multiply(multiply(constant(2, "!="), outside), different)
    same = prove(equal(goal.term, product.conclusion.term), inside)
    return transport(goal.term, same, product)


THEOREMS = (
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
            lg.scale(variance(x), eps=eps), lg.scale(variance(x), eps=lg.matching_eps(x, eps=eps), placement="outside")
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
        last_step="No ε′ ≥ 0 has σ + ε = √(σ² + ε′) for two vectors of unequal σ, if ε ≠ 0.",
        without={"ε′ >= 0": "for ε′ < 0 the root inside is not real and PyTorch returns NaN; the kernel reads it as 0"},
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
)
