"""Projection: mean subtraction is the orthogonal projector Π = I − 11ᵀ/d off the uniform vector."""

from collections.abc import Callable
from fractions import Fraction

import lngeom as lg
from lngeom import prover as sy
from lngeom.projection import centered_inner_product, mean_vector
from lngeom.prover import dim, dot, norm, ones, root, square_norm, summed, trace
from lngeom.strategies import centred
from lngeom.theorems import Scalar, Vector, assume, theorem, wrong

from .._shared import mean, variance
from ..works import GUPTA, OWN, RIECHERS


@theorem(GUPTA, "section 2.1", "the uniform vector has norm √d", kind="lemma")
def test_uniform_norm(x: Vector):
    """The uniform vector has norm √d.

    ‖1‖ = √d
    """
    assert norm(ones(x)) == root(dim(x))
    wrong("1 is a unit vector", lambda: norm(ones(x)) == 1)


def with_sample_divisor(x: Vector) -> Vector:
    """(I − 11ᵀ/(d − 1))x, written for d other than 1 by its defining product."""
    return x - dot(ones(x), x) * ones(x) / (dim(x) - 1)


def without_divisor(x: Vector) -> Vector:
    """(I − 11ᵀ)x, the projector without its divisor."""
    return x - dot(ones(x), x) * ones(x)


@theorem(GUPTA, "eq. 8", "removing the mean removes the component along the uniform vector", kind="definition")
def test_mean_subtraction(x: Vector):
    """Mean subtraction is the projector off the uniform vector.

    x − μ1 = (I − 11ᵀ/d)x
    """
    assert lg.project(x) == x - dot(ones(x), x) / dim(x) * ones(x)
    wrong("divisor d − 1", lambda: lg.project(x) == with_sample_divisor(x))
    wrong("no divisor", lambda: lg.project(x) == without_divisor(x))
    wrong("the projection onto 1", lambda: lg.project(x) == mean_vector(x), at={"x": (1, -1)})


@theorem(RIECHERS, "section 2", "Π = I − 1̂1̂ᵀ is a projector", kind="lemma")
def test_idempotent(x: Vector):
    """Projecting twice is projecting once.

    Π² = Π
    """
    assert lg.project(lg.project(x)) == lg.project(x)
    wrong("without the divisor d", lambda: without_divisor(without_divisor(x)) == without_divisor(x))
    wrong("with the divisor d − 1", lambda: with_sample_divisor(with_sample_divisor(x)) == with_sample_divisor(x))


@theorem(RIECHERS, "section 2", "Π is a symmetric matrix", kind="lemma")
def test_symmetric(x: Vector, y: Vector):
    """The projector is symmetric, so the projection is orthogonal.

    Πᵀ = Π, that is y·Πx = Πy·x for all x and y
    """
    assert dot(y, lg.project(x)) == dot(lg.project(y), x)
    wrong(
        "an oblique projection along 1, parallel to another direction",
        lambda: dot(y, x - dot(y, x) * ones(x)) == dot(y - dot(y, y) * ones(x), x),
    )


@theorem(OWN, "angles", "the rotation by gain and bias follows from x·z and the two means", kind="lemma")
def test_inner_product(x: Vector, z: Vector):
    """The inner product with a centred vector needs only that of the vectors and their means.

    (x − μ1)·z = x·z − dμν, ν the mean of z
    """
    inner, means = dot(lg.project(x), z), (mean(x), mean(z))
    assert inner == centered_inner_product(dot(x, z), *means, dim(x))
    wrong("without the factor d", lambda: inner == centered_inner_product(dot(x, z), *means, 1))


@theorem(RIECHERS, "section 2", "the direction of 1 is lost", kind="lemma")
def test_annihilates_uniform(x: Vector, c: Scalar):
    """The uniform vector and its multiples are projected to zero.

    Π(c1) = 0
    """
    assert lg.project(c * ones(x)) == 0
    wrong("with the divisor d − 1", lambda: with_sample_divisor(c * ones(x)) == 0)


