"""Projecting off another vector than 1: the same class of functions, seen in a mirror."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    combine,
    congruence,
    constant,
    dim,
    dot,
    equal,
    greater,
    inverse,
    multiply,
    ones,
    prove,
    square_norm,
    summed,
    transport,
)

from ..._hypotheses import mean_square
from ..._sources import GUPTA, OWN
from ..._steps import same_divisor
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector


def reflected(u: Any, x: Any) -> Any:
    """Hx = x − 2w(w·x)/‖w‖² with w = u − 1, the Householder reflection that exchanges 1 and u."""
    w = u - ones(x)
    return x - 2 * w * dot(w, x) / square_norm(w)


def u_norm(u: Any, x: Any, eps: Any) -> Any:
    """u-Norm: RMSNorm of the projection off u."""
    return lg.rms_norm(lg.project(x, u), eps=eps)


def mirror_model(random: Random, d: int) -> dict[str, Any]:
    """A rational vector u as long as 1: the reflection of 1 along a random vector."""
    w = draw_vector(random, d)
    length, along = sum(value * value for value in w), sum(w)
    u = tuple(1 - 2 * value * along / length for value in w) if length else (Fraction(-1),) * d
    eps = abs(draw_scalar(random)) or Fraction(1, 2)
    return {"u": u, "x": draw_vector(random, d), "y": draw_vector(random, d), "eps": eps}


AS_LONG = {"‖u‖² = d": lambda u: equal(square_norm(u), dim(u))}
OTHER = {"u ≠ 1": lambda u: greater(square_norm(u - ones(u)))}


def _laws(given: list[Proved], u: Any) -> list[tuple[Proved, Any]]:
    """‖u‖² = d, 1/(u·u) = 1/d, and (1·u)k = dk − 1 for k = 1/(d − 1·u)."""
    long, other = given
    gap = dim(u) - summed(u)
    half = prove(equal(gap, square_norm(u - ones(u)) / 2), (long, square_norm(u)))
    inverted = inverse(transport(gap, half, multiply(constant(Fraction(1, 2), ">"), other)))
    lengths = congruence("inv", square_norm(u), dim(u), long)
    return [(lengths, 1 / square_norm(u)), (long, square_norm(u)), (inverted, summed(u) / gap)]


def _conjugated(goal: Formula, given: list[Proved], u: Any, x: Any, eps: Any) -> Proved:
    laws = _laws(given, u)
    turned = lg.project(reflected(u, x))
    after, before = mean_square(lg.project(x, u)) + eps, mean_square(turned) + eps
    divisors = same_divisor(after, before, prove(equal(after, before), *laws))
    parts = prove(equal(lg.project(x, u), reflected(u, turned)), *laws)
    back = reflected(u, turned)
    return combine(goal.term, [(1 / lg.scale(after, eps=0), None, parts), (back, None, divisors)])


THEOREMS = (
    Theorem(
        id="rotations.exchange",
        title="The reflection along u − 1 takes 1 to u",
        statement="H1 = u for ‖u‖² = d, u ≠ 1",
        source=Source(OWN, "rotations", "Hx = x − 2w(w·x)/‖w‖² with w = u − 1"),
        vectors="u x",
        hypotheses=AS_LONG | OTHER,
        claim=lambda u: equal(reflected(u, ones(u)), u),
        proof=lambda goal, given, u: prove(goal, *_laws(given, u)),
        model=mirror_model,
        without={"u ≠ 1": "for u = 1 the kernel, which reads 1/0 as 0, has H1 = 1 = u"},
        mutants=(Mutant("a projection in place of the reflection", lambda u: equal(lg.project(ones(u), u), u)),),
    ),
    Theorem(
        id="rotations.reflection",
        title="The reflection keeps all inner products",
        statement="Hx·Hy = x·y",
        source=Source(OWN, "rotations", "H is orthogonal"),
        vectors="u x y",
        hypotheses=OTHER,
        claim=lambda u, x, y: equal(dot(reflected(u, x), reflected(u, y)), dot(x, y)),
        proof=lambda goal, given, u: prove(goal, (inverse(given[0]), square_norm(u) / square_norm(u - ones(u)))),
        model=mirror_model,
        without={"u ≠ 1": "for u = 1 the kernel, which reads 1/0 as 0, has Hx = x"},
        mutants=(
            Mutant(
                "x − w(w·x)/‖w‖², without the 2",
                lambda u, x, y: equal(dot(lg.project(x, u - 1), lg.project(y, u - 1)), dot(x, y)),
            ),
        ),
    ),
    Theorem(
        id="rotations.u_norm",
        title="A norm that projects off another direction is LayerNorm in a reflected basis",
        statement="RMS_ε(x − u(u·x)/d) = H LN_ε(Hx) for ‖u‖² = d, H the reflection that exchanges 1 and u",
        source=Source(GUPTA, "section 3", "1 is an arbitrarily chosen direction"),
        vectors="u x",
        scalars="eps",
        hypotheses=AS_LONG | OTHER,
        claim=lambda u, x, eps: equal(u_norm(u, x, eps), reflected(u, lg.layer_norm(reflected(u, x), eps=eps))),
        proof=_conjugated,
        model=mirror_model,
        without={"u ≠ 1": "for u = 1 the kernel, which reads 1/0 as 0, has Hx = x, and both sides are LN_ε(x)"},
        mutants=(
            Mutant(
                "no reflection of the output",
                lambda u, x, eps: equal(u_norm(u, x, eps), lg.layer_norm(reflected(u, x), eps=eps)),
            ),
            Mutant(
                "the same with a gain, here u itself, on either side",
                lambda u, x, eps: equal(
                    u * u_norm(u, x, eps), reflected(u, lg.layer_norm(reflected(u, x), u, eps=eps))
                ),
            ),
            Mutant(
                "RMSNorm in place of LayerNorm",
                lambda u, x, eps: equal(u_norm(u, x, eps), reflected(u, lg.rms_norm(reflected(u, x), eps=eps))),
            ),
        ),
    ),
)
