"""RMSNorm itself, and how far it is from LayerNorm."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    cancel,
    combine,
    congruence,
    dim,
    dot,
    equal,
    greater,
    ones,
    prove,
    root,
    square,
    square_norm,
    summed,
    weaken,
)

from ..._hypotheses import NOT_CONSTANT, mean_square, variance
from ..._sources import BLOG, DIGEST, GUPTA, OWN, ZHANG
from ..._steps import as_sum, product
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_vector
from ._balanced import balanced_model


def _balanced(goal: Formula, given: list[Proved], x: Any, g: Any, eps: Any) -> Proved:
    """Without a mean the two denominators are roots of the same number, and x = Πx."""
    centered_square, plain_square = variance(x) + eps, mean_square(x) + eps
    same = prove(equal(centered_square, plain_square), *given)
    roots = congruence("sqrt", centered_square, plain_square, same)
    inverses = congruence("inv", root(centered_square), root(plain_square), roots)
    centered = prove(equal(lg.project(x), x), *given)
    return combine(goal.term, [(-g * lg.project(x), None, inverses), (-g / root(plain_square), None, centered)])


def _length(x: Any, given: list[Proved]) -> tuple[Proved, ...]:
    """‖x‖² = dσ² + (1·x)²/d > 0."""
    share = prove(greater(1 / dim(x)))
    parts = [product(given[0], prove(greater(dim(x)))), product(square(dot(ones(x), x)), share)]
    return (as_sum(greater(square_norm(x)), parts),)


def _mean_vanishes(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """Sum both sides: 0 = S(x)/√(‖x‖²/d + ε), and the root is not 0."""
    same, defined = given
    inverse = weaken(prove(greater(1 / lg.scale(mean_square(x), eps=eps)), defined), "!=")
    summed_up = combine(summed(x) * inverse.conclusion.term, [(1, ones(x), same)])
    return prove(goal, cancel(summed(x), summed_up, inverse))


BALANCED = {"1·x = 0": lambda x: equal(dot(ones(x), x), 0)}

THEOREMS = (
    Theorem(
        id="rmsnorm.definition",
        definition=True,
        title="RMSNorm divides by the root of the mean square and needs nothing else of the vector",
        statement="RMS_ε(x) = g∘x/√(‖x‖²/d + ε) + b",
        source=Source(ZHANG, "eq. 4", "defines RMSNorm, without ε"),
        vectors="x g b",
        scalars="eps",
        claim=lambda x, g, b, eps: equal(
            lg.rms_norm(x, g, b, eps=eps), g * x / root(square_norm(x) / dim(x) + eps) + b
        ),
        mutants=(
            Mutant(
                "the norm in place of the root mean square",
                lambda x, g, b, eps: equal(lg.rms_norm(x, g, b, eps=eps), g * x / root(square_norm(x) + eps) + b),
            ),
            Mutant(
                "ε outside the root",
                lambda x, g, b, eps: equal(
                    lg.rms_norm(x, g, b, eps=eps), g * x / (root(square_norm(x) / dim(x)) + eps) + b
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.decomposition",
        title="LayerNorm is RMSNorm of the centred vector, with the same ε",
        statement="LN_ε(x) = RMS_ε(Πx), gain and bias included",
        source=Source(BLOG, "RMSNorm", "finds the transformation of LN needlessly complicated"),
        vectors="x g b",
        scalars="eps",
        claim=lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), lg.rms_norm(lg.project(x), g, b, eps=eps)),
        mutants=(
            Mutant(
                "centring after the normalization",
                lambda x, g, b, eps: equal(
                    lg.layer_norm(x, g, b, eps=eps), g * lg.project(lg.rms_norm(x, eps=eps)) + b
                ),
            ),
            Mutant(
                "RMSNorm after LayerNorm changes nothing",
                lambda x, g, b, eps: equal(
                    lg.layer_norm(x, g, b, eps=eps), lg.rms_norm(lg.standardize(x, eps=eps), g, b, eps=eps)
                ),
            ),
            Mutant(
                "drop-in replacement without centring",
                lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), lg.rms_norm(x, g, b, eps=eps)),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.balanced_input",
        title="On vectors orthogonal to 1 RMSNorm and LayerNorm agree",
        statement="1·x = 0 implies RMS_ε(x) = LN_ε(x)",
        source=Source(GUPTA, "section 3", "hidden states nearly orthogonal to 1 make the projection redundant"),
        vectors="x g b",
        scalars="eps",
        hypotheses=BALANCED,
        claim=lambda x, g, b, eps: equal(lg.rms_norm(x, g, b, eps=eps), lg.layer_norm(x, g, b, eps=eps)),
        proof=_balanced,
        model=balanced_model,
        mutants=(
            Mutant(
                "with different ε in the two",
                lambda x, g, b, eps: equal(lg.rms_norm(x, g, b, eps=1 + eps), lg.layer_norm(x, g, b, eps=eps)),
            ),
            Mutant(
                "orthogonal to the gain in place of 1",
                lambda x, g, b, eps: equal(lg.rms_norm(x, g, b, eps=eps), lg.layer_norm(x, g, b, eps=eps)),
                hypotheses={"g·x = 0": lambda x, g: equal(dot(g, x), 0)},
                model=lambda random, d: (
                    {"x": draw_vector(random, d), "g": (0,) * d, "b": (0,) * d, "eps": 1}
                    | ({"x": (3, 1), "g": (1, -3)} if d == 2 else {})
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.only_balanced_input",
        title="They agree on no other vectors",
        statement="RMS_ε(x) = LN_ε(x) without gain implies 1·x = 0",
        source=Source(DIGEST, "adoption", "calls RMSNorm a drop-in replacement"),
        vectors="x",
        scalars="eps",
        hypotheses={
            "RMS_ε(x) = LN_ε(x)": lambda x, eps: equal(lg.rms_norm(x, eps=eps), lg.standardize(x, eps=eps)),
            "‖x‖²/d + ε > 0": lambda x, eps: greater(mean_square(x) + eps),
        },
        claim=lambda x: equal(dot(ones(x), x), 0),
        proof=_mean_vanishes,
        model=balanced_model,
        without={"‖x‖²/d + ε > 0": lambda random, d: {"x": draw_vector(random, d), "eps": -1000000}},
        mutants=(Mutant("they agree for constant vectors only", lambda x: equal(lg.project(x), 0)),),
    ),
    Theorem(
        id="rmsnorm.angle",
        title="At ε = 0 the angle between the two outputs is |90° − θ|, θ the angle of x to 1",
        statement="LN(x)·RMS(x) = d sin θ, sin θ = σ/√(‖x‖²/d)",
        source=Source(GUPTA, "section 3.2", "infers from θ ≈ 90° that there is nothing to remove"),
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(
            dot(lg.standardize(x, eps=0), lg.rms_norm(x, eps=0)), dim(x) * root(variance(x)) / root(mean_square(x))
        ),
        without={"x is not constant": "at σ = 0 both sides are 0 by the total inverse"},
        last_step="Both outputs have norm √d, so their angle has cosine sin θ.",
        cites=("cos(90° − θ) = sin θ",),
        mutants=(
            Mutant(
                "d cos θ",
                lambda x: equal(
                    dot(lg.standardize(x, eps=0), lg.rms_norm(x, eps=0)),
                    dim(x) * lg.moments(x)[0] / root(mean_square(x)),
                ),
            ),
            Mutant("parallel outputs", lambda x: equal(dot(lg.standardize(x, eps=0), lg.rms_norm(x, eps=0)), dim(x))),
        ),
    ),
    Theorem(
        id="rmsnorm.distance",
        title="The distance of the two outputs at ε = 0 is 2√d sin(|90° − θ|/2)",
        statement="‖LN(x) − RMS(x)‖² = 2d(1 − sin θ)",
        source=Source(OWN, "RMSNorm", "the effect of dropping the projection from a single layer"),
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(
            square_norm(lg.standardize(x, eps=0) - lg.rms_norm(x, eps=0)),
            2 * dim(x) * (1 - root(variance(x)) / root(mean_square(x))),
        ),
        lemmas=_length,
        last_step="1 − sin θ = 1 − cos(90° − θ) = 2 sin²(|90° − θ|/2).",
        cites=("half-angle formula",),
        mutants=(
            Mutant(
                "d(1 − sin θ)",
                lambda x: equal(
                    square_norm(lg.standardize(x, eps=0) - lg.rms_norm(x, eps=0)),
                    dim(x) * (1 - root(variance(x)) / root(mean_square(x))),
                ),
            ),
        ),
    ),
)
