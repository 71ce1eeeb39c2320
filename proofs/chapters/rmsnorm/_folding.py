"""Folding: what LayerNorm ignores, and how a network with RMSNorm computes the same."""

from __future__ import annotations

import lngeom as lg
from lngeom.symbolic import dot, equal, ones

from ..._sources import GUPTA, JIANG, OWN
from ..._theorem import Mutant, Source, Theorem
from ._balanced import balanced_model

FOLD = Source(JIANG, "section 3", "Pre-LN networks with centred writers compute the same with RMSNorm")

THEOREMS = (
    Theorem(
        id="rmsnorm.fold_read",
        title="A LayerNorm reads from the centred stream what it reads from the stream, and so does RMSNorm",
        statement="RMS_ε(Πh + Πa) = LN_ε(h + a)",
        source=FOLD,
        vectors="h a g b",
        scalars="eps",
        claim=lambda h, a, g, b, eps: equal(
            lg.rms_norm(lg.project(h) + lg.project(a), g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
        ),
        last_step=(
            "For any number of branches that are any functions of what a LayerNorm returns at all positions: "
            "if each branch writes its centred output instead, to a stream that was centred at first, the "
            "stream is the centred stream throughout, and every RMSNorm returns what the LayerNorm returned."
        ),
        mutants=(
            Mutant(
                "condition dropped: one writer is not centred",
                lambda h, a, g, b, eps: equal(
                    lg.rms_norm(lg.project(h) + a, g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
                ),
            ),
            Mutant(
                "condition dropped: the embedding is not centred",
                lambda h, a, g, b, eps: equal(
                    lg.rms_norm(h + lg.project(a), g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
                ),
            ),
            Mutant(
                "condition dropped: a reader takes the stream without a norm",
                lambda h, a: equal(lg.project(h) + lg.project(a), h + a),
            ),
            Mutant(
                "condition dropped: RMSNorm with the ε that doubles the old one",
                lambda h, a, g, b, eps: equal(
                    lg.rms_norm(lg.project(h) + lg.project(a), g, b, eps=2 * eps), lg.layer_norm(h + a, g, b, eps=eps)
                ),
            ),
            Mutant(
                "condition dropped: dropout, here a mask g, between the writer and the stream",
                lambda h, a, g, eps: equal(
                    lg.rms_norm(lg.project(h) + g * lg.project(a), eps=eps), lg.layer_norm(h + g * a, eps=eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.fold_write",
        title="Centring every writer centres the stream",
        statement="Π(h + W u + c) = Πh + (ΠW)u + Πc, shown for a writer of two columns w, v",
        source=FOLD,
        vectors="h w v b",
        scalars="s t",
        claim=lambda h, w, v, b, s, t: equal(
            lg.project(h + s * w + t * v + b), lg.project(h) + s * lg.project(w) + t * lg.project(v) + lg.project(b)
        ),
        last_step="The same for a writer of any number of columns.",
        mutants=(
            Mutant(
                "the weight centred but not the bias",
                lambda h, w, v, b, s, t: equal(
                    lg.project(h + s * w + t * v + b), lg.project(h) + s * lg.project(w) + t * lg.project(v) + b
                ),
            ),
            Mutant(
                "centring along the inputs, here of the coefficients s and t",
                lambda h, w, v, b, s, t: equal(
                    lg.project(h + s * w + t * v + b), lg.project(h) + (s - t) * w + (t - s) * v + lg.project(b)
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.gauge",
        title="What is written along 1 is never read: angles to 1 in a LayerNorm model are a convention",
        statement="LN_ε(h + a + c1) = LN_ε(h + a)",
        source=Source(GUPTA, "section 3.2", "reads the angle to 1 in LayerNorm models as evidence"),
        vectors="h a g b",
        scalars="c eps",
        claim=lambda h, a, g, b, c, eps: equal(
            lg.layer_norm(h + a + c * ones(h), g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
        ),
        mutants=(
            Mutant(
                "the same for RMSNorm models",
                lambda h, a, g, b, c, eps: equal(
                    lg.rms_norm(h + a + c * ones(h), g, b, eps=eps), lg.rms_norm(h + a, g, b, eps=eps)
                ),
            ),
            Mutant(
                "the same for a shift along the gain",
                lambda h, a, g, b, c, eps: equal(
                    lg.layer_norm(h + a + c * g, g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.fold_gain",
        title="Gain and bias of a norm move into the linear map that reads it",
        statement="w·(g∘y + b) + c = (w∘g)·y + (w·b + c), row by row",
        source=Source(OWN, "folding", "a reader with weights w and offset c"),
        vectors="x w g b",
        scalars="c eps",
        claim=lambda x, w, g, b, c, eps: equal(
            dot(w, lg.layer_norm(x, g, b, eps=eps)) + c, dot(w * g, lg.standardize(x, eps=eps)) + (dot(w, b) + c)
        ),
        mutants=(
            Mutant(
                "the bias of the norm dropped",
                lambda x, w, g, b, c, eps: equal(
                    dot(w, lg.layer_norm(x, g, b, eps=eps)) + c, dot(w * g, lg.standardize(x, eps=eps)) + c
                ),
            ),
            Mutant(
                "tied weights: the map is shared and keeps its old values",
                lambda x, w, g, b, c, eps: equal(
                    dot(w, lg.layer_norm(x, g, b, eps=eps)) + c, dot(w, lg.standardize(x, eps=eps)) + (dot(w, b) + c)
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.post_norm",
        title="With constant gains and a bias of mean zero a Post-LN stream stays centred by itself",
        statement="ΠLN_ε(x) = LN_ε(x) for g = c1 and 1·b = 0",
        source=Source(OWN, "folding", "the stream after a Post-LN layer is its output"),
        vectors="x b",
        scalars="c eps",
        hypotheses={"1·b = 0": lambda b: equal(dot(ones(b), b), 0)},
        claim=lambda x, b, c, eps: equal(
            lg.project(lg.layer_norm(x, c * ones(x), b, eps=eps)), lg.layer_norm(x, c * ones(x), b, eps=eps)
        ),
        model=balanced_model,
        mutants=(
            Mutant(
                "the same for every gain, here b itself",
                lambda x, b, eps: equal(lg.project(lg.layer_norm(x, b, b, eps=eps)), lg.layer_norm(x, b, b, eps=eps)),
            ),
        ),
    ),
)
