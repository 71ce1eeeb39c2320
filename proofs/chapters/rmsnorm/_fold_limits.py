"""Where folding ends: gains behind the addition, shared embeddings, and readers that take the stream as it is."""

from __future__ import annotations

from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    cancel,
    combine,
    definite,
    dot,
    equal,
    greater,
    inverse,
    prove,
    square_norm,
    summed,
    unequal,
)

from ..._hypotheses import NONZERO_GAIN, POSITIVE_EPS, centered, mean, mean_square, variance
from ..._sources import ASHKBOOS, GRAEF, OWN, SHIRODKAR
from ..._steps import same_divisor
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw, draw_vector

POST = Source(OWN, "folding", "the stream after a Post-LN layer is its output")


def _constant_gain(goal: Formula, given: list[Proved], g: Any, b: Any, eps: Any) -> Proved:
    """The difference: 1·LN_ε(g; g, b) − 1·LN_ε(0; g, b) = ‖Πg‖²/√(σ² + ε)."""
    at_gain, at_zero, positive = given
    inverted = 1 / lg.scale(variance(g), eps=eps)
    product = combine(square_norm(lg.project(g)) * inverted, [(1, None, at_gain), (-1, None, at_zero)])
    vanishes = cancel(square_norm(lg.project(g)), product, prove(greater(inverted), positive))
    return prove(goal, definite(lg.project(g), vanishes))


def _recovered(goal: Formula, given: list[Proved], x: Any, g: Any, b: Any, eps: Any) -> Proved:
    """From α·(z − b) = 0 for α = 1/g; α·z = α·Πz + μ(z)S(α), so that μ(z) = (α·b − α·Πz)/S(α)."""
    gains, total = given
    z, a = lg.layer_norm(x, g, b, eps=eps), 1 / g
    y = lg.standardize(x, eps=eps)
    normal = combine(dot(a, z - b), [(1, y, inverse(gains))])
    whole = combine(summed(a) * mean(z) - dot(a, b) + dot(a, lg.project(z)), [(1, None, normal)])
    return combine(goal.term, [(-mean(z), None, inverse(total)), (1 / summed(a), None, whole)])


def _entered(goal: Formula, centred: Proved, h: Any, a: Any, g: Any, eps: Any) -> Proved:
    """Πφ + a = Π(φ + a) for a centred a, so that both norms divide by the same."""
    left, right = lg.project(h) + a, lg.project(h + a)
    sizes = prove(equal(mean_square(left), variance(h + a)), centred)
    divisors = same_divisor(mean_square(left) + eps, variance(h + a) + eps, sizes)
    parts = prove(equal(left, right), centred)
    over = g / lg.scale(variance(h + a), eps=eps)
    return combine(goal.term, [(g * left, None, divisors), (over, None, parts)])


def _alive(goal: Formula, given: list[Proved], w: Any, g: Any, eps: Any) -> Proved:
    """The product is w·RMS(g∘w; g) = ‖g∘w‖²/√(m + ε), and g∘w = 0 leaves w = 0."""
    equation, gains, positive = given
    divisor = lg.scale(mean_square(g * w), eps=eps)
    product = combine(square_norm(g * w) / divisor, [(1, None, equation)])
    gone = cancel(square_norm(g * w), product, prove(greater(1 / divisor), positive))
    return prove(goal, cancel(w, definite(g * w, gone), gains))


