"""Functions that act on each component alone, DyT and Derf: what they share with a norm, and what they do not.

Such a function is given at x by its values t and its slopes s: t = tanh(αx) with s = α(1 − t²) for DyT, t = erf(αx + c)
with s = 2α exp(−(αx + c)²)/√π for Derf. Its Jacobian is diag(g∘s).
"""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    combine,
    congruence,
    dim,
    dot,
    equal,
    greater,
    inverse,
    ones,
    prove,
    root,
    root_of_square,
    root_positive,
    square,
    square_norm,
    square_of_root,
    summed,
    total,
)

from ..._hypotheses import POSITIVE_EPS, mean_square
from ..._sources import CHEN, STOLLENWERK, ZHU
from ..._steps import as_sum, product
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_vector


def slope_model(random: Random, d: int) -> dict[str, Any]:
    """Positive slopes and gains, within bounds."""
    s, g = (tuple(abs(value) or 1 for value in draw_vector(random, d)) for _ in range(2))
    return {"s": s, "g": g, "v": draw_vector(random, d), "a": max(s), "c": max(g)}


def _squashed(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """√(‖x‖² + dε) = √d·√(‖x‖²/d + ε), so that √d comes out of the quotient."""
    inside = mean_square(x) + eps
    positive, width = prove(greater(inside), given[0]), prove(greater(dim(x)))
    roots = product(root_positive(width), root_positive(positive))
    squares = prove(equal(roots.conclusion.term**2, dim(x) * inside), square_of_root(width), square_of_root(positive))
    whole = root_of_square(dim(x) * inside, roots, squares)
    inverses = congruence("inv", root(dim(x) * inside), root(dim(x)) * root(inside), whole)
    ones_out = inverse(root_positive(width))
    return combine(goal.term, [(-root(dim(x)) * x, None, inverses), (-x / root(inside), None, ones_out)])


POSITIVE = {"s_i > 0": lambda s: greater(s), "g_i > 0": lambda g: greater(g)}

THEOREMS = (
    Theorem(
        id="training.elementwise_uniform",
        title="Behind DyT or Derf gradients have a part along 1, which LayerNorm takes away",
        statement="1·(g∘s) > 0 for slopes s_i > 0 and gains g_i > 0, while LayerNorm has J1 = 0",
        source=Source(ZHU, "section 4", "DyT, g∘tanh(αx) + b, replaces LayerNorm"),
        vectors="s g",
        hypotheses=POSITIVE,
        claim=lambda s, g: greater(dot(ones(s), g * s)),
        model=slope_model,
        mutants=(Mutant("no part along 1, as behind LayerNorm", lambda s, g: equal(dot(ones(s), g * s), 0)),),
    ),
    Theorem(
        id="training.elementwise_gradient",
        title="DyT and Derf have a bound on their derivative that no input can raise; that of LayerNorm is 1/√ε",
        statement="‖g∘s∘v‖² ≤ a²c²‖v‖² for 0 < s_i ≤ a and |g_i| ≤ c: a = α for DyT, 2α/√π for Derf",
        source=Source(CHEN, "section 3", "Derf, g∘erf(αx + c) + b, replaces LayerNorm"),
        vectors="s g v",
        scalars="a c",
        hypotheses={
            "s_i² ≤ a²": lambda s, a: at_least(a * a - s * s),
            "g_i² ≤ c²": lambda g, c: at_least(c * c - g * g),
        },
        claim=lambda s, g, v, a, c: at_least(a * a * c * c * square_norm(v), square_norm(g * s * v)),
        # a²c² − g²s² = c²(a² − s²) + s²(c² − g²)
        proof=lambda goal, given, s, v, c: as_sum(
            goal, [total(product(given[0], square(c * v))), total(product(given[1], square(s * v)))]
        ),
        model=slope_model,
        without={
            "s_i² ≤ a²": lambda random, d: slope_model(random, d) | {"a": 0},
            "g_i² ≤ c²": lambda random, d: slope_model(random, d) | {"c": 0},
        },
        mutants=(
            Mutant(
                "the average slope in place of the largest",
                lambda s, g, v, c: at_least((summed(s) / dim(s)) ** 2 * c * c * square_norm(v), square_norm(g * s * v)),
            ),
        ),
    ),
    Theorem(
        id="training.elementwise_norm",
        title="RMSNorm squashes each component like a function of it alone, with a width that the others set",
        statement="RMS_ε(x)_i = √d x_i/√(x_i² + C_i) with C_i = Σ_{j≠i} x_j² + dε: one DyISRU for each component",
        source=Source(STOLLENWERK, "section 4", "DyISRU, √d x/√(x² + C), is an exact elementwise counterpart"),
        vectors="x",
        scalars="eps",
        hypotheses=POSITIVE_EPS,
        claim=lambda x, eps: equal(
            lg.rms_norm(x, eps=eps), root(dim(x)) * x / root(x * x + ((square_norm(x) - x * x) + dim(x) * eps))
        ),
        proof=_squashed,
        without={"ε > 0": "at ε = 0 it holds too for x ≠ 0, and the library takes no ε < 0"},
        mutants=(
            Mutant(
                "the same C = dε for all components",
                lambda x, eps: equal(lg.rms_norm(x, eps=eps), root(dim(x)) * x / root(x * x + dim(x) * eps)),
            ),
        ),
    ),
)
