"""Which linear maps A may change places with a norm: for vectors x and their images p = Ax."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    cancel,
    combine,
    definite,
    dim,
    dot,
    equal,
    greater,
    ones,
    prove,
    square_norm,
    summed,
)

from ..._hypotheses import POSITIVE_EPS, centered, mean_square, variance
from ..._sources import ASHKBOOS, OWN, QUAROT
from ..._steps import same_divisor, same_radicand
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector


def _permuted(random: Random, *vectors: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """The vectors under one permutation of the coordinates with signs."""
    places = random.sample(range(len(vectors[0])), len(vectors[0]))
    signs = [random.choice((1, -1)) for _ in places]
    return tuple(tuple(s * v[k] for s, k in zip(signs, places, strict=True)) for v in vectors)


def _eps(random: Random, x: tuple[Fraction, ...]) -> Fraction:
    """A positive ε for which √(‖x‖²/d + ε) is rational, so that equations with it can be decided."""
    mean = sum((value * value for value in x), Fraction(0)) / len(x)
    return Fraction(isqrt(int(mean)) + random.randint(1, 3)) ** 2 - mean


def image_model(random: Random, d: int) -> dict[str, Any]:
    """Two vectors and their images under an orthogonal map."""
    x, y = draw_vector(random, d), draw_vector(random, d)
    p, q = _permuted(random, x, y)
    return {"x": x, "y": y, "p": p, "q": q, "eps": _eps(random, x)}


def centred_image_model(random: Random, d: int) -> dict[str, Any]:
    """A vector, the image of its centred part under a permutation or −1, and the image of the rest."""
    x = centered(random, d)
    q = tuple(random.sample(x, d)) if random.random() < 0.5 else tuple(-value for value in x)
    shift, eps = draw_scalar(random), _eps(random, x)
    x = tuple(value + shift for value in x)
    return {"x": x, "q": q, "c": draw_scalar(random), "eps": eps}


HALF = Fraction(1, 2)
ISOMETRY = {"‖p‖² = ‖x‖²": lambda p, x: equal(square_norm(p), square_norm(x))}
SPREAD = {"‖q‖² = ‖Πx‖²": lambda q, x: equal(square_norm(q), square_norm(lg.project(x)))}
CENTRED = {"1·q = 0": lambda q: equal(summed(q), 0)}
NOT_NEGATIVE = {"ε ≥ 0": lambda eps: at_least(eps)}
REFUSED = "the library takes no ε < 0, where the kernel reads a root of a negative number as 0"
NONZERO_IMAGE = {"p ≠ 0": lambda p: greater(square_norm(p))}
LAYER = {
    "LN_ε(q + c1) = q/√(σ² + ε)": lambda q, x, c, eps: equal(
        lg.layer_norm(q + c * ones(q), eps=eps), q / lg.scale(variance(x), eps=eps)
    )
}
QUAROT_SAYS = Source(QUAROT, "section 3", "RMSNorm commutes with an orthogonal matrix once its gain is folded")
SLICE_SAYS = Source(ASHKBOOS, "section 3.2", "LayerNorm is turned into RMSNorm before the stream is rotated")


def _divisors_of(goal: Formula, same: Proved, vector: Any, a: Any, b: Any, eps: Any) -> Proved:
    """Goal: vector·(1/√(a + ε) − 1/√(b + ε)), because a = b."""
    divisors = same_divisor(a + eps, b + eps, prove(equal(a, b), same))
    return combine(goal.term, [(vector, None, divisors)])


def _same_size(
    goal: Formula, equation: Proved, nonzero: Proved, positive: Proved, p: Any, a: Any, b: Any, eps: Any
) -> Proved:
    """From p/√(a + ε) = p/√(b + ε) and p ≠ 0: a = b, and the goal d(a − b)."""
    difference = 1 / lg.scale(a, eps=eps) - 1 / lg.scale(b, eps=eps)
    product = combine(square_norm(p) * difference, [(1, p, equation)])
    above = [prove(at_least(m + eps), positive) for m in (a, b)]
    same = same_radicand(above[0], above[1], cancel(difference, product, nonzero))
    return combine(goal.term, [(dim(p), None, same)])


def _layer_size(goal: Formula, given: list[Proved], x: Any, q: Any, c: Any, eps: Any) -> Proved:
    equation, centred, nonzero, positive = given
    # Of a centred q the variance of q + c1 is ‖q‖²/d and its projection q.
    moved = lg.scale(variance(q), eps=eps)
    plain = combine(
        q / moved - q / lg.scale(variance(x), eps=eps), [(1, None, equation), (1 / dim(q) / moved, None, centred)]
    )
    sizes = prove(equal(variance(q), mean_square(q)), centred)
    swapped = same_divisor(
        mean_square(q) + eps, variance(q) + eps, combine(mean_square(q) - variance(q), [(-1, None, sizes)])
    )
    equation = combine(
        q / lg.scale(mean_square(q), eps=eps) - q / lg.scale(variance(x), eps=eps),
        [(1, None, plain), (q, None, swapped)],
    )
    return _same_size(goal, equation, nonzero, positive, q, mean_square(q), variance(x), eps)


def _mean_kept(goal: Formula, given: list[Proved], x: Any, q: Any, c: Any, eps: Any) -> Proved:
    """The sum of LN_ε(q + c1) is 0, that of q/√(σ² + ε) is (1·q)/√(σ² + ε)."""
    equation, positive = given
    divisor = lg.scale(variance(x), eps=eps)
    product = combine(summed(q) / divisor, [(-1, ones(q), equation)])
    return prove(goal, cancel(summed(q), product, prove(greater(1 / divisor), positive)))


THEOREMS = (
    Theorem(
        id="rotations.rms_commutes",
        title="RMSNorm without gain commutes with every orthogonal map",
        statement="RMS_ε(p) = p/√(‖x‖²/d + ε) for ‖p‖² = ‖x‖²: with p = Ax this is RMS_ε(Ax) = A RMS_ε(x)",
        source=QUAROT_SAYS,
        vectors="p x",
        scalars="eps",
        hypotheses=ISOMETRY,
        claim=lambda p, x, eps: equal(lg.rms_norm(p, eps=eps), p / lg.scale(mean_square(x), eps=eps)),
        proof=lambda goal, given, p, x, eps: _divisors_of(goal, given[0], p, mean_square(p), mean_square(x), eps),
        model=image_model,
        mutants=(
            Mutant(
                "the same with a gain, here x itself, left in place",
                lambda p, x, eps: equal(lg.rms_norm(p, x, eps=eps), p * x / lg.scale(mean_square(x), eps=eps) + p),
            ),
            Mutant(
                "the same for LayerNorm",
                lambda p, x, eps: equal(lg.layer_norm(p, eps=eps), p / lg.scale(mean_square(x), eps=eps)),
            ),
        ),
    ),
    Theorem(
        id="rotations.rms_only_isometries",
        title="A linear map that commutes with RMSNorm keeps the length of all it does not send to 0",
        statement="RMS_ε(p) = p/√(‖x‖²/d + ε), p ≠ 0 and ε ≥ 0 imply ‖p‖² = ‖x‖²",
        source=QUAROT_SAYS,
        vectors="p x",
        scalars="eps",
        hypotheses={
            "RMS_ε(p) = p/√(‖x‖²/d + ε)": lambda p, x, eps: equal(
                lg.rms_norm(p, eps=eps), p / lg.scale(mean_square(x), eps=eps)
            )
        }
        | NONZERO_IMAGE
        | NOT_NEGATIVE,
        claim=lambda p, x: equal(square_norm(p), square_norm(x)),
        proof=lambda goal, given, p, x, eps: _same_size(
            goal, given[0], given[1], given[2], p, mean_square(p), mean_square(x), eps
        ),
        model=image_model,
        without={"p ≠ 0": lambda random, d: image_model(random, d) | {"p": (0,) * d}, "ε ≥ 0": REFUSED},
        mutants=(Mutant("p = x", lambda p, x: equal(p, x)),),
    ),
    Theorem(
        id="rotations.no_kernel",
        title="Such a map is 0 or sends nothing else to 0",
        statement="‖p‖² = ‖y‖², ‖p‖² = ‖y + x‖² and ‖p‖² = ‖y − x‖² imply x = 0: p = Ay, Ax = 0",
        source=Source(OWN, "rotations", "A(y ± x) = Ay where Ax = 0"),
        vectors="p x y",
        hypotheses={
            "‖p‖² = ‖y‖²": lambda p, y: equal(square_norm(p), square_norm(y)),
            "‖p‖² = ‖y + x‖²": lambda p, x, y: equal(square_norm(p), square_norm(y + x)),
            "‖p‖² = ‖y − x‖²": lambda p, x, y: equal(square_norm(p), square_norm(y - x)),
        },
        claim=lambda x: equal(x, 0),
        proof=lambda given, x: definite(
            x, combine(square_norm(x), [(c, None, e) for c, e in zip((1, -HALF, -HALF), given, strict=True)])
        ),
        model=lambda random, d: {"p": (v := draw_vector(random, d)), "x": (0,) * d, "y": random.choice((v, v[::-1]))},
        without={
            "‖p‖² = ‖y‖²": lambda random, d: {
                "p": (5, 0)[:d] + (0,) * (d - 2),
                "x": (3,) + (0,) * (d - 1),
                "y": ((0, 4) + (0,) * d)[:d],
            },
            "‖p‖² = ‖y + x‖²": lambda random, d: {
                "p": (v := draw_vector(random, d)),
                "y": v,
                "x": tuple(2 * a for a in v),
            },
            "‖p‖² = ‖y − x‖²": lambda random, d: {
                "p": (v := draw_vector(random, d)),
                "y": v,
                "x": tuple(-2 * a for a in v),
            },
        },
        mutants=(Mutant("y = 0", lambda y: equal(y, 0)),),
    ),
    Theorem(
        id="rotations.orthogonal",
        title="A linear map that keeps all lengths keeps all inner products",
        statement="‖p‖² = ‖x‖², ‖q‖² = ‖y‖² and ‖p + q‖² = ‖x + y‖² imply p·q = x·y",
        source=Source(OWN, "rotations", "AᵀA = I, from lengths alone"),
        vectors="p q x y",
        hypotheses=ISOMETRY
        | {
            "‖q‖² = ‖y‖²": lambda q, y: equal(square_norm(q), square_norm(y)),
            "‖p + q‖² = ‖x + y‖²": lambda p, q, x, y: equal(square_norm(p + q), square_norm(x + y)),
        },
        claim=lambda p, q, x, y: equal(dot(p, q), dot(x, y)),
        proof=lambda goal, given: combine(
            goal.term, [(c, None, e) for c, e in zip((-HALF, -HALF, HALF), given, strict=True)]
        ),
        model=image_model,
        mutants=(Mutant("componentwise products", lambda p, q, x, y: equal(p * q, x * y)),),
    ),
    Theorem(
        id="rotations.layer_commutes",
        title="LayerNorm commutes with the orthogonal maps that keep 1 and its hyperplane apart",
        statement="LN_ε(q + c1) = q/√(σ² + ε) for 1·q = 0 and ‖q‖² = ‖Πx‖²: Ax = q + c1 with q = AΠx",
        source=SLICE_SAYS,
        vectors="q x",
        scalars="c eps",
        hypotheses=CENTRED | SPREAD,
        claim=lambda q, x, c, eps: equal(lg.layer_norm(q + c * ones(q), eps=eps), q / lg.scale(variance(x), eps=eps)),
        proof=lambda goal, given, q, x, c, eps: combine(
            goal.term,
            [
                (-1 / dim(q) / lg.scale(variance(q), eps=eps), None, given[0]),
                (
                    q,
                    None,
                    same_divisor(variance(q) + eps, variance(x) + eps, prove(equal(variance(q), variance(x)), *given)),
                ),
            ],
        ),
        model=centred_image_model,
        mutants=(
            Mutant(
                "every orthogonal map: p = Ax with ‖p‖² = ‖x‖² alone, here Πp for q",
                lambda q, x, eps: equal(
                    lg.layer_norm(q + x, eps=eps), lg.project(q + x) / lg.scale(variance(x), eps=eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="rotations.layer_mean_kept",
        title="A linear map that commutes with LayerNorm keeps the hyperplane of 1",
        statement="LN_ε(q + c1) = q/√(σ² + ε) and ε > 0 imply 1·q = 0",
        source=SLICE_SAYS,
        vectors="q x",
        scalars="c eps",
        hypotheses=LAYER | POSITIVE_EPS,
        claim=lambda q: equal(summed(q), 0),
        proof=_mean_kept,
        model=centred_image_model,
        without={"ε > 0": lambda random, d: {"q": (1,) * d, "x": (0,) * d, "c": 0, "eps": 0}},
        mutants=(Mutant("q = 0", lambda q: equal(q, 0)),),
    ),
    Theorem(
        id="rotations.layer_only_isometries",
        title="On that hyperplane it keeps the length of all it does not send to 0",
        statement="LN_ε(q + c1) = q/√(σ² + ε), 1·q = 0, q ≠ 0 and ε ≥ 0 imply ‖q‖² = ‖Πx‖²",
        source=SLICE_SAYS,
        vectors="q x",
        scalars="c eps",
        hypotheses=LAYER | CENTRED | {"q ≠ 0": lambda q: greater(square_norm(q))} | NOT_NEGATIVE,
        claim=lambda q, x: equal(square_norm(q), square_norm(lg.project(x))),
        proof=_layer_size,
        model=centred_image_model,
        without={
            "1·q = 0": "rotations.layer_mean_kept",
            "q ≠ 0": lambda random, d: centred_image_model(random, d) | {"q": (0,) * d},
            "ε ≥ 0": REFUSED,
        },
        mutants=(Mutant("‖q‖² = ‖x‖²", lambda q, x: equal(square_norm(q), square_norm(x))),),
    ),
)
