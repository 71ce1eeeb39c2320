"""The standardized vector: mean 0 and variance 1, which is orthogonal to 1 and of norm √d."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    dim,
    dot,
    equal,
    greater,
    multiply,
    norm,
    ones,
    prove,
    root,
    square,
    square_norm,
    summed,
    total,
    transport,
)

from ..._hypotheses import NOT_CONSTANT, POSITIVE_EPS, TOTAL, coordinate, deviation, mean, standard, variance
from ..._sources import BA, DIGEST, GUPTA, OWN
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_vector


def unscaled(x: Any) -> Any:
    """X − μ1 over the variance in place of the deviation."""
    return (x - mean(x)) / variance(x)


def sample_standardized(x: Any) -> Any:
    """(x − μ1)/s with the sample variance, divisor d − 1."""
    return (x - mean(x)) / root(variance(x) * dim(x) / (dim(x) - 1))


def coordinate_model(random: Random, d: int) -> dict[str, Any]:
    """A vector and a coordinate vector."""
    return {"x": draw_vector(random, d), "e": coordinate(random, d)}


def standard_model(random: Random, d: int) -> dict[str, Any]:
    """A vector of mean 0 and variance 1."""
    return {"x": standard(random, d)}


COORDINATE = {
    "e is 0 or 1 in each component": lambda e: equal(e * e, e),
    "exactly one component of e is 1": lambda e: equal(summed(e), 1),
}


def _samuelson(goal: Formula, given: list[Proved], x: Any, e: Any) -> Proved:
    not_constant, zero_or_one, one, dimension = given
    y, d = lg.standardize(x, eps=0), dim(x)
    t = dot(e, y)
    # ‖(d − 1)y − t(de − 1)‖² = d(d − 1)(d − 1 − t²), because ‖y‖² = d, 1·y = 0, ‖e‖² = 1·e = 1.
    squares = total(square((d - 1) * y - t * (d * e - ones(x))))
    factor = d * (d - 1)
    spread = prove(equal((d - 1 - t * t) * factor, squares.conclusion.term), not_constant, zero_or_one, one)
    product = transport((d - 1 - t * t) * factor, spread, squares)
    inverse = prove(greater(1 / factor), dimension)
    whole = multiply(product, inverse)
    above = prove(greater(factor), dimension)
    same = prove(equal(goal.term, whole.conclusion.term), above, dimension, not_constant)
    return transport(goal.term, same, whole)


THEOREMS = (
    Theorem(
        id="standardization.definition",
        title="Each component is its distance from the mean in units of the deviation",
        statement="σ y_i = x_i − μ, with μ = (1·x)/d and σ = ‖x − μ1‖/√d",
        source=Source(GUPTA, "eqs. 1 to 4", "y = (x − μ)/σ"),
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(
            norm(x - dot(ones(x), x) / dim(x) * ones(x)) / root(dim(x)) * lg.standardize(x, eps=0),
            x - dot(ones(x), x) / dim(x) * ones(x),
        ),
        without={"x is not constant": TOTAL},
        mutants=(
            Mutant(
                "x_i μ in place of x_i − μ, as printed",
                lambda x: equal(deviation(x) * lg.standardize(x, eps=0), x * mean(x)),
            ),
            Mutant(
                "the variance in place of the deviation",
                lambda x: equal(variance(x) * lg.standardize(x, eps=0), x - mean(x)),
            ),
            Mutant(
                "the sample variance, divisor d − 1", lambda x: equal(lg.standardize(x, eps=0), sample_standardized(x))
            ),
        ),
    ),
    Theorem(
        id="standardization.geometric",
        title="LayerNorm removes the component along 1, normalizes, and scales by √d",
        statement="‖Πx‖ y = √d Πx",
        source=Source(GUPTA, "eq. 9 and algorithm 1", "y = √d x_⊥/‖x_⊥‖"),
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(norm(lg.project(x)) * lg.standardize(x, eps=0), root(dim(x)) * lg.project(x)),
        without={"x is not constant": TOTAL},
        mutants=(
            Mutant(
                "radius √(d − 1)",
                lambda x: equal(norm(lg.project(x)) * lg.standardize(x, eps=0), root(dim(x) - 1) * lg.project(x)),
            ),
            Mutant("without the first step", lambda x: equal(norm(x) * lg.standardize(x, eps=0), root(dim(x)) * x)),
            Mutant(
                "normalized before it is projected",
                lambda x: equal(norm(x) * lg.standardize(x, eps=0), root(dim(x)) * lg.project(x)),
            ),
        ),
    ),
    Theorem(
        id="standardization.norm",
        title="The standardized vector has norm √d",
        statement="‖y‖ = √d at ε = 0",
        source=Source(GUPTA, "after eq. 9", "the norm of y is √d"),
        vectors="x g",
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(norm(lg.standardize(x, eps=0)), root(dim(x))),
        mutants=(
            Mutant("norm √(d − 1)", lambda x: equal(norm(lg.standardize(x, eps=0)), root(dim(x) - 1))),
            Mutant("norm 1", lambda x: equal(norm(lg.standardize(x, eps=0)), 1)),
            Mutant("still √d after a gain", lambda x, g: equal(norm(lg.layer_norm(x, g, eps=0)), root(dim(x)))),
        ),
    ),
    Theorem(
        id="standardization.mean_zero",
        title="The standardized vector is orthogonal to the uniform vector, for every ε",
        statement="1·y_ε = 0",
        source=Source(GUPTA, "after eq. 9", "y is orthogonal to the uniform vector"),
        vectors="x g",
        scalars="eps",
        claim=lambda x, eps: equal(dot(ones(x), lg.standardize(x, eps=eps)), 0),
        mutants=(
            Mutant("also after a gain", lambda x, g, eps: equal(dot(ones(x), lg.layer_norm(x, g, eps=eps)), 0)),
            Mutant("also after a bias", lambda x, g, eps: equal(dot(ones(x), lg.layer_norm(x, None, g, eps=eps)), 0)),
        ),
    ),
    Theorem(
        id="standardization.variance_one",
        title="The standardized vector has variance 1",
        statement="σ²(y) = 1 at ε = 0",
        source=Source(BA, "eq. 4", "the summed inputs of a layer get mean 0 and variance 1"),
        scalars="eps",
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(variance(lg.standardize(x, eps=0)), 1),
        mutants=(
            Mutant(
                "also for ε > 0",
                lambda x, eps: equal(variance(lg.standardize(x, eps=eps)), 1),
                {**NOT_CONSTANT, **POSITIVE_EPS},
            ),
            Mutant("the sample variance is 1", lambda x: equal(square_norm(lg.standardize(x, eps=0)), dim(x) - 1)),
        ),
    ),
    Theorem(
        id="standardization.same_information",
        title="Orthogonal to 1 and of norm √d is the same as mean 0 and variance 1",
        statement="1·x = 0 and ‖x‖² = d imply σ²(x) = 1",
        source=Source(GUPTA, "section 2", "mean and variance tell little about norm and orientation"),
        hypotheses={
            "x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0),
            "‖x‖² = d": lambda x: equal(square_norm(x), dim(x)),
        },
        claim=lambda x: equal(variance(x), 1),
        model=standard_model,
        mutants=(
            Mutant(
                "norm 1 suffices",
                hypotheses={
                    "x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0),
                    "‖x‖² = 1": lambda x: equal(square_norm(x), 1),
                },
            ),
        ),
    ),
    Theorem(
        id="standardization.sphere_fixed",
        title="Every vector of the sphere is its own standardization, so the image is the whole sphere",
        statement="1·x = 0 and ‖x‖² = d imply y = x",
        source=Source(DIGEST, "geometric effect", "the image is a (d − 1)-dimensional hypersphere"),
        hypotheses={
            "x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0),
            "‖x‖² = d": lambda x: equal(square_norm(x), dim(x)),
        },
        claim=lambda x: equal(lg.standardize(x, eps=0), x),
        model=standard_model,
        last_step=(
            "With standardization.norm and standardization.mean_zero: the image of LN at ε = 0, of vectors "
            "that are not constant, is the set of all z with 1·z = 0 and ‖z‖² = d."
        ),
        remark=(
            "It is the sphere of radius √d in the hyperplane 1^⊥ of dimension d − 1, a sphere of dimension d "
            "− 2, not d − 1."
        ),
        mutants=(
            Mutant(
                "the sphere need not lie in the hyperplane",
                hypotheses={"‖x‖² = d": lambda x: equal(square_norm(x), dim(x))},
            ),
            Mutant("any radius", hypotheses={"x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0)}),
        ),
    ),
    Theorem(
        id="standardization.idempotent",
        title="Standardizing twice is standardizing once",
        statement="LN(LN(x)) = LN(x) at ε = 0",
        source=Source(OWN, "standardization", "the image is a set of fixed points"),
        scalars="eps",
        hypotheses=NOT_CONSTANT,
        claim=lambda x: equal(lg.standardize(lg.standardize(x, eps=0), eps=0), lg.standardize(x, eps=0)),
        without={"x is not constant": TOTAL},
        mutants=(
            Mutant(
                "also for ε > 0",
                lambda x, eps: equal(lg.standardize(lg.standardize(x, eps=eps), eps=eps), lg.standardize(x, eps=eps)),
                {**NOT_CONSTANT, **POSITIVE_EPS},
            ),
        ),
    ),
    Theorem(
        id="standardization.component_bound",
        title="No component exceeds √(d − 1)",
        statement="y_i² <= d − 1",
        source=Source(
            "Samuelson, J. Amer. Statist. Assoc. 63 (1968)",
            "p. 1522",
            "no observation is more than √(n − 1) deviations from the mean",
        ),
        vectors="x e",
        hypotheses={**NOT_CONSTANT, **COORDINATE, "d >= 2": lambda x: greater(dim(x), 1)},
        claim=lambda x, e: at_least(dim(x) - 1, dot(e, lg.standardize(x, eps=0)) ** 2),
        proof=_samuelson,
        model=coordinate_model,
        last_step=(
            "For e the i-th coordinate vector e·y is y_i: the bound holds of every component of every vector "
            "that is not constant."
        ),
        without={
            "x is not constant": "for a constant vector y is 0 where 1/0 is read as 0; the library returns NaN",
            "d >= 2": "implied by the first hypothesis, as every vector of dimension 1 is constant",
        },
        mutants=(
            Mutant("y_i² <= 1", lambda x, e: at_least(1, dot(e, lg.standardize(x, eps=0)) ** 2)),
            Mutant("y_i² < d − 1", lambda x, e: greater(dim(x) - 1, dot(e, lg.standardize(x, eps=0)) ** 2)),
        ),
    ),
    Theorem(
        id="standardization.component_attained",
        title="One-hot vectors attain the bound of a component",
        statement="y_i = √(d − 1) for x = e_i",
        source=Source(OWN, "standardization", "a massive activation leaves LayerNorm as √(d − 1) at most"),
        vectors="e",
        hypotheses={**COORDINATE, "d >= 2": lambda e: greater(dim(e), 1)},
        claim=lambda e: equal(dot(e, lg.standardize(e, eps=0)), root(dim(e) - 1)),
        model=lambda random, d: {"e": coordinate(random, d)},
        without={"d >= 2": "for d = 1 both sides are 0 where 1/0 is read as 0; the library returns NaN"},
        mutants=(Mutant("y_i = √d", lambda e: equal(dot(e, lg.standardize(e, eps=0)), root(dim(e)))),),
    ),
)
