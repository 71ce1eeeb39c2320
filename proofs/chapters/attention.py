"""Attention: how large normalized queries and keys let its logits become, and which keys a query can single out."""

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

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


def _short(x: Any, positive: sy.Proved, c: sy.Proved) -> sy.Proved:
    """c(d − ‖RMS_ε(x)‖²)/2 = cdε/(2(m + ε)) ≥ 0, m the mean square."""
    inside = sy.prove(sy.greater(1 / (mean_square(x) + positive.conclusion.term)), positive)
    return product(c, sy.prove(sy.greater(sy.dim(x) / 2)), positive, inside)


def _logit(goal: sy.Formula, given: list[sy.Proved], x: Any, z: Any, g: Any, h: Any, c: Any, eps: Any) -> sy.Proved:
    """Dc − q·k = ½c(d − ‖u‖²) + ½c(d − ‖v‖²) + ¼Σ(c − gh)(u + v)² + ¼Σ(c + gh)(u − v)², u, v without gain."""
    below, above, positive = given
    half = product(sy.constant(Fraction(1, 2), ">"), sy.add(below, above))
    bound = sy.transport(c, sy.prove(sy.equal(c, half.conclusion.term)), half)
    u, v = lg.rms_norm(x, eps=eps), lg.rms_norm(z, eps=eps)
    defined = [sy.prove(sy.greater(mean_square(w) + eps), positive) for w in (x, z)]
    parts = [
        _short(x, positive, bound),
        _short(z, positive, bound),
        sy.total(product(above, sy.square((u + v) / 2))),
        sy.total(product(below, sy.square((u - v) / 2))),
    ]
    return as_sum(goal, parts, *defined)


def _selected(goal: sy.Formula, given: list[sy.Proved], g: Any) -> sy.Proved:
    """q·(k − k′) = y·(y − y′) = ‖y − y′‖²/2 for q = y/g, k = g∘y + b and ‖y‖ = ‖y′‖."""
    apart = product(sy.prove(sy.greater(sy.dim(g) / sy.dim(g) / 2)), given[0])
    return as_sum(goal, [apart], *given[1:])


THEOREMS = read(__name__)
