"""Attention: how large normalized queries and keys let its logits become, and which keys a query can single out."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import Formula, Proved, add, constant, dim, equal, greater, prove, square, total, transport

from .._records import read
from .._shared import mean_square, standard
from .._steps import as_sum, product
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


THEOREMS = read(__name__)
