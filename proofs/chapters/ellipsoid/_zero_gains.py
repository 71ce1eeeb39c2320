"""Gains with zeros: the corrected inverse, and where the outputs lie."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import Formula, Theorem as Proved, dim, dot, equal, greater, prove, square_norm

from ..._hypotheses import POSITIVE_EPS
from ..._sources import ABSTRACT, RIECHERS
from ..._steps import as_sum, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector
from ._spread import gain_model, spread


def support_spread(h: Any, k: Any, v: Any) -> Any:
    """(diag(g⁻²) + αα^T/k) v on the support of g, h the inverse gains there and 0 elsewhere."""
    return h * h * v + dot(h, v) * h / k


def zero_gain_model(random: Random, d: int) -> dict[str, Any]:
    """Gains with at least one zero, their inverses on the support, and arbitrary vectors."""
    g = [Fraction(random.choice((0, 0, 1, -2, 3))) for _ in range(d)]
    g[random.randrange(d)] = Fraction(0)
    return {
        "g": tuple(g),
        "h": tuple(1 / value if value else value for value in g),
        **{name: draw_vector(random, d) for name in ("x", "v", "w", "b")},
        "eps": abs(draw_scalar(random)),
    }


def _hidden_share(goal: Formula, given: list[Proved], x: Any, g: Any, h: Any, eps: Any) -> Proved:
    """With s = gh and m the mean of the hidden y_i: d − ‖sy‖² − (1·sy)²/k = dε/(σ² + ε) + ‖(1 − s)(y − m)‖²."""
    first, k_positive, positive = given
    y, hidden, k = lg.standardize(x, eps=eps), 1 - g * h, dim(g) - dot(g, h)
    defined = prove(greater(lg.moments(x)[1] + eps), positive)
    idempotent = prove(equal(g * h * (g * h), g * h), first)
    parts = [
        prove(greater(dim(x) * eps / (lg.moments(x)[1] + eps)), positive, defined),
        sum_of_squares(hidden * (y - dot(hidden, y) / k)),
    ]
    return as_sum(goal, parts, positive, defined, k_positive, (first, g * g * h), (idempotent, g**2 * h**2))


INVERSE_ON_SUPPORT = {
    "g²h = g": lambda g, h: equal(g * g * h, g),
    "gh² = h": lambda g, h: equal(g * h * h, h),
    "some gain is 0": lambda g, h: greater(dim(g) - dot(g, h)),
}


THEOREMS = (
    Theorem(
        id="ellipsoid.zero_gains",
        title="With k zero gains GΠG times diag(h²) + hhᵀ/k is the projector on the support",
        statement="GΠG(diag(h²) + hh^T/k)v = ghv, h = 1/g on the support and 0 elsewhere, k = d − Σ g_ih_i",
        source=Source(RIECHERS, "zero gains", "squares the Drazin inverse of G and sets Π₂ = I"),
        vectors="v g h",
        hypotheses=INVERSE_ON_SUPPORT,
        claim=lambda v, g, h: equal(spread(g, support_spread(h, dim(g) - dot(g, h), v)), g * h * v),
        proof=lambda goal, given, g, h: prove(goal, (given[0], g**2 * h), (given[1], g * h**2), given[2]),
        remark="Both factors are symmetric and the product is the projector on the support: the Penrose "
        "equations hold, and the semi-axes are √(d/λ) of this matrix.",
        model=zero_gain_model,
        without={
            "some gain is 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "h": tuple(1 / value for value in g),
                "v": draw_vector(random, d),
            }
        },
        mutants=(
            Mutant("the square of the Drazin inverse alone", lambda v, g, h: equal(spread(g, h * h * v), g * h * v)),
            Mutant(
                "αα^T/‖α‖² subtracted, as without zero gains",
                lambda v, g, h: equal(spread(g, h * h * (v - dot(h, v) * h / square_norm(h))), g * h * v),
            ),
            Mutant(
                "αα^T/d in place of αα^T/k", lambda v, g, h: equal(spread(g, support_spread(h, dim(g), v)), g * h * v)
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.zero_gain_outputs",
        title="Where the gain is zero the output is the bias",
        statement="(1 − gh)∘(z − b) = 0, h = 1/g on the support and 0 elsewhere",
        source=Source(RIECHERS, "left null space", "is spanned by the coordinate vectors of the zero gains"),
        vectors="x g h b",
        scalars="eps",
        hypotheses={"g²h = g": lambda g, h: equal(g * g * h, g)},
        claim=lambda x, g, h, b, eps: equal((1 - g * h) * (lg.layer_norm(x, g, b, eps=eps) - b), 0),
        proof=lambda goal, given, g, h: prove(goal, (given[0], g**2 * h)),
        model=zero_gain_model,
        mutants=(
            Mutant(
                "α·(z − b) = 0 with α = 1/g on the support",
                lambda x, g, h, b, eps: equal(dot(h, lg.layer_norm(x, g, b, eps=eps) - b), 0),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.zero_gain_interior",
        title="With k zero gains the seen components fill a solid ellipsoid at most",
        statement="‖y‖² + (1·y)²/k < d for ε > 0, y = h∘(z − b), h = 1/g on the support and 0 elsewhere",
        source=Source(ABSTRACT, "experiments", "expects a surface; with k ≥ 2 zero gains it is solid even at ε = 0"),
        vectors="x g h b",
        scalars="eps",
        hypotheses={said: INVERSE_ON_SUPPORT[said] for said in ("g²h = g", "some gain is 0")} | POSITIVE_EPS,
        claim=lambda x, g, h, b, eps: greater(
            dim(x),
            square_norm(h * (lg.layer_norm(x, g, b, eps=eps) - b))
            + dot(h, lg.layer_norm(x, g, b, eps=eps) - b) ** 2 / (dim(g) - dot(g, h)),
        ),
        proof=_hidden_share,
        model=zero_gain_model,
        without={
            "g²h = g": lambda random, d: {
                "x": (Fraction(1000),) + (Fraction(0),) * (d - 1),
                "g": (Fraction(2),) + (Fraction(0),) * (d - 1),
                "h": (Fraction(1),) + (Fraction(0),) * (d - 1),
                "b": (Fraction(0),) * d,
                "eps": Fraction(1, 3),
            },
            "some gain is 0": "at k = 0 the total inverse drops the second term, and the first is below d",
        },
        mutants=(
            Mutant(
                "without the term of the hidden components, but with d − k",
                lambda x, g, h, eps: greater(dot(g, h), square_norm(g * h * lg.standardize(x, eps=eps))),
            ),
        ),
    ),
)
