"""How much a branch of a residual network can magnify gradients, and how much it can add to the stream."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    add,
    at_least,
    dim,
    dot,
    equal,
    greater,
    prove,
    square,
    square_norm,
    summed,
    total,
)

from ..._hypotheses import POSITIVE_EPS, POSITIVE_FACTOR, variance
from ..._sources import KIM, XIONG
from ..._steps import as_sum, product, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector


def branch_model(random: Random, d: int) -> dict[str, Any]:
    """A gain within a bound, and a linear map that is a multiple of the identity."""
    x, z, v, g = (draw_vector(random, d) for _ in range(4))
    bound = max(map(abs, g)) + random.choice((0, 1))
    return {"x": x, "z": z, "v": v, "g": g, "c": bound, "eps": abs(draw_scalar(random)) or 1, "a": 2}


WITHIN = {"|g_i| ≤ c": lambda g, c: at_least(c * c - g * g)}


def _branch(goal: Formula, given: list[Proved], x: Any, v: Any, g: Any, c: Any, eps: Any) -> Proved:
    """c²‖v‖² − s²‖Jv‖² = Σ(c² − g²)w² + c²((1·v)²/d + (y·v)²(1 + ε/s²)/d) with w = sJ₀v and s² = σ² + ε."""
    within, positive = given
    per_dimension = prove(greater(1 / dim(x)))
    above = add(product(sum_of_squares(lg.project(x)), per_dimension), positive)
    defined = prove(greater(variance(x) + eps), above)
    inverse = prove(greater(1 / (variance(x) + eps)), defined)
    s, y = lg.scale(variance(x), eps=eps), lg.standardize(x, eps=eps)
    along = product(square(c * dot(y, v)), per_dimension)
    parts = [
        total(product(within, square(lg.jacobian_product(x, v, eps=eps) * s))),
        product(square(c * summed(v)), per_dimension),
        along,
        product(along, positive, inverse),
    ]
    return as_sum(goal, parts, defined)


def _bounded(goal: Formula, given: list[Proved], z: Any, g: Any, c: Any, eps: Any) -> Proved:
    """dc² − ‖g∘y‖² = Σ(c² − g²)y² + c²dε/s², because ‖y‖² = d(1 − ε/s²)."""
    within, positive = given
    per_dimension = prove(greater(1 / dim(z)))
    above = add(product(sum_of_squares(lg.project(z)), per_dimension), positive)
    defined = prove(greater(variance(z) + eps), above)
    inverse = prove(greater(1 / (variance(z) + eps)), defined)
    parts = [
        total(product(within, square(lg.standardize(z, eps=eps)))),
        product(square(c), prove(greater(dim(z))), positive, inverse),
    ]
    return as_sum(goal, parts, defined)


THEOREMS = (
    Theorem(
        id="training.pre_norm_factor",
        title="A Pre-LN branch passes gradients on by at most the norm of its map times the gain over σ",
        statement="(σ² + ε)‖Jv‖² ≤ c²‖v‖² for |g_i| ≤ c, ε > 0: a branch f∘LN has the factor ‖f′‖c/√(σ² + ε)",
        source=Source(XIONG, "Theorem 1", "Pre-LN gradients are smaller, by estimates at initialization"),
        vectors="x v g",
        scalars="c eps",
        hypotheses=WITHIN | POSITIVE_EPS,
        claim=lambda x, v, g, c, eps: at_least(
            c * c * square_norm(v), (variance(x) + eps) * square_norm(lg.jacobian_product(x, v, g, eps=eps))
        ),
        proof=_branch,
        model=branch_model,
        without={
            "|g_i| ≤ c": lambda random, d: branch_model(random, d) | {"c": 0},
            "ε > 0": "at ε = 0 it holds too where σ > 0, and the library takes no ε < 0",
        },
        mutants=(
            Mutant(
                "‖x‖²/d in place of σ²",
                lambda x, v, g, c, eps: at_least(
                    c * c * square_norm(v),
                    (square_norm(x) / dim(x) + eps) * square_norm(lg.jacobian_product(x, v, g, eps=eps)),
                ),
            ),
        ),
    ),
    Theorem(
        id="training.peri_norm_bound",
        title="A norm behind the branch bounds what it can add to the stream, whatever its weights",
        statement="‖LN_ε(z; g)‖² ≤ dc² for |g_i| ≤ c and ε > 0",
        source=Source(KIM, "section 3", "Peri-LN keeps the variance of the stream from growing exponentially"),
        vectors="z g",
        scalars="c eps",
        hypotheses=WITHIN | POSITIVE_EPS,
        claim=lambda z, g, c, eps: at_least(dim(z) * c * c, square_norm(lg.layer_norm(z, g, eps=eps))),
        proof=_bounded,
        model=branch_model,
        without={
            "|g_i| ≤ c": lambda random, d: branch_model(random, d) | {"c": 0},
            "ε > 0": "at ε = 0 it holds too where σ > 0, and the library takes no ε < 0",
        },
        mutants=(
            Mutant(
                "the same without the norm behind the branch", lambda z, c: at_least(dim(z) * c * c, square_norm(z))
            ),
            Mutant(
                "c² without the dimension",
                lambda z, g, c, eps: at_least(c * c, square_norm(lg.layer_norm(z, g, eps=eps))),
            ),
        ),
    ),
    Theorem(
        id="training.peri_norm_weights",
        title="Behind a norm the derivative of a branch does not depend on the size of its weights",
        statement="J(az)av = J(z)v at ε = 0 for a > 0: with z = Wf, the derivative of LN(aWf) is that of LN(Wf)",
        source=Source(KIM, "section 3", "gradients through Peri-LN are damped by the size of the branch"),
        vectors="z v g",
        scalars="a",
        hypotheses=POSITIVE_FACTOR,
        claim=lambda z, v, g, a: equal(
            lg.jacobian_product(a * z, a * v, g, eps=0), lg.jacobian_product(z, v, g, eps=0)
        ),
        mutants=(
            Mutant(
                "the norm before the branch: J(z)av",
                lambda z, v, g, a: equal(lg.jacobian_product(z, a * v, g, eps=0), lg.jacobian_product(z, v, g, eps=0)),
            ),
            Mutant(
                "the same at ε = 1",
                lambda z, v, g, a: equal(
                    lg.jacobian_product(a * z, a * v, g, eps=1), lg.jacobian_product(z, v, g, eps=1)
                ),
            ),
        ),
    ),
)