@theorem(RIECHERS, "section 2", "the outputs lie in N − 1 dimensions")
def test_trace(x: Vector):
    """The projector has trace d − 1.

    tr Π = d − 1

    Last step: The rank of Π is d − 1.
    """
    assert trace(lg.project, x) == dim(x) - 1
    wrong("trace d − 2", lambda: trace(lg.project, x) == dim(x) - 2)


@theorem(GUPTA, "after eq. 8", "what is left is orthogonal to 1", kind="lemma")
def test_mean_zero(x: Vector, g: Vector):
    """Projected vectors are orthogonal to the uniform vector.

    1·Πx = 0
    """
    assert dot(ones(x), lg.project(x)) == 0
    wrong("still true after a gain", lambda: dot(ones(x), g * lg.project(x)) == 0)
    wrong("still true after a bias", lambda: dot(ones(x), lg.project(x) + g) == 0)


@theorem(GUPTA, "section 3", "for a vector orthogonal to 1 there is nothing to remove", kind="lemma")
def test_fixes_hyperplane(x: Vector):
    """Vectors orthogonal to the uniform vector are left alone.

    1·x = 0 implies Πx = x

    Last step: With 1·Πx = 0: the range of Π is exactly the hyperplane 1^⊥.
    """
    assume(dot(ones(x), x) == 0, "x is orthogonal to 1")
    assert lg.project(x) == x
    wrong("its mean is 1, not 0", instead={"x is orthogonal to 1": lambda: dot(ones(x), x) == dim(x)})


@theorem(GUPTA, "after eq. 4", "σ = 0 if and only if x equals its mean vector", kind="lemma")
def test_variance_zero(x: Vector):
    """The variance vanishes only if all components are equal.

    σ² = 0 implies x = μ1
    """
    assume(variance(x) == 0, "σ² = 0")
    assert x == mean_vector(x)
    wrong("x = 0 follows", lambda: x == 0)


@theorem(GUPTA, "eqs. 1 to 3", "mean and population variance, divisor d", kind="lemma")
def test_pythagoras_moments(x: Vector):
    """The squared norm is d times the sum of the squared mean and the variance.

    ‖x‖² = d(μ² + σ²)
    """
    assert square_norm(x) == dim(x) * (mean(x) ** 2 + variance(x))
    wrong("without the factor d of μ²", lambda: square_norm(x) == mean(x) ** 2 + dim(x) * variance(x))
    wrong(
        "with the divisor d − 1 of the sample variance",
        lambda: square_norm(x) == dim(x) * mean(x) ** 2 + (dim(x) - 1) * variance(x),
    )


def unit(x: Vector) -> Vector:
    """Unit vector 1̂ = 1/√d in the direction of 1."""
    return ones(x) / root(dim(x))


@theorem(GUPTA, "eqs. 2 and 7", "the mean vector is the vector projection of x on 1", kind="lemma")
def test_mean_vector(x: Vector):
    """The mean vector is the projection onto the uniform vector.

    μ1 = (x·1̂)1̂, 1̂ = 1/√d
    """
    assert mean_vector(x) == dot(x, unit(x)) * unit(x)
    wrong("1 itself in place of the unit vector", lambda: mean_vector(x) == dot(x, ones(x)) * ones(x))
    wrong("with the divisor √d once", lambda: mean_vector(x) == dot(x, unit(x)) * ones(x))


@theorem(GUPTA, "eqs. 5 and 6", "the norm of the mean vector is x·1̂, without the absolute value", kind="lemma")
def test_mean_vector_norm(x: Vector):
    """The norm of the mean vector is the absolute scalar projection.

    ‖μ1‖ = |x·1̂|

    Remark: For x ≠ 0 the right side is ‖x‖ |cos θ|, θ the angle between x and 1: that x·1̂ = ‖x‖ cos θ defines the
    angle.
    """
    assert norm(mean_vector(x)) == abs(dot(x, unit(x)))
    wrong("without the absolute value", lambda: norm(mean_vector(x)) == dot(x, unit(x)), at={"x": (-1, -1)})
    wrong("‖μ1‖ = |μ|, without √d", lambda: norm(mean_vector(x)) == abs(mean(x)))
    wrong("‖μ1‖ = μ√d, with its sign", lambda: norm(mean_vector(x)) == mean(x) * root(dim(x)), at={"x": (-1, -1)})