THEOREMS = (
    Theorem(
        id="rmsnorm.post_norm_gain",
        title="Only a constant gain and a bias of mean 0 keep the outputs of a LayerNorm centred",
        statement="1·LN_ε(g; g, b) = 0 and 1·LN_ε(0; g, b) = 0 imply Πg = 0, for ε > 0",
        source=POST,
        vectors="g b",
        scalars="eps",
        hypotheses={
            "1·LN_ε(g) = 0": lambda g, b, eps: equal(summed(lg.layer_norm(g, g, b, eps=eps)), 0),
            "1·LN_ε(0) = 0": lambda g, b, eps: equal(summed(lg.layer_norm(0 * g, g, b, eps=eps)), 0),
        }
        | POSITIVE_EPS,
        claim=lambda g: equal(lg.project(g), 0),
        proof=_constant_gain,
        model=lambda random, d: (
            draw(("b",), ("eps",), random, d) | {"g": draw_vector(random, d)[:1] * d, "b": (0,) * d, "eps": 1}
        ),
        without={
            "1·LN_ε(g) = 0": lambda random, d: {"g": draw_vector(random, d), "b": (0,) * d, "eps": 1},
            # For d = 2 the gain (2, 0) has σ² = 1, so that with ε = 3 its output has the sum 1.
            "1·LN_ε(0) = 0": lambda random, d: {"g": (2,) + (0,) * (d - 1), "b": (-1,) + (0,) * (d - 1), "eps": 3},
            "ε > 0": "at ε = 0 the first alone implies it where g varies, and the library takes no ε < 0",
        },
        mutants=(Mutant("b = 0 follows", lambda b: equal(b, 0)),),
    ),
    Theorem(
        id="rmsnorm.post_norm_recovered",
        title="A linear reader gets back what centring took from a Post-LN stream, unless Σ1/g_i = 0",
        statement="z = Πz + ((α·b − α·Πz)/Σα_i)1 for z = LN_ε(x; g, b), α = 1/g and Σα_i ≠ 0",
        source=POST,
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN | {"Σ1/g_i ≠ 0": lambda g: unequal(summed(1 / g))},
        claim=lambda x, g, b, eps: equal(
            lg.layer_norm(x, g, b, eps=eps),
            lg.project(lg.layer_norm(x, g, b, eps=eps))
            + (dot(1 / g, b) - dot(1 / g, lg.project(lg.layer_norm(x, g, b, eps=eps)))) / summed(1 / g),
        ),
        proof=_recovered,
        model=lambda random, d: (
            draw(("x", "b"), ("eps",), random, d) | {"g": tuple(v or 1 for v in draw_vector(random, d)), "eps": 1}
        ),
        without={
            "g_i ≠ 0": lambda random, d: {"x": ((1, -1, 0) * d)[:d], "g": ((0, 1, 2) * d)[:d], "b": (0,) * d, "eps": 1},
            "Σ1/g_i ≠ 0": lambda random, d: {"x": ((1, -1) * d)[:d], "g": ((1, -1) * d)[:d], "b": (0,) * d, "eps": 1},
        },
        mutants=(
            Mutant(
                "for RMSNorm",
                lambda x, g, eps: equal(
                    lg.rms_norm(x, g, eps=eps),
                    lg.project(lg.rms_norm(x, g, eps=eps))
                    - dot(1 / g, lg.project(lg.rms_norm(x, g, eps=eps))) / summed(1 / g),
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.fold_tied",
        title="Centring a tied embedding moves logits by its means times the sum of what the head reads",
        statement="Πe·z − Πf·z = (e·z − f·z) − (μ(e) − μ(f)) 1·z, for the rows e and f of two tokens",
        source=Source(ASHKBOOS, "section 3.2", "the embeddings are centred, the head is another matrix"),
        vectors="e f z",
        claim=lambda e, f, z: equal(
            dot(lg.project(e), z) - dot(lg.project(f), z), dot(e, z) - dot(f, z) - (mean(e) - mean(f)) * summed(z)
        ),
        mutants=(
            Mutant(
                "nothing changes: the head may stay tied",
                lambda e, f, z: equal(dot(lg.project(e), z) - dot(lg.project(f), z), dot(e, z) - dot(f, z)),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.fold_entry",
        title="One mean subtraction where the stream begins is enough if all later writers are centred",
        statement="RMS_ε(Πφ + a) = LN_ε(φ + a) for 1·a = 0, whatever φ: a nonlinear entry needs no other fold",
        source=Source(OWN, "folding", "an encoder whose stream begins with an activation function"),
        vectors="h a g b",
        scalars="eps",
        hypotheses={"1·a = 0": lambda a: equal(summed(a), 0)},
        claim=lambda h, a, g, b, eps: equal(
            lg.rms_norm(lg.project(h) + a, g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)
        ),
        proof=lambda goal, given, h, a, g, b, eps: _entered(goal, given[0], h, a, g, eps),
        model=lambda random, d: draw(("h", "a", "g", "b"), ("eps",), random, d) | {"a": centered(random, d), "eps": 1},
        mutants=(
            Mutant(
                "no mean subtraction at all: the entry as it is",
                lambda h, a, g, b, eps: equal(lg.rms_norm(h + a, g, b, eps=eps), lg.layer_norm(h + a, g, b, eps=eps)),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.deferred",
        title="A linear map may read before the division, with or without a bias",
        statement="w·RMS_ε(x) + c = (w·x)/√(‖x‖²/d + ε) + c, row by row",
        source=Source(GRAEF, "section 1", "the division moves behind the linear map, said to need one without bias"),
        vectors="x w",
        scalars="c eps",
        claim=lambda x, w, c, eps: equal(
            dot(w, lg.rms_norm(x, eps=eps)) + c, dot(w, x) / lg.scale(mean_square(x), eps=eps) + c
        ),
        mutants=(
            Mutant(
                "the bias divided as well",
                lambda x, w, c, eps: equal(
                    dot(w, lg.rms_norm(x, eps=eps)) + c, (dot(w, x) + c) / lg.scale(mean_square(x), eps=eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="rmsnorm.no_dead_direction",
        title="No direction is dead behind an RMSNorm without zero gains: its outputs lie in no hyperplane",
        statement="w·RMS_ε(g∘w; g) = 0, g_i ≠ 0 and ε > 0 imply w = 0",
        source=Source(SHIRODKAR, "abstract", "the dead direction of LayerNorm is absent in RMSNorm models"),
        vectors="w g",
        scalars="eps",
        hypotheses={"w·RMS_ε(g∘w; g) = 0": lambda w, g, eps: equal(dot(w, lg.rms_norm(g * w, g, eps=eps)), 0)}
        | NONZERO_GAIN
        | POSITIVE_EPS,
        claim=lambda w: equal(w, 0),
        proof=_alive,
        model=lambda random, d: (
            draw(("g",), ("eps",), random, d)
            | {"w": (0,) * d, "g": tuple(v or 1 for v in draw_vector(random, d)), "eps": 1}
        ),
        without={
            "g_i ≠ 0": lambda random, d: {"w": (1,) * d, "g": (0,) * d, "eps": 1},
            "w·RMS_ε(g∘w; g) = 0": lambda random, d: {"w": (1,) * d, "g": (1,) * d, "eps": 1},
            "ε > 0": "at ε = 0 it holds too, and the library takes no ε < 0",
        },
        mutants=(
            Mutant(
                "the same for LayerNorm",
                hypotheses={"w·LN_ε(g∘w; g) = 0": lambda w, g, eps: equal(dot(w, lg.layer_norm(g * w, g, eps=eps)), 0)}
                | NONZERO_GAIN
                | POSITIVE_EPS,
                model=lambda random, d: {"w": (1,) * d, "g": (1,) * d, "eps": 1},
            ),
        ),
    ),
)
