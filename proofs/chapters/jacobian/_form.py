"""The derivative as an operator: closed form, kernel, image, symmetry, potential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    derivative,
    dim,
    dot,
    equal,
    greater,
    ones,
    prove,
    square,
    unequal,
)

from ..._hypotheses import NOT_CONSTANT, variance
from ..._sources import BLOG, OWN, RIECHERS, XIONG
from ..._steps import as_sum, product, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ._layer import DEFINED, denominator, standardized


def _layer(g: Any, b: Any, eps: Any) -> Callable[[Any], Any]:
    return lambda x: lg.layer_norm(x, g, b, eps=eps)


NOT_NEGATIVE = {"ε ≥ 0": lambda eps: at_least(eps)}


def _tangential_square(x: Any, v: Any, eps: Any) -> Proved:
    """‖Πv − y(y·v)/d‖² ≥ 0."""
    y = standardized(x, eps)
    return sum_of_squares(lg.project(v) - y * dot(y, v) / dim(x))


def _positive(goal: Formula, given: list[Proved], x: Any, v: Any, eps: Any) -> Proved:
    """v·Jv = ‖Πv − y(y·v)/d‖²/s + ε(y·v)²/(d s³), because ‖y‖²/d = 1 − ε/s²."""
    defined, not_negative = given
    inverse = prove(greater(1 / denominator(x, eps)), defined)
    along = product(not_negative, square(dot(standardized(x, eps), v)), inverse, inverse, inverse)
    parts = [product(_tangential_square(x, v, eps), inverse), product(along, prove(greater(1 / dim(x))))]
    return as_sum(goal, parts, defined)


THEOREMS = (
    Theorem(
        id="jacobian.closed_form",
        title="The directional derivative of LayerNorm is the product that the library computes",
        statement="D LN(x)·v = g∘(Πv − y(y·v)/d)/√(σ² + ε), y = Πx/√(σ² + ε)",
        source=Source(XIONG, "proof of Lemma 3", "gives the Jacobian without gain and ε, for a centred row vector"),
        vectors="x v g b",
        scalars="eps",
        claim=lambda x, v, g, b, eps: equal(derivative(_layer(g, b, eps), x, v), lg.jacobian_product(x, v, g, eps=eps)),
        last_step="Where σ² + ε > 0 the formal derivative is the derivative of the function.",
        cites=("chain rule",),
        mutants=(
            Mutant(
                "radial term dropped: diag(g/s)Π",
                lambda x, v, g, b, eps: equal(
                    derivative(_layer(g, b, eps), x, v), g * lg.project(v) / denominator(x, eps)
                ),
            ),
            Mutant(
                "radial term without 1/d",
                lambda x, v, g, b, eps: equal(
                    derivative(_layer(g, b, eps), x, v),
                    g * (lg.project(v) - standardized(x, eps) * dot(standardized(x, eps), v)) / denominator(x, eps),
                ),
            ),
            Mutant(
                "projection of the tangent dropped",
                lambda x, v, g, b, eps: equal(
                    derivative(_layer(g, b, eps), x, v),
                    g * (v - standardized(x, eps) * dot(standardized(x, eps), v) / dim(x)) / denominator(x, eps),
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.outside",
        title="With ε outside the root the radial term gets the factor (σ + ε)/σ",
        statement="D LN(x)·v = g∘(Πv − y(y·v)(σ + ε)/(σd))/(σ + ε), y = Πx/(σ + ε), for σ > 0",
        source=Source(BLOG, "definition of the norm", "divides by σ + ε and does not differentiate"),
        vectors="x v g b",
        scalars="eps",
        hypotheses={**NOT_CONSTANT, **NOT_NEGATIVE},
        claim=lambda x, v, g, b, eps: equal(
            derivative(lambda t: lg.layer_norm(t, g, b, eps=eps, placement="outside"), x, v),
            lg.jacobian_product(x, v, g, eps=eps, placement="outside"),
        ),
        without={
            "x is not constant": "at σ = 0 the total root and inverse make both sides agree",
            "ε ≥ 0": "only needed for σ + ε ≠ 0, which may hold for negative ε too",
        },
        mutants=(
            Mutant(
                "the radial term of ε inside the root",
                lambda x, v, g, b, eps: equal(
                    derivative(lambda t: lg.layer_norm(t, g, b, eps=eps, placement="outside"), x, v),
                    g
                    * (
                        lg.project(v)
                        - lg.standardize(x, eps=eps, placement="outside")
                        * dot(lg.standardize(x, eps=eps, placement="outside"), v)
                        / dim(x)
                    )
                    / lg.scale(variance(x), eps=eps, placement="outside"),
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.uniform_input",
        title="Shifts along 1 do not change the output",
        statement="J1 = 0",
        source=Source(XIONG, "proof of Lemma 3", "its Jacobian contains the factor I − 11ᵀ/d"),
        vectors="x g",
        scalars="eps",
        claim=lambda x, g, eps: equal(lg.jacobian_product(x, ones(x), g, eps=eps), 0),
        mutants=(
            Mutant(
                "the same for RMSNorm",
                lambda x, g, eps: equal(lg.jacobian_product(x, ones(x), g, eps=eps, centered=False), 0),
            ),
            Mutant(
                "the same for the input itself, which only ε = 0 makes true",
                lambda x, g, eps: equal(lg.jacobian_product(x, x, g, eps=eps), 0),
            ),
        ),
    ),
    Theorem(
        id="jacobian.dead_output",
        title="No gradient reaches the output direction α = G⁻¹1",
        statement="αᵀJ = 0 for g_i ≠ 0",
        source=Source(RIECHERS, "Π₂ = I − αα^T/(α^Tα)", "outputs lie in the hyperplane α·(z − b) = 0"),
        vectors="x v g",
        scalars="eps",
        hypotheses={"g_i ≠ 0": lambda g: unequal(g)},
        claim=lambda x, v, g, eps: equal(dot(1 / g, lg.jacobian_product(x, v, g, eps=eps)), 0),
        mutants=(
            Mutant(
                "1ᵀJ = 0, true for constant gain only",
                lambda x, v, g, eps: equal(dot(ones(x), lg.jacobian_product(x, v, g, eps=eps)), 0),
            ),
        ),
    ),
    Theorem(
        id="jacobian.transpose",
        title="The backward pass of the library is the adjoint of its forward derivative",
        statement="w·(Jv) = (Jᵀw)·v",
        source=Source(OWN, "Jacobian", "vector-Jacobian product in O(d)"),
        vectors="x v w g",
        scalars="eps",
        claim=lambda x, v, w, g, eps: equal(
            dot(w, lg.jacobian_product(x, v, g, eps=eps)), dot(lg.jacobian_transpose_product(x, w, g, eps=eps), v)
        ),
        mutants=(
            Mutant(
                "gain applied after the transposed product",
                lambda x, v, w, g, eps: equal(
                    dot(w, lg.jacobian_product(x, v, g, eps=eps)), dot(lg.jacobian_product(x, w, g, eps=eps), v)
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.symmetric",
        title="Without gain the Jacobian is symmetric",
        statement="w·(J₀v) = v·(J₀w)",
        source=Source(OWN, "Jacobian", "the Jacobian is a Hessian"),
        vectors="x v w",
        scalars="eps",
        claim=lambda x, v, w, eps: equal(
            dot(w, lg.jacobian_product(x, v, eps=eps)), dot(v, lg.jacobian_product(x, w, eps=eps))
        ),
        mutants=(
            Mutant(
                "the same with a gain, here x itself",
                lambda x, v, w, eps: equal(
                    dot(w, lg.jacobian_product(x, v, x, eps=eps)), dot(v, lg.jacobian_product(x, w, x, eps=eps))
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.positive",
        title="Without gain the Jacobian is positive semidefinite",
        statement="v·(J₀v) ≥ 0 for ε ≥ 0 and σ² + ε > 0",
        source=Source(OWN, "Jacobian", "LayerNorm without gain is monotone"),
        vectors="x v",
        scalars="eps",
        hypotheses=DEFINED | NOT_NEGATIVE,
        claim=lambda x, v, eps: at_least(dot(v, lg.jacobian_product(x, v, eps=eps)), 0),
        proof=lambda goal, given, x, v, eps: _positive(goal, given, x, v, eps),
        without={"σ² + ε > 0": "elsewhere the total inverse makes the form 0"},
        mutants=(
            Mutant(
                "positive definite: strictly on all v",
                lambda x, v, eps: greater(dot(v, lg.jacobian_product(x, v, eps=eps)), 0),
            ),
            Mutant(
                "the same with a gain, here v itself",
                lambda x, v, eps: at_least(dot(v, lg.jacobian_product(x, v, v, eps=eps)), 0),
            ),
        ),
    ),
    Theorem(
        id="jacobian.potential",
        title="LayerNorm without gain is the gradient of d√(σ² + ε)",
        statement="D φ(x)·v = y·v with φ(x) = d√(σ² + ε)",
        source=Source(OWN, "Jacobian", "the standardized vector is a gradient"),
        vectors="x v",
        scalars="eps",
        claim=lambda x, v, eps: equal(
            derivative(lambda t: lg.potential(t, eps=eps), x, v), dot(standardized(x, eps), v)
        ),
        remark="Its Hessian is positive semidefinite, so φ is convex and LayerNorm without gain is monotone.",
        mutants=(
            Mutant(
                "potential √(σ² + ε), without the factor d",
                lambda x, v, eps: equal(
                    derivative(lambda t: lg.potential(t, eps=eps) / dim(t), x, v), dot(standardized(x, eps), v)
                ),
            ),
            Mutant(
                "potential of RMSNorm",
                lambda x, v, eps: equal(
                    derivative(lambda t: lg.potential(t, eps=eps, centered=False), x, v), dot(standardized(x, eps), v)
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.gain_factors",
        title="The gain enters the Jacobian through GΠ alone",
        statement="Jv = GΠ(J₀v)",
        source=Source(OWN, "Jacobian", "hence ‖J‖₂ ≤ ‖GΠ‖₂‖J₀‖₂"),
        vectors="x v g",
        scalars="eps",
        claim=lambda x, v, g, eps: equal(
            lg.jacobian_product(x, v, g, eps=eps), g * lg.project(lg.jacobian_product(x, v, eps=eps))
        ),
        mutants=(
            Mutant(
                "gain before the projection",
                lambda x, v, g, eps: equal(
                    lg.jacobian_product(x, v, g, eps=eps), lg.project(g * lg.jacobian_product(x, v, eps=eps))
                ),
            ),
        ),
    ),
)
