"""Projection: mean subtraction is the orthogonal projector Π = I − 11ᵀ/d off the uniform vector."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    cancel,
    combine,
    definite,
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
    summed,
    trace,
)

from .._hypotheses import mean, variance
from .._sources import GUPTA, OWN, RIECHERS
from .._theorem import Mutant, Source, Theorem
from ..checks import draw_vector


def unit(x: Any) -> Any:
    """Unit vector 1̂ = 1/√d in the direction of 1."""
    return ones(x) / root(dim(x))


def without_divisor(x: Any) -> Any:
    """(I − 11ᵀ)x, the projector without its divisor."""
    return x - dot(ones(x), x) * ones(x)


def with_sample_divisor(x: Any) -> Any:
    """(I − 11ᵀ/(d − 1))x, written for d other than 1 by its defining product."""
    return x - dot(ones(x), x) * ones(x) / (dim(x) - 1)


def centered_model(random: Random, d: int) -> dict[str, Any]:
    """A vector orthogonal to 1: differences of neighbours, around a circle."""
    x = draw_vector(random, d)
    return {"x": tuple(a - b for a, b in zip(x, x[1:] + x[:1], strict=True))}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A vector of equal components."""
    return {"x": draw_vector(random, d)[:1] * d}


def equivariant_model(random: Random, d: int) -> dict[str, Any]:
    """Operators aI + c11ᵀ that are a projector of rank d − 1, or are one but for a single condition."""
    n = Fraction(d)
    pairs = [(Fraction(1), -1 / n), (Fraction(0), 1 - 1 / n)]
    if d > 1:
        pairs.append(((n - 2) / (n - 1), 1 / (n * (n - 1))))
    a, c = random.choice(pairs)
    w = random.choice((centered_model(random, d)["x"], (Fraction(1),) * d, (Fraction(0),) * d))
    return {"x": draw_vector(random, d), "w": w, "a": a, "c": c}


def _vanishing(goal: Formula, given: list[Proved], x: Any) -> Proved:
    zero = prove(equal(square_norm(lg.project(x)), 0), *given)
    return prove(goal, definite(lg.project(x), zero))


def _equivariant(a: Any, c: Any) -> Callable[[Any], Any]:
    """AI + c11ᵀ, the general operator that commutes with all permutations of the coordinates."""
    return lambda v: a * v + c * summed(v)


def _only_projector(goal: Formula, given: list[Proved], x: Any, w: Any, a: Any, c: Any) -> Proved:
    idempotent_off, idempotent_on, rank, centered, nonzero, dimension = given
    # On w ⟂ 1 the operator is multiplication by a, hence a² = a.
    along = prove(equal((a * a - a) * square_norm(w), 0), (idempotent_off, a * a * w), centered)
    a_squared = cancel(a * a - a, along, nonzero)
    d = dim(x)
    # With c = (d − 1)/d − a the equation on 1 becomes (1 − a)(d − 1)(d − 2) = 0.
    c_known = prove(equal(c, (d - 1) / d - a), (rank, c))
    left = idempotent_on.conclusion.term
    factored = (1 - a) * ((d - 1) * (d - 2))
    same = prove(equal(left, factored), (c_known, c), (a_squared, a * a))
    product = combine(factored, [(1, None, idempotent_on), (-1, None, same)])
    above = prove(greater((d - 1) * (d - 2)), dimension)
    one = cancel(1 - a, product, above)
    return prove(goal, (one, a), (c_known, c))


