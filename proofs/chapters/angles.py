"""Angles: of vectors with the uniform direction, and what such angles can and cannot show."""

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
    constant,
    dim,
    dot,
    equal,
    greater,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square_norm,
    trace,
    unequal,
)

from .._hypotheses import mean, mean_square, variance
from .._sources import GUPTA, OWN, SUMMARY
from .._steps import as_sum, product, sum_of_squares
from .._theorem import Mutant, Source, Theorem
from ..checks import draw_vector


def _cosine(x: Any, b: Any) -> Any:
    return dot(x, b) / (norm(x) * norm(b))


def _length(m: Any, x: Any) -> Any:
    """‖mx‖ for a mask m, for which m² = m."""
    return root(dot(m, x * x))


def mask_model(random: Random, d: int) -> dict[str, Any]:
    """A 0-1 mask of some coordinates, and a vector."""
    mask = [Fraction(random.randint(0, 1)) for _ in range(d)]
    return {"x": draw_vector(random, d), "m": tuple(mask)}


def constant_model(random: Random, d: int) -> dict[str, Any]:
    """A constant vector."""
    return {"x": draw_vector(random, d)[:1] * d}


def opposite_constant_model(random: Random, d: int) -> dict[str, Any]:
    """Two opposite constant vectors."""
    x = constant_model(random, d)["x"]
    return {"x": x, "x_": tuple(-value for value in x)}


def opposite_model(random: Random, d: int) -> dict[str, Any]:
    """Two opposite vectors."""
    x = draw_vector(random, d)
    return {"x": x, "x_": tuple(-value for value in x)}


def _all_energy(goal: Formula, given: list[Proved], x: Any, x_: Any) -> Proved:
    """‖x‖² − (1·x)²/d = ‖Πx‖² = 0, and the other vector is −x."""
    constant, opposite = given
    energy = combine(square_norm(x) - dot(ones(x), x) ** 2 / dim(x), [(1, x, constant)])
    return prove(goal, (opposite, x_), (energy, square_norm(x)))


def _group(m: Any, x: Any, facts: list[Any], count: Proved, length: Proved) -> Proved:
    """√k‖mx‖ − m·x ≥ 0 over the k coordinates of a mask m: Σ m(√k x − ‖mx‖)² is twice its product with √k‖mx‖."""
    k, size = dot(m, ones(x)), _length(m, x)
    squares = sum_of_squares(m * (root(k) * x - size))
    inverse = product(prove(greater(1 / root(k) / size), count, length), constant(Fraction(1, 2), ">"))
    return as_sum(at_least(root(k) * size, dot(m, x)), [product(squares, inverse)], count, length, *facts)


def _massive(goal: Formula, given: list[Proved], x: Any, m: Any) -> Proved:
    mask, some, large, more, small = given
    facts = [(mask, m * m)]
    return as_sum(goal, [_group(m, x, facts, some, large), _group(1 - m, x, facts, more, small)])


def _kept_direction(goal: Formula, v: Any, y: Any, m: Any, eps: Any) -> Proved:
    """‖y‖ = ‖v‖/√(m + ε) for y = v/√(m + ε)."""
    u = norm(v) / root(m + eps)
    squared = prove(equal(u * u, square_norm(y)))
    return prove(goal, (root_of_square(square_norm(y), prove(at_least(u)), squared), norm(y)))


def _supported(goal: Formula, given: list[Proved], x: Any, m: Any) -> Proved:
    """k(k‖x‖² − (1·x)²) = ‖kx − (1·x)m‖²."""
    mask, support, count = given
    k = dot(m, ones(x))
    squares = sum_of_squares(k * x - dot(ones(x), x) * m)
    parts = [product(squares, prove(greater(1 / k), count))]
    return as_sum(goal, parts, count, (mask, m * m), (support, m * x))


MASK = {"m∘m = m": lambda m: equal(m * m, m)}
NONZERO = {"x ≠ 0": lambda x: greater(square_norm(x))}