def equivariant(a: Scalar, c: Scalar) -> Callable[[Vector], Vector]:
    """The general operator that commutes with all permutations of the coordinates, aI + c11ᵀ."""
    return lambda v: a * v + c * summed(v)


def shrinking(d: int, w: list[int]) -> dict[str, object]:
    """An operator that keeps 1 and has the trace d − 1, but shrinks vectors orthogonal to 1."""
    x = [1, *[0] * (d - 1)]
    return {"x": x, "w": w, "a": Fraction(d - 2, max(1, d - 1)), "c": Fraction(1, d * max(1, d - 1))}


@theorem(
    GUPTA,
    "section 3",
    "1 is an arbitrarily chosen direction",
    models=lambda d: {"a": 1, "c": Fraction(-1, d), "w": centred(d)},
    without={
        "P² = P on w": lambda d: shrinking(d, [1, -1, *[0] * d][:d]),
        "P² = P on 1": lambda d: shrinking(d, [1, -1, *[0] * d][:d]) | {"a": 0, "c": 1 - Fraction(1, d)},
        "w is orthogonal to 1": lambda d: shrinking(d, [1] * d),
        "w is not 0": lambda d: shrinking(d, [0] * d),
    },
)
def test_only_invariant_projector(x: Vector, w: Vector, a: Scalar, c: Scalar):
    """For d ≥ 3 no projector of rank d − 1 but Π treats all coordinates alike.

    for d ≥ 3: if P = aI + c11ᵀ, P² = P and tr P = d − 1, then P = Π

    Last step: For d ≥ 3 a matrix P with P² = P and rank d − 1 that commutes with every permutation of the coordinates
    is Π.
    """
    p = equivariant(a, c)
    assume(p(p(w)) == p(w), "P² = P on w")
    assume(p(p(ones(x))) == p(ones(x)), "P² = P on 1")
    assume(trace(p, x) == dim(x) - 1, "tr P = d − 1")
    assume(summed(w) == 0, "w is orthogonal to 1")
    assume(square_norm(w) > 0, "w is not 0")
    assume((dim(x) - 1) * (dim(x) - 2) > 0, "d ≥ 3")
    assert p(x) == lg.project(x)
    wrong("d = 2 is enough", instead={"d ≥ 3": lambda: dim(x) - 1 > 0})


@test_only_invariant_projector.proof
def _(goal, given, x, w, a, c):
    idempotent_off, idempotent_on, rank, flat, not_zero, dimension = given
    # On w ⟂ 1 the operator is multiplication by a, hence a² = a.
    along = sy.prove(sy.equal((a * a - a) * square_norm(w), 0), (idempotent_off, a * a * w), flat)
    a_squared = sy.cancel(a * a - a, along, not_zero)
    d = dim(x)
    # With c = (d − 1)/d − a the equation on 1 becomes (1 − a)(d − 1)(d − 2) = 0.
    c_known = sy.prove(sy.equal(c, (d - 1) / d - a), (rank, c))
    left = idempotent_on.conclusion.term
    factored = (1 - a) * ((d - 1) * (d - 2))
    same = sy.prove(sy.equal(left, factored), (c_known, c), (a_squared, a * a))
    vanishes = sy.combine(factored, [(1, None, idempotent_on), (-1, None, same)])
    one = sy.cancel(1 - a, vanishes, sy.prove(sy.greater((d - 1) * (d - 2)), dimension))
    return sy.prove(goal, (one, a), (c_known, c))
