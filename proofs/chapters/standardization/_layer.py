"""The layer with gain and bias, from the input to the output and back to the standardized vector."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import dim, dot, equal, ones, root, square_norm

from ..._hypotheses import NONZERO_GAIN, POSITIVE_EPS
from ..._sources import BA, GUPTA, OWN
from ..._theorem import Mutant, Source, Theorem


def moved(x: Any) -> Any:
    """X − μ1, spelled out."""
    return x - dot(ones(x), x) / dim(x) * ones(x)


THEOREMS = (
    Theorem(
        id="standardization.affine",
        definition=True,
        title="Gain and bias act on the standardized vector",
        statement="LN_ε(x; g, b) = g ∘ y_ε + b",
        source=Source(GUPTA, "eq. 11", "z_i = α_i x_i + β_i, with x where y is meant"),
        vectors="x g b",
        scalars="eps",
        claim=lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), g * lg.standardize(x, eps=eps) + b),
        mutants=(
            Mutant(
                "gain and bias applied to x, as printed",
                lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), g * x + b),
            ),
            Mutant(
                "gain after bias",
                lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), g * (lg.standardize(x, eps=eps) + b)),
            ),
            Mutant(
                "the gain squared",
                lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps), g * g * lg.standardize(x, eps=eps) + b),
            ),
        ),
    ),
    Theorem(
        id="standardization.layer",
        definition=True,
        title="The whole layer: subtract the mean, divide by the root of variance and ε, stretch and move",
        statement="LN_ε(x; g, b) = g∘(x − μ1)/√(‖x − μ1‖²/d + ε) + b, with μ = (1·x)/d",
        source=Source(BA, "eqs. 3 and 4", "defines LayerNorm, without ε"),
        vectors="x g b",
        scalars="eps",
        claim=lambda x, g, b, eps: equal(
            lg.layer_norm(x, g, b, eps=eps), g * moved(x) / root(square_norm(moved(x)) / dim(x) + eps) + b
        ),
        mutants=(
            Mutant(
                "the mean is not subtracted",
                lambda x, g, b, eps: equal(
                    lg.layer_norm(x, g, b, eps=eps), g * x / root(square_norm(x) / dim(x) + eps) + b
                ),
            ),
            Mutant(
                "ε outside the root",
                lambda x, g, b, eps: equal(
                    lg.layer_norm(x, g, b, eps=eps), g * moved(x) / (root(square_norm(moved(x)) / dim(x)) + eps) + b
                ),
                POSITIVE_EPS,
            ),
            Mutant(
                "the sample variance, divisor d − 1",
                lambda x, g, b, eps: equal(
                    lg.layer_norm(x, g, b, eps=eps), g * moved(x) / root(square_norm(moved(x)) / (dim(x) - 1) + eps) + b
                ),
            ),
        ),
    ),
    Theorem(
        id="standardization.recovered",
        title="Where no gain is zero, gain and bias can be undone",
        statement="(LN_ε(x; g, b) − b)/g = y_ε",
        source=Source(OWN, "measurement", "what a layer puts out is its standardized vector, stretched and moved"),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN,
        claim=lambda x, g, b, eps: equal((lg.layer_norm(x, g, b, eps=eps) - b) / g, lg.standardize(x, eps=eps)),
        mutants=(
            Mutant(
                "the gain undone before the bias",
                lambda x, g, b, eps: equal(lg.layer_norm(x, g, b, eps=eps) / g - b, lg.standardize(x, eps=eps)),
            ),
            Mutant(
                "the centred input is recovered",
                lambda x, g, b, eps: equal((lg.layer_norm(x, g, b, eps=eps) - b) / g, lg.project(x)),
            ),
        ),
    ),
)
