"""Singular values, norms, the Lipschitz constant, and the bounds that do not hold."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    add,
    at_least,
    combine,
    congruence,
    dim,
    dot,
    equal,
    greater,
    norm,
    ones,
    prove,
    root,
    square,
    square_norm,
    trace,
    transport,
)

from ..._hypotheses import NOT_CONSTANT, variance
from ..._sources import ABSTRACT, DIGEST, OWN, XIONG
from ..._steps import as_sum, product, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar, draw_vector
from ._layer import DEFINED, denominator, standardized


def _off(x: Any, v: Any) -> dict[str, Any]:
    """`v` made orthogonal to 1 and to x, exactly."""
    d = len(x)
    mean = sum(x) / d
    u = [value - mean for value in x]
    square = sum(value * value for value in u)
    shift = sum(v) / d
    along = sum(a * b for a, b in zip(u, v, strict=True)) / square if square else 0
    return {"x": tuple(x), "v": tuple(b - shift - along * a for a, b in zip(u, v, strict=True))}


def orthogonal_model(random: Random, d: int) -> dict[str, Any]:
    """A vector v orthogonal to 1 and to x."""
    return _off(draw_vector(random, d), draw_vector(random, d)) | {"eps": abs(draw_scalar(random))}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A constant vector x, and arbitrary others."""
    return {
        "x": draw_vector(random, d)[:1] * d,
        "v": draw_vector(random, d),
        "g": draw_vector(random, d),
        "eps": abs(draw_scalar(random)),
    }


POSITIVE = {"ε > 0": lambda eps: greater(eps)}


OFF_X = {"v ⟂ 1": lambda x, v: equal(dot(ones(x), v), 0), "v ⟂ x": lambda x, v: equal(dot(x, v), 0)}


def _contraction(goal: Formula, positive: Proved, x: Any, v: Any, eps: Any) -> Proved:
    """‖v‖² − ε‖Jv‖² = dμ² + ‖Πv‖²σ²/s² + ε(y·v)²(1 + ε/s²)/(d s²), μ the mean of v."""
    spread = sum_of_squares(lg.project(x))
    per_dimension = prove(greater(1 / dim(x)))
    above = add(product(spread, per_dimension), positive)
    defined = transport(variance(x) + eps, prove(equal(variance(x) + eps, above.conclusion.term)), above)
    inverse = prove(greater(1 / denominator(x, eps) ** 2), defined)
    along = product(positive, square(dot(standardized(x, eps), v)), inverse, per_dimension)
    parts = [
        product(square(dot(ones(v), v)), per_dimension),
        product(sum_of_squares(lg.project(v)), spread, per_dimension, inverse),
        along,
        product(along, positive, inverse),
    ]
    return as_sum(goal, parts, defined)


def _norm_at_zero(goal: Formula, varies: Proved, x: Any, v: Any) -> Proved:
    """d‖v‖² − ‖Πx‖²‖Jv‖² = (1·v)² + (y·v)² at ε = 0."""
    return as_sum(goal, [square(dot(ones(v), v)), square(dot(standardized(x, 0), v))], varies)


def _at_constant(goal: Formula, constant: Proved, x: Any, v: Any, g: Any, eps: Any) -> Proved:
    """With Πx = 0 the variance vanishes, and √(σ² + ε) = √ε as functions of equal arguments."""
    vanishes = combine(variance(x), [(1 / dim(x), x, constant)])
    roots = congruence("sqrt", variance(x) + eps, eps, vanishes)
    inverses = congruence("inv", denominator(x, eps), root(eps), roots)
    # y = Πx/s, and Πx = 0.
    y = combine(standardized(x, eps), [(1 / denominator(x, eps), None, constant)])
    along = dot(standardized(x, eps), v) / dim(x) / denominator(x, eps)
    return combine(goal.term, [(g * lg.project(v), None, inverses), (-g * along, None, y)])


