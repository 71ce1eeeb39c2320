"""Attention: how large normalized queries and keys let its logits become, and which keys a query can single out."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    add,
    at_least,
    constant,
    dim,
    dot,
    equal,
    greater,
    ones,
    prove,
    square,
    square_norm,
    total,
    transport,
)

from .._hypotheses import NONZERO_GAIN, POSITIVE_EPS, mean_square, standard
from .._sources import BRODY, HENRY
from .._steps import as_sum, product
from .._theorem import Model, Mutant, Source, Theorem
from ..checks import draw_scalar, draw_vector


def logit_model(random: Random, d: int) -> dict[str, Any]:
    """Two vectors, two gains, and a bound of the products of the gains."""
    x, z, g, h = (draw_vector(random, d) for _ in range(4))
    bound = max(abs(a * b) for a, b in zip(g, h, strict=True))
    return {"x": x, "z": z, "g": g, "h": h, "c": bound, "eps": abs(draw_scalar(random)) or 1}


def keys_model(random: Random, d: int) -> dict[str, Any]:
    """Two standardized vectors, so that nothing irrational remains, and a gain without zeros."""
    g = tuple(value or 1 for value in draw_vector(random, d))
    return {"x": standard(random, d), "z": standard(random, d), "g": g, "b": draw_vector(random, d), "q": g}


def _outside(c: int) -> Model:
    """A point on the line of two keys, but not between them: c = −1 or 2."""
    far, near = (-2, 1) if c < 0 else (1, -1)
    return lambda random, d: {"x": (far,) * d, "z": (near,) * d, "q": (1,) * d, "c": c, "m": d}


def _short(x: Any, positive: Proved, c: Proved) -> Proved:
    """c(d − ‖RMS_ε(x)‖²)/2 = cdε/(2(m + ε)) ≥ 0, m the mean square."""
    inside = prove(greater(1 / (mean_square(x) + positive.conclusion.term)), positive)
    return product(c, prove(greater(dim(x) / 2)), positive, inside)


def _logit(goal: Formula, given: list[Proved], x: Any, z: Any, g: Any, h: Any, c: Any, eps: Any) -> Proved:
    """Dc − q·k = ½c(d − ‖u‖²) + ½c(d − ‖v‖²) + ¼Σ(c − gh)(u + v)² + ¼Σ(c + gh)(u − v)², u, v without gain."""
    below, above, positive = given
    half = product(constant(Fraction(1, 2), ">"), add(below, above))
    bound = transport(c, prove(equal(c, half.conclusion.term)), half)
    u, v = lg.rms_norm(x, eps=eps), lg.rms_norm(z, eps=eps)
    defined = [prove(greater(mean_square(w) + eps), positive) for w in (x, z)]
    parts = [
        _short(x, positive, bound),
        _short(z, positive, bound),
        total(product(above, square((u + v) / 2))),
        total(product(below, square((u - v) / 2))),
    ]
    return as_sum(goal, parts, *defined)


def _selected(goal: Formula, given: list[Proved], g: Any) -> Proved:
    """q·(k − k′) = y·(y − y′) = ‖y − y′‖²/2 for q = y/g, k = g∘y + b and ‖y‖ = ‖y′‖."""
    apart = product(prove(greater(dim(g) / dim(g) / 2)), given[0])
    return as_sum(goal, [apart], *given[1:])


APART = {"the outputs differ": lambda x, z: greater(square_norm(lg.standardize(x, eps=0) - lg.standardize(z, eps=0)))}
VARY = {"x varies": lambda x: greater(lg.moments(x)[1]), "x′ varies": lambda z: greater(lg.moments(z)[1])}
GAINS = {"−c ≤ g_i h_i": lambda g, h, c: at_least(c + g * h), "g_i h_i ≤ c": lambda g, h, c: at_least(c - g * h)}

THEOREMS = (
    Theorem(
        id="attention.logit_bound",
        title="Normalized queries and keys bound the logit by the dimension and the largest product of gains",
        statement="q·k ≤ d·max|g_i h_i| for q = RMS_ε(x; g) and k = RMS_ε(x′; h)",
        source=Source(HENRY, "section 2", "queries and keys are normalized so that their product cannot saturate"),
        vectors="x z g h",
        scalars="c eps",
        hypotheses=GAINS | POSITIVE_EPS,
        claim=lambda x, z, g, h, c, eps: at_least(
            dim(x) * c, dot(lg.rms_norm(x, g, eps=eps), lg.rms_norm(z, h, eps=eps))
        ),
        proof=_logit,
        model=logit_model,
        without={
            "ε > 0": "at ε = 0 it holds too for x ≠ 0 and x′ ≠ 0, and the library takes no ε < 0",
            "−c ≤ g_i h_i": lambda random, d: {
                "x": (1,) * d,
                "z": (1,) * d,
                "g": (-1,) * d,
                "h": (1,) * d,
                "c": 0,
                "eps": 1,
            },
        },
        mutants=(
            Mutant(
                "max|g_i h_i|, without the dimension",
                lambda x, z, g, h, c, eps: at_least(c, dot(lg.rms_norm(x, g, eps=eps), lg.rms_norm(z, h, eps=eps))),
            ),
            Mutant(
                "without a norm of the keys",
                lambda x, z, g, h, c, eps: at_least(dim(x) * c, dot(lg.rms_norm(x, g, eps=eps), z * h)),
            ),
        ),
    ),
    Theorem(
        id="attention.selectable",
        title="Behind a LayerNorm without ε every key can be singled out by some query",
        statement="q·k > q·k′ for k = LN₀(x), k′ = LN₀(x′), q = LN₀(x)/g², b aside: wherever k ≠ k′ and g_i ≠ 0",
        source=Source(BRODY, "section 3.2", "scaling keeps keys from being unselectable"),
        vectors="x z g b",
        hypotheses=APART | VARY | NONZERO_GAIN,
        claim=lambda x, z, g, b: greater(
            dot(lg.standardize(x, eps=0) / g, lg.layer_norm(x, g, b, eps=0)),
            dot(lg.standardize(x, eps=0) / g, lg.layer_norm(z, g, b, eps=0)),
        ),
        proof=_selected,
        model=keys_model,
        without={
            "x varies": "where x is constant the kernel, which reads 1/0 as 0, has q = 0",
            "x′ varies": "where x′ is constant the kernel, which reads 1/0 as 0, has k′ = b",
            "the outputs differ": lambda random, d: (m := keys_model(random, d)) | {"z": m["x"]},
            "g_i ≠ 0": lambda random, d: keys_model(random, d) | {"g": (0,) * d},
        },
        mutants=(
            Mutant(
                "the same at ε = 1",
                lambda x, z, g, b: greater(
                    dot(lg.standardize(x, eps=1) / g, lg.layer_norm(x, g, b, eps=1)),
                    dot(lg.standardize(x, eps=1) / g, lg.layer_norm(z, g, b, eps=1)),
                ),
                model=lambda random, d: (m := keys_model(random, d)) | {"z": tuple(7 * v for v in m["x"])},
            ),
        ),
    ),
    Theorem(
        id="attention.selectable_rms",
        title="Behind an RMSNorm without ε too, with no zero among the gains",
        statement="q·k > q·k′ for k = RMS₀(x), k′ = RMS₀(x′), q = RMS₀(x)/g²: wherever k ≠ k′ and g_i ≠ 0",
        source=Source(BRODY, "section 3.2", "scaling keeps keys from being unselectable"),
        vectors="x z g",
        hypotheses={
            "the outputs differ": lambda x, z: greater(square_norm(lg.rms_norm(x, eps=0) - lg.rms_norm(z, eps=0))),
            "x ≠ 0": lambda x: greater(square_norm(x)),
            "x′ ≠ 0": lambda z: greater(square_norm(z)),
        }
        | NONZERO_GAIN,
        claim=lambda x, z, g: greater(
            dot(lg.rms_norm(x, eps=0) / g, lg.rms_norm(x, g, eps=0)),
            dot(lg.rms_norm(x, eps=0) / g, lg.rms_norm(z, g, eps=0)),
        ),
        proof=_selected,
        model=keys_model,
        without={
            "x ≠ 0": "for x = 0 the kernel, which reads 1/0 as 0, has q = 0",
            "x′ ≠ 0": "for x′ = 0 the kernel, which reads 1/0 as 0, has k′ = 0",
            "the outputs differ": lambda random, d: (m := keys_model(random, d)) | {"z": m["x"]},
            "g_i ≠ 0": lambda random, d: keys_model(random, d) | {"g": (0,) * d},
        },
        mutants=(
            Mutant(
                "one gain may be 0, as LayerNorm allows",
                hypotheses={
                    "the outputs differ": lambda x, z: greater(
                        square_norm(lg.rms_norm(x, eps=0) - lg.rms_norm(z, eps=0))
                    ),
                    "x ≠ 0": lambda x: greater(square_norm(x)),
                    "x′ ≠ 0": lambda z: greater(square_norm(z)),
                },
                model=lambda random, d: (
                    keys_model(random, d) | {"x": (1,) * d, "z": (-1,) + (1,) * (d - 1), "g": (0,) + (1,) * (d - 1)}
                ),
            ),
        ),
    ),
    Theorem(
        id="attention.unselectable",
        title="With ε there are keys that no query singles out: that of a constant vector lies between two others",
        statement="q·LN_ε(c1) ≤ m wherever q·LN_ε(x) ≤ m and q·LN_ε(−x) ≤ m",
        source=Source(BRODY, "section 3.2", "scaling to one norm, which ε prevents"),
        vectors="x q g b",
        scalars="c m eps",
        hypotheses={
            "q·LN_ε(x) ≤ m": lambda x, q, g, b, m, eps: at_least(m, dot(q, lg.layer_norm(x, g, b, eps=eps))),
            "q·LN_ε(−x) ≤ m": lambda x, q, g, b, m, eps: at_least(m, dot(q, lg.layer_norm(-x, g, b, eps=eps))),
        },
        claim=lambda x, q, g, b, c, m, eps: at_least(m, dot(q, lg.layer_norm(c * ones(x), g, b, eps=eps))),
        proof=lambda goal, given: as_sum(goal, [product(constant(Fraction(1, 2), ">"), one) for one in given]),
        mutants=(
            Mutant(
                "at most half of it",
                lambda x, q, g, b, c, m, eps: at_least(m, 2 * dot(q, lg.layer_norm(c * ones(x), g, b, eps=eps))),
            ),
        ),
    ),
    Theorem(
        id="attention.hull",
        title="A key between two others is never preferred to both",
        statement="q·(ck + (1 − c)k′) ≤ m for 0 ≤ c ≤ 1 wherever q·k ≤ m and q·k′ ≤ m",
        source=Source(BRODY, "section 3.2", "a key in the convex hull of the others is unselectable"),
        vectors="x z q",
        scalars="c m",
        hypotheses={
            "q·k ≤ m": lambda x, q, m: at_least(m, dot(q, x)),
            "q·k′ ≤ m": lambda z, q, m: at_least(m, dot(q, z)),
            "c ≥ 0": lambda c: at_least(c),
            "c ≤ 1": lambda c: at_least(1, c),
        },
        claim=lambda x, z, q, c, m: at_least(m, dot(q, c * x + (1 - c) * z)),
        proof=lambda goal, given: as_sum(goal, [product(given[2], given[0]), product(given[3], given[1])]),
        without={"c ≥ 0": _outside(-1), "c ≤ 1": _outside(2)},
        mutants=(Mutant("at most half of that", lambda x, z, q, c, m: at_least(m, 2 * dot(q, c * x + (1 - c) * z))),),
    ),
)
