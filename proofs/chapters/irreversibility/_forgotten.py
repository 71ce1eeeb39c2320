"""What LayerNorm forgets: shift and scale, and that nothing recovers them."""

from __future__ import annotations

import lngeom as lg
from lngeom.symbolic import at_least, dim, equal, greater, ones, square, square_norm, total

from ..._hypotheses import NOT_CONSTANT, POSITIVE_EPS, POSITIVE_FACTOR, deviation, mean, variance
from ..._sources import GUPTA, OWN
from ..._theorem import Mutant, Source, Theorem

THEOREMS = (
    Theorem(
        id="irreversibility.invariance",
        title="LayerNorm forgets the mean and the scale",
        statement="LN(ax + c1) = LN(x) for a > 0 at ε = 0",
        source=Source(GUPTA, "section 2.3", "LayerNorm is irreversible"),
        scalars="a c eps",
        hypotheses=POSITIVE_FACTOR,
        claim=lambda x, a, c: equal(lg.standardize(a * x + c * ones(x), eps=0), lg.standardize(x, eps=0)),
        mutants=(
            Mutant("a < 0", hypotheses={"a < 0": lambda a: greater(-a)}),
            Mutant(
                "at ε > 0",
                lambda x, a, c, eps: equal(lg.standardize(a * x + c * ones(x), eps=eps), lg.standardize(x, eps=eps)),
                {**POSITIVE_FACTOR, **POSITIVE_EPS},
            ),
        ),
    ),
    Theorem(
        id="irreversibility.reflection",
        title="A negative factor turns the output round",
        statement="LN(ax + c1) = −LN(x) for a < 0 at ε = 0",
        source=Source(OWN, "irreversibility", "the sign of the factor survives"),
        scalars="a c",
        hypotheses={"a < 0": lambda a: greater(-a)},
        claim=lambda x, a, c: equal(lg.standardize(a * x + c * ones(x), eps=0), -lg.standardize(x, eps=0)),
        mutants=(Mutant("also for a > 0", hypotheses=POSITIVE_FACTOR),),
    ),
    Theorem(
        id="irreversibility.shift",
        title="LayerNorm forgets the mean for every ε",
        statement="LN_ε(x + c1) = LN_ε(x)",
        source=Source(GUPTA, "section 2.3", "information along the uniform vector is lost"),
        scalars="c eps",
        claim=lambda x, c, eps: equal(lg.standardize(x + c * ones(x), eps=eps), lg.standardize(x, eps=eps)),
        mutants=(
            Mutant(
                "RMSNorm forgets the mean",
                lambda x, c, eps: equal(lg.rms_norm(x + c * ones(x), eps=eps), lg.rms_norm(x, eps=eps)),
                POSITIVE_EPS,
            ),
        ),
    ),
    Theorem(
        id="irreversibility.no_left_inverse",
        title="No function of the output recovers the input",
        statement="‖r − x‖² + ‖r − x′‖² >= dc²/2 for x′ = x + c1, whatever r the common output is sent to",
        source=Source(GUPTA, "section 2.3", "the original vector cannot be recovered from its normalized form"),
        vectors="x r",
        scalars="c",
        claim=lambda x, r, c: at_least(square_norm(r - x) + square_norm(r - (x + c * ones(x))), dim(x) * c * c / 2),
        lemmas=lambda x, r, c: [total(square(r - x - c / 2))],
        last_step=(
            "For d ≥ 2 and every ε no function f has f(LN_ε(x)) = x for all x that are not constant: by "
            "irreversibility.shift the outputs of x and x + c1 are equal."
        ),
        mutants=(
            Mutant(
                "the errors add up to dc²",
                lambda x, r, c: at_least(square_norm(r - x) + square_norm(r - (x + c * ones(x))), dim(x) * c * c),
            ),
        ),
    ),
    Theorem(
        id="irreversibility.no_affine_recovery",
        title="No gain and bias recover the input",
        statement="LN_ε(x + c1; g, b) − (x + c1) = (LN_ε(x; g, b) − x) − c1",
        source=Source(GUPTA, "section 2.3", "more than 2d statistics cannot be recovered by 2d parameters"),
        vectors="x g b",
        scalars="c eps",
        claim=lambda x, g, b, c, eps: equal(
            lg.layer_norm(x + c * ones(x), g, b, eps=eps) - (x + c * ones(x)),
            lg.layer_norm(x, g, b, eps=eps) - x - c * ones(x),
        ),
        last_step=(
            "For d ≥ 2 and every ε no g and b have LN_ε(x; g, b) = x for all x that are not constant: the "
            "two errors differ by c1, so that for c = 1 they cannot both be zero."
        ),
        mutants=(
            Mutant(
                "the same for RMSNorm",
                lambda x, g, b, c, eps: equal(
                    lg.rms_norm(x + c * ones(x), g, b, eps=eps) - (x + c * ones(x)),
                    lg.rms_norm(x, g, b, eps=eps) - x - c * ones(x),
                ),
                POSITIVE_EPS,
            ),
        ),
    ),
    Theorem(
        id="irreversibility.shared_statistics",
        title="Any number of vectors of one mean and deviation is recovered by one gain and bias",
        statement="σ LN(x) + μ = x at ε = 0",
        source=Source(GUPTA, "section 2.3", "counting statistics and parameters shows irreversibility"),
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(lg.layer_norm(x, deviation(x) * ones(x), mean(x) * ones(x), eps=0), x),
        last_step=(
            "One gain, σ1, and one bias, μ1, recover all vectors that share μ and σ > 0, however many there are."
        ),
        without={"x is not constant": "the bias alone recovers a constant vector, where the kernel reads 0/0 as 0"},
        mutants=(
            Mutant(
                "with the variance as gain",
                lambda x: equal(lg.layer_norm(x, variance(x) * ones(x), mean(x) * ones(x), eps=0), x),
            ),
        ),
    ),
)