THEOREMS = (
    Theorem(
        id="jacobian.tangential",
        title="Directions orthogonal to 1 and to x are divided by the denominator",
        statement="J₀v = v/√(σ² + ε) for v ⟂ 1 and v ⟂ x",
        source=Source(XIONG, "Lemma 3", "states the spectral norm as O(√d/‖x‖)"),
        vectors="x v",
        scalars="eps",
        hypotheses=OFF_X,
        claim=lambda x, v, eps: equal(lg.jacobian_product(x, v, eps=eps), v / denominator(x, eps)),
        remark="These v fill d − 2 dimensions when x is not constant: that many singular values are equal.",
        model=orthogonal_model,
        mutants=(
            Mutant(
                "v·√d/‖x‖ at every ε",
                lambda x, v, eps: equal(lg.jacobian_product(x, v, eps=eps), v * root(dim(x)) / norm(x)),
            ),
        ),
    ),
    Theorem(
        id="jacobian.radial",
        title="The radial direction is shrunk by ε/(σ² + ε) more",
        statement="J₀x = ε Πx/(σ² + ε)^{3/2}",
        source=Source(XIONG, "proof of Lemma 3", "takes ε = 0, where the radial direction is in the kernel"),
        vectors="x",
        scalars="eps",
        hypotheses=DEFINED,
        claim=lambda x, eps: equal(lg.jacobian_product(x, x, eps=eps), eps * lg.project(x) / denominator(x, eps) ** 3),
        without={"σ² + ε > 0": "elsewhere the total inverse makes both sides 0"},
        mutants=(
            Mutant("J₀x = 0 with ε present", lambda x, eps: equal(lg.jacobian_product(x, x, eps=eps), 0)),
            Mutant(
                "ε Πx/√(σ² + ε)",
                lambda x, eps: equal(lg.jacobian_product(x, x, eps=eps), eps * lg.project(x) / denominator(x, eps)),
            ),
        ),
    ),
    Theorem(
        id="jacobian.trace",
        title="The trace of the Jacobian confirms the multiplicities of its spectrum",
        statement="tr J₀ = (d − 2)/√(σ² + ε) + ε/(σ² + ε)^{3/2}",
        source=Source(OWN, "Jacobian", "singular values 1/s (d − 2 times), ε/s³, 0"),
        vectors="x",
        scalars="eps",
        hypotheses=DEFINED,
        claim=lambda x, eps: equal(
            trace(lambda v: lg.jacobian_product(x, v, eps=eps), x),
            (dim(x) - 2) / denominator(x, eps) + eps / denominator(x, eps) ** 3,
        ),
        without={"σ² + ε > 0": "elsewhere the total inverse makes both sides 0"},
        mutants=(
            Mutant(
                "d − 1 equal singular values",
                lambda x, eps: equal(
                    trace(lambda v: lg.jacobian_product(x, v, eps=eps), x), (dim(x) - 1) / denominator(x, eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.contraction",
        title="Without gain, the Jacobian stretches nothing by more than 1/√ε",
        statement="ε‖J₀v‖² ≤ ‖v‖² for ε > 0",
        source=Source(ABSTRACT, "trade-offs of ε", "small ε brings numerical instability"),
        vectors="x v",
        scalars="eps",
        hypotheses=POSITIVE,
        claim=lambda x, v, eps: at_least(square_norm(v), eps * square_norm(lg.jacobian_product(x, v, eps=eps))),
        proof=lambda goal, given, x, v, eps: _contraction(goal, given[0], x, v, eps),
        without={"ε > 0": "for ε ≤ 0 the left side is not positive"},
        remark="By the mean value inequality 1/√ε is a Lipschitz constant, ‖GΠ‖₂/√ε with gain.",
        mutants=(
            Mutant(
                "ε²‖J₀v‖² ≤ ‖v‖², the constant 1/ε of ε outside the root",
                lambda x, v, eps: at_least(square_norm(v), eps**2 * square_norm(lg.jacobian_product(x, v, eps=eps))),
            ),
            Mutant(
                "no stretching at all",
                lambda x, v, eps: at_least(square_norm(v), square_norm(lg.jacobian_product(x, v, eps=eps))),
            ),
        ),
    ),
    Theorem(
        id="jacobian.lipschitz_attained",
        title="On the line of constant vectors the Jacobian is GΠ/√ε",
        statement="Jv = GΠv/√ε for Πx = 0",
        source=Source(OWN, "Jacobian", "exact Lipschitz constant"),
        vectors="x v g",
        scalars="eps",
        hypotheses={"Πx = 0": lambda x: equal(lg.project(x), 0)},
        claim=lambda x, v, g, eps: equal(lg.jacobian_product(x, v, g, eps=eps), g * lg.project(v) / root(eps)),
        proof=lambda goal, given, x, v, g, eps: _at_constant(goal, given[0], x, v, g, eps),
        remark="The Lipschitz constant of LayerNorm is ‖GΠ‖₂/√ε.",
        model=constant_model,
        mutants=(
            Mutant(
                "max|g|/√ε in place of GΠ/√ε: the projection dropped",
                lambda x, v, g, eps: equal(lg.jacobian_product(x, v, g, eps=eps), g * v / root(eps)),
                model=constant_model,
            ),
        ),
    ),
    Theorem(
        id="jacobian.norm",
        title="At ε = 0 the norm of the Jacobian is at most √d/‖Πx‖",
        statement="‖Πx‖²‖J₀v‖² ≤ d‖v‖² for ε = 0",
        source=Source(DIGEST, "Jacobian", "claims ‖J‖₂ = O(d/‖x‖) and cites Xiong et al., who have O(√d/‖x‖)"),
        vectors="x v",
        hypotheses=NOT_CONSTANT,
        claim=lambda x, v: at_least(
            dim(x) * square_norm(v), square_norm(lg.project(x)) * square_norm(lg.jacobian_product(x, v, eps=0))
        ),
        proof=lambda goal, given, x, v: _norm_at_zero(goal, given[0], x, v),
        without={"x is not constant": "at σ = 0 the total inverse makes the right side 0"},
        remark="Equality for v ⟂ 1 and v ⟂ x, which exist for d ≥ 3; for d = 2 the Jacobian is 0.",
        mutants=(
            Mutant(
                "‖x‖ in place of ‖Πx‖",
                lambda x, v: at_least(
                    dim(x) * square_norm(v), square_norm(x) * square_norm(lg.jacobian_product(x, v, eps=0))
                ),
            ),
            Mutant(
                "‖x‖‖J‖ ≤ d",
                lambda x, v: at_least(
                    dim(x) ** 2 * square_norm(v), square_norm(x) * square_norm(lg.jacobian_product(x, v, eps=0))
                ),
                model=lambda random, d: {
                    "x": tuple(1000 + random.randint(0, 1) for _ in range(d)),
                    "v": draw_vector(random, d),
                },
            ),
        ),
    ),
    Theorem(
        id="jacobian.no_uniform_bound",
        title="No bound of the form O(√d/‖x‖) or O(d/‖x‖) holds: shifts change ‖x‖ and leave the Jacobian",
        statement="J(x + c1) = J(x)",
        source=Source(XIONG, "Lemma 3", "states ‖J‖₂ = O(√d/‖x‖); the proof replaces ‖Πx‖ by ‖x‖"),
        vectors="x v g",
        scalars="c eps",
        claim=lambda x, v, g, c, eps: equal(
            lg.jacobian_product(x + c * ones(x), v, g, eps=eps), lg.jacobian_product(x, v, g, eps=eps)
        ),
        last_step="Unless J(x)v = 0, for every bound there is a c with ‖x + c1‖²‖J(x + c1)v‖² above it.",
        mutants=(
            Mutant(
                "the same for RMSNorm",
                lambda x, v, g, c, eps: equal(
                    lg.jacobian_product(x + c * ones(x), v, g, eps=eps, centered=False),
                    lg.jacobian_product(x, v, g, eps=eps, centered=False),
                ),
            ),
            Mutant(
                "invariance under scaling",
                lambda x, v, g, c, eps: equal(
                    lg.jacobian_product(c * x, v, g, eps=eps), lg.jacobian_product(x, v, g, eps=eps)
                ),
            ),
        ),
    ),
    Theorem(
        id="jacobian.small_inputs",
        title="At ε = 0 the Jacobian is homogeneous of degree −1: small σ amplifies gradients",
        statement="a J(ax) = J(x) for a > 0 and ε = 0",
        source=Source(DIGEST, "Jacobian", "LN amplifies gradients for small inputs and attenuates for large"),
        vectors="x v g",
        scalars="a",
        hypotheses={"a > 0": lambda a: greater(a), **NOT_CONSTANT},
        claim=lambda x, v, g, a: equal(
            a * lg.jacobian_product(a * x, v, g, eps=0), lg.jacobian_product(x, v, g, eps=0)
        ),
        without={"x is not constant": "at σ = 0 the total inverse makes both sides 0"},
        mutants=(
            Mutant(
                "the same at ε = 1",
                lambda x, v, g, a: equal(
                    a * lg.jacobian_product(a * x, v, g, eps=1), lg.jacobian_product(x, v, g, eps=1)
                ),
            ),
        ),
    ),
)
