"""What training does to the part of weights and stream along 1, and what the share of 1 would be without it."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    dim,
    dot,
    equal,
    multiply,
    ones,
    prove,
    square,
    square_norm,
    summed,
    trace,
    transport,
)

from ..._hypotheses import centered
from ..._sources import GUPTA, OWN
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw, draw_vector


def sgd_step(w: Any, m: Any, p: Any, eta: Any, beta: Any, lam: Any) -> Any:
    """A step of SGD with momentum: w − η(βm + p + λw), p the gradient and m the momentum before it."""
    return w - eta * (beta * m + p + lam * w)


def centred_model(random: Random, d: int) -> dict[str, Any]:
    """Momentum, gradient and update orthogonal to 1, the update also to the stream."""
    h, a = draw_vector(random, d), centered(random, d)
    return {"m": centered(random, d), "p": centered(random, d), "a": a, "h": (sum(h) / d,) * d}


def _diluted(goal: Formula, given: list[Proved], h: Any, a: Any) -> Proved:
    """(1·h)²‖h + a‖² − (1·(h + a))²‖h‖² = (1·h)²(‖h + a‖² − ‖h‖²)."""
    orthogonal, longer = given
    product = multiply(square(summed(h)), longer)
    return transport(goal.term, prove(equal(goal.term, product.conclusion.term), orthogonal), product)


ORTHOGONAL = {"1·a = 0": lambda a: equal(summed(a), 0)}

THEOREMS = (
    Theorem(
        id="training.sgd_keeps_mean",
        title="A step of SGD leaves the part of a writer along 1 as it is; weight decay only shrinks it",
        statement="1·w′ = (1 − ηλ) 1·w for w′ = w − η(βm + p + λw), 1·p = 0 and 1·m = 0",
        source=Source(OWN, "training", "behind LayerNorm every gradient p of a writer has 1·p = 0"),
        vectors="w m p g",
        scalars="eta beta lam",
        hypotheses={"1·p = 0": lambda p: equal(summed(p), 0), "1·m = 0": lambda m: equal(summed(m), 0)},
        claim=lambda w, m, p, eta, beta, lam: equal(
            summed(sgd_step(w, m, p, eta, beta, lam)), (1 - eta * lam) * summed(w)
        ),
        model=lambda random, d: (
            draw(("w", "g"), ("eta", "beta", "lam"), random, d) | {"m": centered(random, d), "p": centered(random, d)}
        ),
        mutants=(
            Mutant(
                "Adam, which divides each coordinate by a size of its own, here g",
                lambda w, m, p, g, eta, beta: equal(summed(sgd_step(w, m, p / g, eta, beta, 0)), summed(w)),
            ),
        ),
    ),
    Theorem(
        id="training.dilution",
        title="An update orthogonal to 1 that lengthens the stream dilutes its share along 1",
        statement="(1·(h + a))²‖h‖² ≤ (1·h)²‖h + a‖² for 1·a = 0 and ‖h + a‖² ≥ ‖h‖²",
        source=Source(OWN, "training", "a frozen component in a stream that grows"),
        vectors="h a",
        hypotheses=ORTHOGONAL | {"‖h + a‖² ≥ ‖h‖²": lambda h, a: at_least(square_norm(h + a), square_norm(h))},
        claim=lambda h, a: at_least(summed(h) ** 2 * square_norm(h + a), summed(h + a) ** 2 * square_norm(h)),
        proof=_diluted,
        model=centred_model,
        without={
            "1·a = 0": lambda random, d: {"h": ((1,) + (0,) * d)[:d], "a": (5,) * d},
            "‖h + a‖² ≥ ‖h‖²": lambda random, d: {"h": ((3, 1) + (0,) * d)[:d], "a": ((-1, 1) + (0,) * d)[:d]},
        },
        mutants=(
            Mutant(
                "the component itself shrinks",
                lambda h, a: at_least(summed(h) ** 2, summed(h + a) ** 2 + square_norm(a)),
            ),
        ),
    ),
    Theorem(
        id="training.share",
        title="The share of a direction is its variance over the average one: a null law needs no isotropy",
        statement="d·E[μ²] = 1ᵀΣ1/d, here for Σ = diag(g²) + aaᵀ; for a diagonal Σ it is tr Σ/d, share 1",
        source=Source(GUPTA, "section 3", "compares the angle with 1 with that of random vectors"),
        vectors="g a",
        claim=lambda g, a: equal(
            trace(lambda v: lg.mean_vector(g * g * v + a * dot(a, v)), g),
            dot(ones(g), g * g * ones(g) + a * dot(a, ones(g))) / dim(g),
        ),
        last_step="E[x·Mx] = tr(MΣ) for x of covariance Σ and mean 0, with M = 11ᵀ/d.",
        cites=("expectation of a quadratic form",),
        mutants=(
            Mutant(
                "tr Σ/d, as for isotropic or independent components",
                lambda g, a: equal(
                    trace(lambda v: lg.mean_vector(g * g * v + a * dot(a, v)), g),
                    (square_norm(g) + square_norm(a)) / dim(g),
                ),
            ),
        ),
    ),
)
