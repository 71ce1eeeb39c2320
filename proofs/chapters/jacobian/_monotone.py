"""How outputs move with inputs: no distance grows by more than 1/√ε, and never against the input."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    combine,
    dim,
    dot,
    greater,
    inverse,
    prove,
    root,
    square,
    square_norm,
    square_of_root,
    transport,
)

from ..._hypotheses import POSITIVE_EPS, variance
from ..._sources import OWN
from ..._steps import as_sum, product, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector
from ._layer import denominator, standardized


def pair_model(random: Random, d: int) -> dict[str, Any]:
    """Two vectors and a positive ε."""
    return {"x": draw_vector(random, d), "z": draw_vector(random, d), "eps": abs(draw_scalar(random)) or Fraction(1, 2)}


def _defined(x: Any, positive: Proved) -> Proved:
    """σ² + ε > 0."""
    return prove(greater(variance(x) + positive.conclusion.term), positive)


def _cocoercive(goal: Formula, given: list[Proved], x: Any, z: Any, eps: Any) -> Proved:
    """(y − y′)·(x − x′) − ½(s + s′)‖y − y′‖² = ½dε(s − s′)²(s + s′)/(s s′)², because ‖y‖² = d(1 − ε/s²)."""
    facts = [_defined(x, given[0]), _defined(z, given[0])]
    s, t = denominator(x, eps), denominator(z, eps)
    parts = [
        prove(greater(dim(x) / 2)),
        given[0],
        square(s - t),
        prove(greater(s + t), *facts),
        prove(greater(1 / s**2), facts[0]),
        prove(greater(1 / t**2), facts[1]),
    ]
    return as_sum(goal, [product(*parts)], *facts)


def _weaker(goal: Formula, given: list[Proved], x: Any, z: Any, eps: Any) -> Proved:
    """The same with s − √ε = σ²/(s + √ε) ≥ 0 in both places."""
    stronger = _cocoercive(_bound(x, z, eps, _mean_scale(x, z, eps)), given, x, z, eps)
    half = prove(greater(dim(x) / dim(x) / 2))
    gaps = []
    for v in (x, z):
        defined, s = _defined(v, given[0]), denominator(v, eps)
        both = prove(greater(s + root(eps)), defined, given[0])
        above = 1 / both.conclusion.term
        spread = product(sum_of_squares(lg.project(v)), prove(greater(1 / dim(v))), prove(greater(above), both))
        same = [
            (root(eps) - s, None, inverse(both)),
            (above, None, square_of_root(defined)),
            (-above, None, square_of_root(given[0])),
        ]
        gap = transport(s - root(eps), combine(s - root(eps) - spread.conclusion.term, same), spread)
        gaps.append(product(gap, half, sum_of_squares(standardized(x, eps) - standardized(z, eps))))
    return as_sum(goal, [stronger, *gaps])


def _mean_scale(x: Any, z: Any, eps: Any) -> Any:
    return (denominator(x, eps) + denominator(z, eps)) / 2


def _bound(x: Any, z: Any, eps: Any, factor: Any) -> Formula:
    """(y − y′)·(x − x′) ≥ factor·‖y − y′‖²."""
    apart = standardized(x, eps) - standardized(z, eps)
    return at_least(dot(apart, x - z), factor * square_norm(apart))


THEOREMS = (
    Theorem(
        id="jacobian.cocoercive",
        title="Two outputs never move against their inputs: LayerNorm is cocoercive, with the mean scale",
        statement="(y − y′)·(x − x′) ≥ ½(s + s′)‖y − y′‖², s = √(σ² + ε), for ε > 0",
        source=Source(OWN, "Jacobian", "sharper than √ε, which the Lipschitz constant of a gradient gives"),
        vectors="x z",
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, z, eps: _bound(x, z, eps, _mean_scale(x, z, eps)),
        proof=_cocoercive,
        model=pair_model,
        without={"ε > 0": "at ε = 0 both sides are equal where σ > 0 and σ′ > 0; the library takes no ε < 0"},
        mutants=(
            Mutant(
                "the sum of the scales, without the half",
                lambda x, z, eps: _bound(x, z, eps, 2 * _mean_scale(x, z, eps)),
            ),
        ),
    ),
    Theorem(
        id="jacobian.cocoercive_eps",
        title="So it is √ε-cocoercive, and no two outputs are farther apart than 1/√ε times their inputs",
        statement="(y − y′)·(x − x′) ≥ √ε‖y − y′‖² for ε > 0",
        source=Source(OWN, "Jacobian", "the gradient of a convex function with Lipschitz constant 1/√ε"),
        vectors="x z",
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, z, eps: _bound(x, z, eps, root(eps)),
        proof=_weaker,
        model=pair_model,
        without={"ε > 0": "at ε = 0 it is the last theorem's with less on the right; the library takes no ε < 0"},
        mutants=(Mutant("with the factor 1", lambda x, z, eps: _bound(x, z, eps, 1)),),
    ),
)