THEOREMS = (
    Theorem(
        id="angles.between",
        title="What is orthogonal to x of z has the length ‖z‖√(1 − c²), c the cosine of their angle",
        statement="‖z − x(x·z)/(x·x)‖² = ‖z‖²(1 − c²), c = x·z/(‖x‖‖z‖)",
        source=Source(OWN, "angles", "the arc tangent keeps its accuracy at every angle"),
        vectors="x z",
        hypotheses={"x ≠ 0": lambda x, z: greater(square_norm(x)), "z ≠ 0": lambda x, z: greater(square_norm(z))},
        claim=lambda x, z: equal(square_norm(z - dot(x, z) / dot(x, x) * x), square_norm(z) * (1 - _cosine(x, z) ** 2)),
        without={
            "x ≠ 0": "for the zero vector both sides are ‖z‖² by the total inverse",
            "z ≠ 0": "for the zero vector both sides are 0",
        },
        last_step="sin θ = √(1 − c²) ≥ 0 and cos θ = c, hence θ = atan2(√(1 − c²), c) in [0, π].",
        cites=("definition of the two-argument arc tangent",),
        mutants=(
            Mutant(
                "with c in the place of c²",
                lambda x, z: equal(square_norm(z - dot(x, z) / dot(x, x) * x), square_norm(z) * (1 - _cosine(x, z))),
            ),
        ),
    ),
    Theorem(
        id="angles.cosine",
        title="The angle to 1 has cosine μ/√(μ² + σ²)",
        statement="x·1/(‖x‖√d) = μ/√(μ² + σ²)",
        source=Source(GUPTA, "section 2.1", "defines θ by the norm of the mean vector, ‖x‖ cos θ, without its sign"),
        hypotheses=NONZERO,
        claim=lambda x: equal(_cosine(x, ones(x)), mean(x) / root(mean(x) ** 2 + variance(x))),
        without={"x ≠ 0": "for the zero vector both sides are 0 by the total inverse"},
        mutants=(
            Mutant("μ/σ", lambda x: equal(_cosine(x, ones(x)), mean(x) / root(variance(x)))),
            Mutant(
                "|μ|/√(μ² + σ²), as from the norm of the mean vector",
                lambda x: equal(
                    _cosine(x, ones(x)), norm(lg.mean_vector(x)) / root(dim(x)) / root(mean(x) ** 2 + variance(x))
                ),
            ),
        ),
    ),
    Theorem(
        id="angles.sine",
        title="The angle to 1 has sine σ/√(μ² + σ²), so that it is atan2(σ, μ)",
        statement="‖Πx‖/‖x‖ = σ/√(μ² + σ²)",
        source=Source(OWN, "angles", "the arc tangent keeps its accuracy at every angle"),
        hypotheses=NONZERO,
        claim=lambda x: equal(norm(lg.project(x)) / norm(x), root(variance(x)) / root(mean(x) ** 2 + variance(x))),
        without={"x ≠ 0": "for the zero vector both sides are 0 by the total inverse"},
        last_step="sin θ = ‖Πx‖/‖x‖ ≥ 0 and cos θ have the quotient σ : μ, hence θ = atan2(σ, μ) in [0, π].",
        cites=("definition of the two-argument arc tangent",),
        mutants=(
            Mutant(
                "σ/√(μ² + σ²) with the sample variance's norm",
                lambda x: equal(
                    norm(lg.project(x)) / norm(x), root(variance(x) + 1) / root(mean(x) ** 2 + variance(x) + 1)
                ),
            ),
        ),
    ),
    Theorem(
        id="angles.scale_free",
        title="The norm of a control vector does not matter: a second one of another norm is the same control",
        statement="cos∠(x, cb) = cos∠(x, b) for c > 0",
        source=Source(GUPTA, "section 3.3", "uses a second random vector with a different norm as control"),
        vectors="x b",
        scalars="c",
        hypotheses={"c > 0": lambda c: greater(c)},
        claim=lambda x, b, c: equal(_cosine(x, c * b), _cosine(x, b)),
        mutants=(
            Mutant("for c ≠ 0", hypotheses={"c ≠ 0": lambda c: unequal(c)}),
            Mutant("the inner product itself", lambda x, b, c: equal(dot(x, c * b), dot(x, b))),
        ),
    ),
    Theorem(
        id="angles.opposite",
        title="A vector and its opposite enclose supplementary angles with every direction",
        statement="cos∠(−x, b) = −cos∠(x, b), so that the mean angle of x and −x is 90°",
        source=Source(GUPTA, "section 3", "two random vectors are orthogonal on average"),
        vectors="x b",
        claim=lambda x, b: equal(_cosine(-x, b), -_cosine(x, b)),
        mutants=(Mutant("the same angle", lambda x, b: equal(_cosine(-x, b), _cosine(x, b))),),
    ),
    Theorem(
        id="angles.null_mean_square",
        title="A random isotropic direction has mean squared cosine 1/d with every vector",
        statement="tr(xxᵀ)/d = ‖x‖²/d",
        source=Source(GUPTA, "section 3", "says that random vectors are orthogonal on average, with small spread"),
        claim=lambda x: equal(trace(lambda v: x * dot(x, v), x) / dim(x), square_norm(x) / dim(x)),
        last_step="For a unit vector b of isotropic law E[bbᵀ] = I/d, so E(x·b)² = xᵀx/d; cos² has law "
        "Beta(1/2, (d − 1)/2).",
        cites=("invariance of the isotropic law under rotations", "law of one coordinate on the sphere"),
        mutants=(
            Mutant(
                "‖x‖²/d²", lambda x: equal(trace(lambda v: x * dot(x, v), x) / dim(x), square_norm(x) / dim(x) ** 2)
            ),
            Mutant(
                "the squared component along 1, one direction for all",
                lambda x: equal(trace(lambda v: x * dot(x, v), x) / dim(x), mean(x) ** 2),
            ),
        ),
    ),
    Theorem(
        id="angles.mean_angle",
        title="x and −x along 1 have all their energy along 1",
        statement="Πx = 0 and x′ = −x imply (x·1̂)² + (x′·1̂)² = ‖x‖² + ‖x′‖²",
        source=Source(SUMMARY, "abstract", "concludes from a mean angle of 90° that there is no component along 1"),
        vectors="x x_",
        hypotheses={"Πx = 0": lambda x: equal(lg.project(x), 0), "x′ = −x": lambda x, x_: equal(x_, -x)},
        claim=lambda x, x_: equal(
            (dot(ones(x), x) ** 2 + dot(ones(x), x_) ** 2) / dim(x), square_norm(x) + square_norm(x_)
        ),
        proof=lambda goal, given, x, x_: _all_energy(goal, given, x, x_),
        model=opposite_constant_model,
        without={
            "Πx = 0": opposite_model,
            "x′ = −x": lambda random, d: constant_model(random, d) | {"x_": draw_vector(random, d)},
        },
        remark=(
            "By angles.opposite their angles with any direction have mean 90°, so that a mean angle of 90° says "
            "nothing of the energy share along 1."
        ),
        mutants=(
            Mutant(
                "a mean angle of 90° means no component along 1",
                lambda x, x_: equal(dot(ones(x), x) ** 2 + dot(ones(x), x_) ** 2, 0),
            ),
        ),
    ),
    Theorem(
        id="angles.rotation_by_layer_norm",
        title="Before the affine step the cosine between x and LayerNorm's output is ‖Πx‖/‖x‖",
        statement="x·LN_ε(x) = ‖Πx‖‖LN_ε(x)‖",
        source=Source(GUPTA, "section 3", "measures rotations by the whole layer, gain and bias included"),
        scalars="eps",
        claim=lambda x, eps: equal(
            dot(x, lg.standardize(x, eps=eps)), norm(lg.project(x)) * norm(lg.standardize(x, eps=eps))
        ),
        proof=lambda goal, x, eps: _kept_direction(goal, lg.project(x), lg.standardize(x, eps=eps), variance(x), eps),
        remark="Unless x is constant; this is sin θ, so that the rotation is by |90° − θ|, whatever ε is.",
        mutants=(
            Mutant(
                "no rotation",
                lambda x, eps: equal(dot(x, lg.standardize(x, eps=eps)), norm(x) * norm(lg.standardize(x, eps=eps))),
            ),
            Mutant(
                "with a gain, here x itself, the same",
                lambda x, eps: equal(
                    dot(x, lg.layer_norm(x, x, eps=eps)), norm(lg.project(x)) * norm(lg.layer_norm(x, x, eps=eps))
                ),
            ),
        ),
    ),
    Theorem(
        id="angles.rotation_by_rms_norm",
        title="Before the affine step RMSNorm does not rotate",
        statement="x·RMS_ε(x) = ‖x‖‖RMS_ε(x)‖",
        source=Source(GUPTA, "section 3", "measures rotations by the whole layer, gain and bias included"),
        scalars="eps",
        claim=lambda x, eps: equal(dot(x, lg.rms_norm(x, eps=eps)), norm(x) * norm(lg.rms_norm(x, eps=eps))),
        proof=lambda goal, x, eps: _kept_direction(goal, x, lg.rms_norm(x, eps=eps), mean_square(x), eps),
        remark="Unless x is 0, the cosine of the rotation is therefore 1, whatever ε is.",
        mutants=(
            Mutant(
                "with a gain, here x itself, either",
                lambda x, eps: equal(dot(x, lg.rms_norm(x, x, eps=eps)), norm(x) * norm(lg.rms_norm(x, x, eps=eps))),
            ),
        ),
    ),
    Theorem(
        id="angles.massive_activations",
        title="Vectors carried by k of the d coordinates are nearly orthogonal to 1",
        statement="(1·x)² ≤ k‖x‖² for x supported on k coordinates, so that |cos θ| ≤ √(k/d)",
        source=Source(GUPTA, "section 3.2", "finds hidden states of Llama models orthogonal to 1"),
        vectors="x m",
        hypotheses=MASK | {"m∘x = x": lambda x, m: equal(m * x, x), "k > 0": lambda x, m: greater(dot(m, ones(x)))},
        claim=lambda x, m: at_least(dot(m, ones(x)) * square_norm(x), dot(ones(x), x) ** 2),
        proof=_supported,
        model=lambda random, d: (
            (values := mask_model(random, d))
            | {"x": tuple(a * b for a, b in zip(values["x"], values["m"], strict=True))}
        ),
        without={
            "m∘m = m": lambda random, d: {"x": (Fraction(1),) * d, "m": (Fraction(1, 2),) * d},
            "k > 0": "for the empty mask x = 0 and both sides are 0",
        },
        mutants=(
            Mutant(
                "k − 1 in place of k",
                lambda x, m: at_least((dot(m, ones(x)) - 1) * square_norm(x), dot(ones(x), x) ** 2),
            ),
        ),
    ),
    Theorem(
        id="angles.massive_activation_bound",
        title="The same with a rest outside the k coordinates",
        statement="1·x ≤ √k‖mx‖ + √(d − k)‖(1 − m)x‖",
        source=Source(OWN, "angles", "|cos θ| ≤ √(k/d)√(1 − δ) + √(1 − k/d)√δ, δ = ‖(1 − m)x‖²/‖x‖²"),
        vectors="x m",
        hypotheses=MASK
        | {
            "k > 0": lambda x, m: greater(dot(m, ones(x))),
            "mx ≠ 0": lambda x, m: greater(dot(m, x * x)),
            "k < d": lambda x, m: greater(dot(1 - m, ones(x))),
            "(1 − m)x ≠ 0": lambda x, m: greater(dot(1 - m, x * x)),
        },
        claim=lambda x, m: at_least(
            root(dot(m, ones(x))) * _length(m, x) + root(dot(1 - m, ones(x))) * _length(1 - m, x), dot(ones(x), x)
        ),
        proof=_massive,
        model=mask_model,
        without={
            "m∘m = m": lambda random, d: {
                "x": (*(Fraction(9),) * (d - 1), Fraction(1)),
                "m": (*(Fraction(0),) * (d - 1), Fraction(4, 3)),
            },
            "k > 0": "mx ≠ 0 implies it",
            "mx ≠ 0": "for mx = 0 the bound is Cauchy-Schwarz on the rest",
            "k < d": "(1 − m)x ≠ 0 implies it",
            "(1 − m)x ≠ 0": "for (1 − m)x = 0 it is angles.massive_activations",
        },
        remark="Divide by √d‖x‖, and take −x for the other sign.",
        mutants=(
            Mutant("without the rest", lambda x, m: at_least(root(dot(m, ones(x))) * _length(m, x), dot(ones(x), x))),
            Mutant(
                "shares exchanged",
                lambda x, m: at_least(
                    root(dot(1 - m, ones(x))) * _length(m, x) + root(dot(m, ones(x))) * _length(1 - m, x),
                    dot(ones(x), x),
                ),
            ),
        ),
    ),
)
