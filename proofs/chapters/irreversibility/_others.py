"""What batch normalization and RMSNorm forget."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import equal, greater, ones, root

from ..._hypotheses import POSITIVE_EPS, POSITIVE_FACTOR
from ..._sources import GUPTA, IOFFE, SUMMARY
from ..._theorem import Mutant, Source, Theorem
from ...checks import Values, draw_scalar, draw_vector


def statistics(random: Random, d: int) -> Values:
    """A vector with fixed statistics of a batch, all variances positive."""
    v = tuple(Fraction(random.choice((1, 2, 4, 9)), random.choice((1, 4))) for _ in range(d))
    return {"x": draw_vector(random, d), "m": draw_vector(random, d), "v": v, "eps": abs(draw_scalar(random))}


def column_norm(x: Any, *, eps: Any) -> Any:
    """BatchNorm of a batch whose d vectors have one component each: x is the only column."""
    if not hasattr(x, "shape"):  # to the library a symbol is a column
        return lg.batch_norm(x, eps=eps)
    return lg.batch_norm(x[..., None], eps=eps)[..., 0]


THEOREMS = (
    Theorem(
        id="irreversibility.batch_norm_recovery",
        title="Batch normalization with fixed statistics is undone by its own parameters",
        statement="BN(x) with gain √(v + ε) and bias m is x",
        source=Source(GUPTA, "section 2.3", "α_i = √Var and β_i = E recover the input, which makes it reversible"),
        vectors="x m v",
        scalars="eps",
        hypotheses={"v + ε > 0": lambda v, eps: greater(v + eps)},
        claim=lambda x, m, v, eps: equal(lg.batch_norm(x, root(v + eps), m, eps=eps, mean=m, variance=v), x),
        model=statistics,
        mutants=(
            Mutant(
                "gain √v, which forgets ε",
                lambda x, m, v, eps: equal(lg.batch_norm(x, root(v), m, eps=eps, mean=m, variance=v), x),
            ),
            Mutant(
                "no bias",
                lambda x, m, v, eps: equal(lg.batch_norm(x, root(v + eps), None, eps=eps, mean=m, variance=v), x),
            ),
        ),
    ),
    Theorem(
        id="irreversibility.batch_norm_column",
        title="Batch normalization with batch statistics standardizes each column of the batch",
        statement="BN_ε(column) = LN_ε(column), without gain and bias",
        source=Source(IOFFE, "algorithm 1", "mean and variance are taken over the batch"),
        scalars="eps",
        claim=lambda x, eps: equal(column_norm(x, eps=eps), lg.standardize(x, eps=eps)),
        remark="x holds one component of all vectors of the batch; everything said of LayerNorm holds of it.",
        mutants=(
            Mutant(
                "fixed statistics do the same",
                lambda x, eps: equal(
                    lg.batch_norm(x, eps=eps, mean=0 * ones(x), variance=ones(x)), lg.standardize(x, eps=eps)
                ),
                POSITIVE_EPS,
            ),
        ),
    ),
    Theorem(
        id="irreversibility.batch_norm_invariance",
        title="Batch normalization with batch statistics forgets shift and scale of each column",
        statement="BN(a·column + c) = BN(column) for a > 0 at ε = 0",
        source=Source(GUPTA, "section 2.3", "batch normalization is reversible"),
        scalars="a c",
        hypotheses=POSITIVE_FACTOR,
        claim=lambda x, a, c: equal(column_norm(a * x + c * ones(x), eps=0), column_norm(x, eps=0)),
        mutants=(
            Mutant("a < 0", hypotheses={"a < 0": lambda a: greater(-a)}),
            Mutant(
                "also with fixed statistics",
                lambda x, a, c: equal(
                    lg.batch_norm(a * x + c * ones(x), eps=0, mean=0 * ones(x), variance=ones(x)),
                    lg.batch_norm(x, eps=0, mean=0 * ones(x), variance=ones(x)),
                ),
            ),
        ),
    ),
    Theorem(
        id="irreversibility.rms_norm",
        title="RMSNorm forgets the length at ε = 0",
        statement="RMS(ax) = RMS(x) for a > 0 at ε = 0",
        source=Source(SUMMARY, "contrast", "RMSNorm is reversible"),
        scalars="a eps",
        hypotheses=POSITIVE_FACTOR,
        claim=lambda x, a: equal(lg.rms_norm(a * x, eps=0), lg.rms_norm(x, eps=0)),
        mutants=(
            Mutant("a < 0", hypotheses={"a < 0": lambda a: greater(-a)}),
            Mutant(
                "at ε > 0",
                lambda x, a, eps: equal(lg.rms_norm(a * x, eps=eps), lg.rms_norm(x, eps=eps)),
                {**POSITIVE_FACTOR, **POSITIVE_EPS},
            ),
        ),
    ),
)
