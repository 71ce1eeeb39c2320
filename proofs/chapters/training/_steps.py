"""Steps of weights that a norm reads: lengths do not matter, and gradients do not change them."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    combine,
    dot,
    equal,
    greater,
    instantiate,
    ones,
    prove,
    square_norm,
    vector,
)

from ..._hypotheses import POSITIVE_FACTOR, variance
from ..._sources import VANLAARHOVEN
from ..._steps import same_divisor
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector


def step_model(random: Random, d: int) -> dict[str, Any]:
    """A vector, a gradient there, and the gradient of 1/a of its size."""
    a, gradient = abs(draw_scalar(random)) or 2, draw_vector(random, d)
    smaller = tuple(value / a for value in gradient)
    x, eta = draw_vector(random, d), draw_scalar(random)
    return {"a": a, "x": x, "p": gradient, "q": smaller, "eta": eta}


def _same_direction(goal: Formula, given: list[Proved], x: Any, p: Any, q: Any, a: Any, eta: Any) -> Proved:
    """Both sides see a(x − ηp): ax − a²ηq is that, and LN₀(az) = LN₀(z) for z = x − ηp."""
    positive, gradients = given
    longer, step = a * x - a * a * eta * q, x - eta * p
    same = combine(longer - a * step, [(-a * eta, None, gradients)])
    # σ²(u) − σ²(v) = (Πu + Πv)·(u − v)/d for u = longer and v = a·step
    parts = [(1 / dot(ones(x), ones(x)), lg.project(longer + a * step), same)]
    divisors = same_divisor(variance(longer), variance(a * step), combine(variance(longer) - variance(a * step), parts))
    z = vector("z")
    scaled = prove(equal(lg.standardize(a * z, eps=0), lg.standardize(z, eps=0)), positive)
    moved = lg.standardize(longer, eps=0) - lg.standardize(a * step, eps=0)
    over = 1 / lg.scale(variance(a * step), eps=0)
    centred = combine(
        lg.project(longer) - lg.project(a * step), [(1, None, same), (-1 / dot(ones(x), ones(x)), 1, same)]
    )
    equals = combine(moved, [(lg.project(longer), None, divisors), (over, None, centred)])
    return combine(goal.term, [(1, None, equals), (1, None, instantiate(scaled, {z: step}))])


THEOREMS = (
    Theorem(
        id="training.radial_gradient",
        title="The gradient of what a LayerNorm reads has only what ε leaves of it along the vector itself",
        statement="x·Jᵀe = ε e·(g∘Πx)/(σ² + ε)^{3/2}: 0 at ε = 0, whatever the error e behind the norm",
        source=Source(VANLAARHOVEN, "section 2", "weights before a normalization are scale invariant"),
        vectors="x g e",
        scalars="eps",
        hypotheses={"σ² + ε > 0": lambda x, eps: greater(variance(x) + eps)},
        claim=lambda x, g, e, eps: equal(
            dot(x, lg.jacobian_transpose_product(x, e, g, eps=eps)),
            eps * dot(e, g * lg.project(x)) / lg.scale(variance(x), eps=eps) ** 3,
        ),
        without={"σ² + ε > 0": "elsewhere the total inverse makes both sides 0"},
        mutants=(
            Mutant(
                "orthogonal at every ε",
                lambda x, g, e, eps: equal(dot(x, lg.jacobian_transpose_product(x, e, g, eps=eps)), 0),
            ),
        ),
    ),
    Theorem(
        id="training.norm_growth",
        title="A step along a gradient that is orthogonal to the weights makes them longer, never shorter",
        statement="‖w − ηp‖² = ‖w‖² + η²‖p‖² − 2ηc for w·p = c, and c = 0 behind LayerNorm at ε = 0",
        source=Source(VANLAARHOVEN, "section 3", "norms grow, and the effective learning rate falls"),
        vectors="w p",
        scalars="eta c",
        hypotheses={"w·p = c": lambda w, p, c: equal(dot(w, p), c)},
        claim=lambda w, p, eta, c: equal(
            square_norm(w - eta * p), square_norm(w) + eta**2 * square_norm(p) - 2 * eta * c
        ),
        model=lambda random, d: {
            "w": (w := draw_vector(random, d)),
            "p": (p := draw_vector(random, d)),
            "c": sum(a * b for a, b in zip(w, p, strict=True)),
            "eta": draw_scalar(random),
        },
        mutants=(Mutant("the norm stays", lambda w, p, eta, c: equal(square_norm(w - eta * p), square_norm(w))),),
    ),
    Theorem(
        id="training.effective_rate",
        title="Behind a LayerNorm only the learning rate over the squared length of the weights counts",
        statement="LN₀(ax − a²ηq) = LN₀(x − ηp) for a > 0 and aq = p: a step of a²η from ax is one of η from x",
        source=Source(VANLAARHOVEN, "section 2.1", "the effective learning rate is η/‖w‖²"),
        vectors="x p q",
        scalars="a eta",
        hypotheses=POSITIVE_FACTOR | {"aq = p": lambda p, q, a: equal(a * q, p)},
        claim=lambda x, p, q, a, eta: equal(
            lg.standardize(a * x - a * a * eta * q, eps=0), lg.standardize(x - eta * p, eps=0)
        ),
        proof=_same_direction,
        model=step_model,
        mutants=(
            Mutant(
                "a step of aη",
                lambda x, p, q, a, eta: equal(
                    lg.standardize(a * x - a * eta * q, eps=0), lg.standardize(x - eta * p, eps=0)
                ),
            ),
            Mutant(
                "the same at ε = 1",
                lambda x, p, q, a, eta: equal(
                    lg.standardize(a * x - a * a * eta * q, eps=1), lg.standardize(x - eta * p, eps=1)
                ),
            ),
        ),
    ),
)