THEOREMS = (
    Theorem(
        id="projection.uniform_norm",
        title="The uniform vector has norm √d",
        statement="‖1‖ = √d",
        source=Source(GUPTA, "section 2.1", "the uniform vector has norm √d"),
        claim=lambda x: equal(norm(ones(x)), root(dim(x))),
        mutants=(Mutant("norm 1", lambda x: equal(norm(ones(x)), 1)),),
    ),
    Theorem(
        id="projection.mean_subtraction",
        definition=True,
        title="Mean subtraction is the projector off the uniform vector",
        statement="x − μ1 = (I − 11ᵀ/d)x",
        source=Source(GUPTA, "eq. 8", "removing the mean removes the component along the uniform vector"),
        claim=lambda x: equal(lg.project(x), x - dot(ones(x), x) / dim(x) * ones(x)),
        mutants=(
            Mutant(
                "a projection onto 1 instead of off it",
                lambda x: equal(lg.project(x), dot(ones(x), x) / dim(x) * ones(x)),
            ),
            Mutant("divisor d − 1", lambda x: equal(lg.project(x), with_sample_divisor(x))),
            Mutant("no divisor", lambda x: equal(lg.project(x), without_divisor(x))),
        ),
    ),
    Theorem(
        id="projection.idempotent",
        title="Projecting twice is projecting once",
        statement="Π² = Π",
        source=Source(RIECHERS, "section 2", "Π = I − 1̂1̂ᵀ is a projector"),
        claim=lambda x: equal(lg.project(lg.project(x)), lg.project(x)),
        mutants=(
            Mutant("without the divisor d", lambda x: equal(without_divisor(without_divisor(x)), without_divisor(x))),
            Mutant(
                "with the divisor d − 1",
                lambda x: equal(with_sample_divisor(with_sample_divisor(x)), with_sample_divisor(x)),
            ),
        ),
    ),
    Theorem(
        id="projection.symmetric",
        title="The projector is symmetric, so the projection is orthogonal",
        statement="Πᵀ = Π, that is y·Πx = Πy·x for all x and y",
        source=Source(RIECHERS, "section 2", "Π is a symmetric matrix"),
        vectors="x y",
        claim=lambda x, y: equal(dot(y, lg.project(x)), dot(lg.project(y), x)),
        mutants=(
            Mutant(
                "an oblique projection along 1, parallel to another direction",
                lambda x, y: equal(dot(y, x - dot(y, x) * ones(x)), dot(y - dot(y, y) * ones(x), x)),
            ),
        ),
    ),
    Theorem(
        id="projection.inner_product",
        title="The inner product with a centred vector needs only that of the vectors and their means",
        statement="(x − μ1)·z = x·z − dμν, ν the mean of z",
        source=Source(OWN, "angles", "the rotation by gain and bias follows from x·z and the two means"),
        vectors="x z",
        claim=lambda x, z: equal(dot(lg.project(x), z), lg.centered_inner_product(dot(x, z), mean(x), mean(z), dim(x))),
        mutants=(
            Mutant(
                "without the factor d",
                lambda x, z: equal(dot(lg.project(x), z), lg.centered_inner_product(dot(x, z), mean(x), mean(z), 1)),
            ),
        ),
    ),
    Theorem(
        id="projection.annihilates_uniform",
        title="The uniform vector and its multiples are projected to zero",
        statement="Π(c1) = 0",
        source=Source(RIECHERS, "section 2", "the direction of 1 is lost"),
        scalars="c",
        claim=lambda x, c: equal(lg.project(c * ones(x)), 0),
        mutants=(
            Mutant("with the divisor d − 1", lambda x, c: equal(with_sample_divisor(c * ones(x)), 0)),
            Mutant("the mean vector vanishes instead", lambda x, c: equal(lg.mean_vector(c * ones(x)), 0)),
        ),
    ),
    Theorem(
        id="projection.trace",
        title="The projector has trace d − 1",
        statement="tr Π = d − 1",
        source=Source(RIECHERS, "section 2", "the outputs lie in N − 1 dimensions"),
        claim=lambda x: equal(trace(lg.project, x), dim(x) - 1),
        last_step="The rank of Π is d − 1.",
        mutants=(
            Mutant("trace d", lambda x: equal(trace(lg.project, x), dim(x))),
            Mutant("trace d − 2", lambda x: equal(trace(lg.project, x), dim(x) - 2)),
        ),
    ),
    Theorem(
        id="projection.mean_zero",
        title="Projected vectors are orthogonal to the uniform vector",
        statement="1·Πx = 0",
        source=Source(GUPTA, "after eq. 8", "what is left is orthogonal to 1"),
        vectors="x g",
        claim=lambda x: equal(dot(ones(x), lg.project(x)), 0),
        mutants=(
            Mutant("still true after a gain", lambda x, g: equal(dot(ones(x), g * lg.project(x)), 0)),
            Mutant("still true after a bias", lambda x, g: equal(dot(ones(x), lg.project(x) + g), 0)),
        ),
    ),
    Theorem(
        id="projection.fixes_hyperplane",
        title="Vectors orthogonal to the uniform vector are left alone",
        statement="1·x = 0 implies Πx = x",
        source=Source(GUPTA, "section 3", "for a vector orthogonal to 1 there is nothing to remove"),
        hypotheses={"x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0)},
        claim=lambda x: equal(lg.project(x), x),
        model=centered_model,
        last_step="With 1·Πx = 0: the range of Π is exactly the hyperplane 1^⊥.",
        mutants=(
            Mutant("its mean is 1, not 0", hypotheses={"1·x = d": lambda x: equal(dot(ones(x), x), dim(x))}),
            Mutant("it is projected to zero", lambda x: equal(lg.project(x), 0)),
        ),
    ),
    Theorem(
        id="projection.variance_zero",
        title="The variance vanishes only if all components are equal",
        statement="σ² = 0 implies x = μ1",
        source=Source(GUPTA, "after eq. 4", "σ = 0 if and only if x equals its mean vector"),
        hypotheses={"σ² = 0": lambda x: equal(variance(x), 0)},
        claim=lambda x: equal(x, lg.mean_vector(x)),
        proof=_vanishing,
        model=constant_model,
        mutants=(
            Mutant("σ² = 1 suffices", hypotheses={"σ² = 1": lambda x: equal(variance(x), 1)}),
            Mutant("x = 0 follows", lambda x: equal(x, 0)),
        ),
    ),
    Theorem(
        id="projection.orthogonal_parts",
        title="The mean vector and the projected vector are orthogonal",
        statement="μ1·Πy = 0",
        source=Source(GUPTA, "section 2.1", "a vector is split into a part along 1 and a part orthogonal to 1"),
        vectors="x y",
        claim=lambda x, y: equal(dot(lg.mean_vector(x), lg.project(y)), 0),
        mutants=(
            Mutant("the vector itself and its projection are orthogonal", lambda x: equal(dot(x, lg.project(x)), 0)),
        ),
    ),
    Theorem(
        id="projection.pythagoras",
        title="The squared norm is that of the mean vector plus that of the projected vector",
        statement="‖x‖² = ‖μ1‖² + ‖Πx‖²",
        source=Source(GUPTA, "section 2.1", "the two parts add up to the vector at a right angle"),
        claim=lambda x: equal(square_norm(x), square_norm(lg.mean_vector(x)) + square_norm(lg.project(x))),
        mutants=(
            Mutant(
                "the mean itself instead of the mean vector",
                lambda x: equal(square_norm(x), lg.moments(x)[0] ** 2 + square_norm(lg.project(x))),
            ),
        ),
    ),
    Theorem(
        id="projection.pythagoras_moments",
        title="Mean and deviation are the legs of a right triangle",
        statement="‖x‖² = d(μ² + σ²)",
        source=Source(GUPTA, "eqs. 1 to 3", "mean and population variance, divisor d"),
        claim=lambda x: equal(square_norm(x), dim(x) * (lg.moments(x)[0] ** 2 + variance(x))),
        mutants=(
            Mutant(
                "without the factor d of μ²",
                lambda x: equal(square_norm(x), lg.moments(x)[0] ** 2 + dim(x) * variance(x)),
            ),
            Mutant(
                "with the divisor d − 1 of the sample variance",
                lambda x: equal(square_norm(x), dim(x) * lg.moments(x)[0] ** 2 + (dim(x) - 1) * variance(x)),
            ),
        ),
    ),
    Theorem(
        id="projection.mean_vector",
        title="The mean vector is the projection onto the uniform vector",
        statement="μ1 = (x·1̂)1̂, 1̂ = 1/√d",
        source=Source(GUPTA, "eqs. 2 and 7", "the mean vector is the vector projection of x on 1"),
        claim=lambda x: equal(lg.mean_vector(x), dot(x, unit(x)) * unit(x)),
        mutants=(
            Mutant(
                "1 itself in place of the unit vector", lambda x: equal(lg.mean_vector(x), dot(x, ones(x)) * ones(x))
            ),
            Mutant("with the divisor √d once", lambda x: equal(lg.mean_vector(x), dot(x, unit(x)) * ones(x))),
        ),
    ),
    Theorem(
        id="projection.mean_vector_norm",
        title="The norm of the mean vector is the absolute scalar projection",
        statement="‖μ1‖ = |x·1̂|",
        source=Source(GUPTA, "eqs. 5 and 6", "the norm of the mean vector is x·1̂, without the absolute value"),
        claim=lambda x: equal(norm(lg.mean_vector(x)), abs(dot(x, unit(x)))),
        mutants=(
            Mutant("without the absolute value", lambda x: equal(norm(lg.mean_vector(x)), dot(x, unit(x)))),
            Mutant("‖μ1‖ = |μ|, without √d", lambda x: equal(norm(lg.mean_vector(x)), abs(lg.moments(x)[0]))),
            Mutant(
                "‖μ1‖ = μ√d, with its sign", lambda x: equal(norm(lg.mean_vector(x)), lg.moments(x)[0] * root(dim(x)))
            ),
        ),
    ),
    Theorem(
        id="projection.mean_vector_cosine",
        title="The norm of the mean vector is the norm times the absolute cosine",
        statement="‖μ1‖ = ‖x‖ |cos θ|, θ the angle between x and 1",
        source=Source(GUPTA, "eq. 5", "the norm of the mean vector is ‖x‖ cos θ"),
        hypotheses={"x is not 0": lambda x: greater(square_norm(x))},
        claim=lambda x: equal(norm(lg.mean_vector(x)), norm(x) * abs(dot(x, ones(x)) / (norm(x) * norm(ones(x))))),
        without={"x is not 0": "for x = 0 both sides are 0 when the cosine, a quotient by 0, is read as 0"},
        mutants=(
            Mutant(
                "without the absolute value",
                lambda x: equal(norm(lg.mean_vector(x)), norm(x) * (dot(x, ones(x)) / (norm(x) * norm(ones(x))))),
            ),
        ),
    ),
    Theorem(
        id="projection.nearest",
        title="The mean vector is the nearest multiple of the uniform vector",
        statement="‖x − c1‖² >= ‖Πx‖² for every c",
        source=Source(GUPTA, "section 2.1", "the mean vector is an orthogonal projection"),
        scalars="c",
        claim=lambda x, c: at_least(square_norm(x - c * ones(x)), square_norm(lg.project(x))),
        lemmas=lambda x, c: [square(lg.moments(x)[0] - c)],
        mutants=(
            Mutant(
                "strictly farther for every c",
                lambda x, c: greater(square_norm(x - c * ones(x)), square_norm(lg.project(x))),
            ),
            Mutant(
                "the zero vector is the nearest", lambda x, c: at_least(square_norm(x - c * ones(x)), square_norm(x))
            ),
        ),
    ),
    Theorem(
        id="projection.only_invariant_projector",
        title="No other projector of rank d − 1 treats all coordinates alike",
        statement="for d >= 3: if P = aI + c11ᵀ, P² = P and tr P = d − 1, then P = Π",
        source=Source(GUPTA, "section 3", "1 is an arbitrarily chosen direction"),
        vectors="x w",
        scalars="a c",
        hypotheses={
            "P² = P on w": lambda w, a, c: equal(_equivariant(a, c)(_equivariant(a, c)(w)), _equivariant(a, c)(w)),
            "P² = P on 1": lambda x, a, c: equal(
                _equivariant(a, c)(_equivariant(a, c)(ones(x))), _equivariant(a, c)(ones(x))
            ),
            "tr P = d − 1": lambda x, a, c: equal(trace(_equivariant(a, c), x), dim(x) - 1),
            "w is orthogonal to 1": lambda w: equal(summed(w), 0),
            "w is not 0": lambda w: greater(square_norm(w)),
            "d >= 3": lambda x: greater((dim(x) - 1) * (dim(x) - 2)),
        },
        claim=lambda x, a, c: equal(_equivariant(a, c)(x), lg.project(x)),
        proof=_only_projector,
        model=equivariant_model,
        last_step=(
            "For d ≥ 3 the only matrix P with P² = P and rank d − 1 that commutes with every permutation "
            "of the coordinates is Π."
        ),
        mutants=(
            Mutant("P = I", lambda x, a, c: equal(_equivariant(a, c)(x), x)),
            Mutant("P = 11ᵀ/d", lambda x, a, c: equal(_equivariant(a, c)(x), lg.mean_vector(x))),
        ),
    ),
)
