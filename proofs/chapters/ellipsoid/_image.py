"""The set of all outputs: a hyperplane, an ellipsoid in it, and every point of its interior."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    assume,
    at_least,
    combine,
    congruence,
    cut,
    dim,
    dot,
    equal,
    greater,
    instantiate,
    multiply,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square_norm,
    summed,
    transport,
    vector,
    weaken,
)

from ..._hypotheses import NONZERO_GAIN, POSITIVE_EPS
from ..._sources import ABSTRACT, OWN, RIECHERS
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_vector
from ._spread import gain_model, sphere

NOT_CONSTANT = {"x is not constant": lambda x: greater(lg.moments(x)[1])}


def image_model(random: Random, d: int) -> dict[str, Any]:
    """A point z of the open ellipsoid: an affine image of a short vector orthogonal to 1."""
    g = gain_model(random, d)["g"]
    u = draw_vector(random, d)
    y = [a - b for a, b in zip(u, u[1:] + u[:1], strict=True)]
    square = sum(value * value for value in y)
    short = Fraction(1, 1 + int(square))
    b = draw_vector(random, d)
    return {
        "g": g,
        "b": b,
        "z": tuple(c + a * value * short for a, c, value in zip(g, b, y, strict=True)),
        "eps": random.choice((Fraction(1), Fraction(1, 3), Fraction(2))),
    }


def _inverse_on_ball(goal: Formula, given: list[Proved], g: Any, b: Any, z: Any, eps: Any) -> Proved:
    """LN(u) = y for u = √ε y/√p with p = 1 − ‖y‖²/d, because σ² + ε = ε/p at u; then z = g∘y + b."""
    nonzero, positive, flat, inside = given
    y = vector("y")
    plane, ball = assume(equal(summed(y), 0)), assume(greater(dim(y), square_norm(y)))
    p = 1 - square_norm(lg.project(y)) / dim(y)
    share = multiply(ball, prove(greater(1 / dim(y))))
    p_positive = transport(p, prove(equal(p, share.conclusion.term), plane), share)
    u, factor = lg.invert(y, eps=eps), root(eps) / root(p)
    above = prove(greater(factor), positive, p_positive)
    square = lg.moments(u)[1] + eps
    same = root_of_square(square, weaken(above, ">="), prove(equal(factor * factor, square), positive, p_positive))
    quotient = congruence("inv", root(square), factor, same)
    scaled = prove(equal(lg.project(u) / factor, lg.project(y)), positive, p_positive)
    centered = prove(equal(lg.project(y), y), plane)
    back = combine(
        lg.standardize(u, eps=eps) - y, [(lg.project(u), None, quotient), (1, None, scaled), (1, None, centered)]
    )
    back = instantiate(back, {y: (z - b) / g})
    back = cut(inside, cut(flat, back))
    affine = prove(equal(g * ((z - b) / g) + b, z), nonzero)
    return combine(goal.term, [(g, None, back), (1, None, affine)])


THEOREMS = (
    Theorem(
        id="ellipsoid.hyperplane",
        title="All outputs lie in one hyperplane, whose normal is G⁻¹1",
        statement="α·(z − b) = 0 with α_i = 1/g_i",
        source=Source(ABSTRACT, "mechanism 1", "says that all output vectors have mean zero"),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN,
        claim=lambda x, g, b, eps: equal(dot(1 / g, lg.layer_norm(x, g, b, eps=eps) - b), 0),
        mutants=(
            Mutant("outputs have mean zero", lambda x, g, b, eps: equal(summed(lg.layer_norm(x, g, b, eps=eps)), 0)),
            Mutant(
                "outputs without bias have mean zero", lambda x, g, eps: equal(summed(lg.layer_norm(x, g, eps=eps)), 0)
            ),
            Mutant("normal G1", lambda x, g, b, eps: equal(dot(g, lg.layer_norm(x, g, b, eps=eps) - b), 0)),
        ),
    ),
    Theorem(
        id="ellipsoid.dead_direction",
        title="Whatever the inputs, the outputs do not vary along G⁻¹1",
        statement="α·(LN(x) − LN(x′)) = 0",
        source=Source(OWN, "dead direction", "cov(z)α = 0 for every law of the inputs"),
        vectors="x x_ g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN,
        claim=lambda x, x_, g, b, eps: equal(
            dot(1 / g, lg.layer_norm(x, g, b, eps=eps) - lg.layer_norm(x_, g, b, eps=eps)), 0
        ),
        remark="The covariance of the outputs has α in its kernel for every distribution of inputs.",
        mutants=(
            Mutant(
                "the same for RMSNorm",
                lambda x, x_, g, b, eps: equal(
                    dot(1 / g, lg.rms_norm(x, g, b, eps=eps) - lg.rms_norm(x_, g, b, eps=eps)), 0
                ),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.interior",
        title="With ε > 0 all outputs lie strictly inside the ellipsoid",
        statement="Σ (z_i − b_i)²/g_i² < d",
        source=Source(RIECHERS, "eq. 6", "outputs lie within a hyperellipsoid"),
        vectors="x g b",
        scalars="eps",
        hypotheses=NONZERO_GAIN | POSITIVE_EPS,
        claim=lambda x, g, b, eps: greater(dim(x), sphere(g, lg.layer_norm(x, g, b, eps=eps) - b)),
        proof=lambda goal, given, x, eps: prove(
            goal,
            *given,
            prove(greater(lg.moments(x)[1] + eps), given[1]),
            remainder=dim(x) * eps / (lg.moments(x)[1] + eps),
        ),
        without={"g_i ≠ 0": "the total inverse leaves the components of zero gain out, which lowers the sum"},
        mutants=(
            Mutant("strictly inside at ε = 0 too", hypotheses=NONZERO_GAIN | {"ε ≥ 0": lambda eps: at_least(eps)}),
            Mutant(
                "Σ (z_i − b_i)² < d, without the gains",
                lambda x, g, b, eps: greater(dim(x), square_norm(lg.layer_norm(x, g, b, eps=eps) - b)),
            ),
            Mutant(
                "Σ (z_i − b_i)²/g_i² < d − 1",
                lambda x, g, b, eps: greater(dim(x) - 1, sphere(g, lg.layer_norm(x, g, b, eps=eps) - b)),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.surface",
        title="At ε = 0 the outputs lie on the surface",
        statement="Σ (z_i − b_i)²/g_i² = d at ε = 0 for x not constant",
        source=Source(RIECHERS, "eq. 6", "typical inputs are mapped near the surface"),
        vectors="x g b",
        hypotheses=NONZERO_GAIN | NOT_CONSTANT,
        claim=lambda x, g, b: equal(sphere(g, lg.layer_norm(x, g, b, eps=0) - b), dim(x)),
        mutants=(
            Mutant("radius √(d − 1)", lambda x, g, b: equal(sphere(g, lg.layer_norm(x, g, b, eps=0) - b), dim(x) - 1)),
            Mutant(
                "norm √d after the gain", lambda x, g, b: equal(square_norm(lg.layer_norm(x, g, b, eps=0) - b), dim(x))
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.image",
        title="Every point of the open ellipsoid is an output",
        statement="LN(u) = z for u = √ε y/√(1 − ‖y‖²/d), y = (z − b)/g, if α·(z − b) = 0 and ‖y‖² < d",
        source=Source(ABSTRACT, "key results", "LN maps to the interior of a hyperellipsoid"),
        vectors="g b z",
        scalars="eps",
        hypotheses=NONZERO_GAIN
        | POSITIVE_EPS
        | {
            "α·(z − b) = 0": lambda g, b, z: equal(summed((z - b) / g), 0),
            "‖y‖² < d": lambda g, b, z: greater(dim(z), sphere(g, z - b)),
        },
        claim=lambda g, b, z, eps: equal(lg.layer_norm(lg.invert((z - b) / g, eps=eps), g, b, eps=eps), z),
        proof=_inverse_on_ball,
        last_step=(
            "With ellipsoid.hyperplane and ellipsoid.interior: the image is the set of all z with α·(z − b) "
            "= 0 and Σ (z_i − b_i)²/g_i² < d."
        ),
        model=image_model,
        mutants=(
            Mutant(
                "the inverse without √ε",
                lambda g, b, z, eps: equal(
                    lg.layer_norm((z - b) / g / root(1 - sphere(g, z - b) / dim(z)), g, b, eps=eps), z
                ),
            ),
            Mutant(
                "points on the surface are reached too",
                lambda g, b, z, eps: equal(lg.layer_norm((z - b) / g, g, b, eps=eps), z),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.volume",
        title="The gain changes volumes in the hyperplane by |det G|‖α‖/√d",
        statement="(α/‖α‖)·(G1̂) ‖α‖ = √d",
        source=Source(OWN, "volume", "product of the semi-axes"),
        vectors="g",
        hypotheses=NONZERO_GAIN,
        claim=lambda g: equal(dot(1 / g / norm(1 / g), g * ones(g) / root(dim(g))) * norm(1 / g), root(dim(g))),
        last_step="G maps 1^⊥ to α^⊥ and the unit normal 1̂ to height √d/‖α‖ over it, so that |det G| is the "
        "factor in the hyperplane times √d/‖α‖.",
        cites=("volume is base times height", "volume of the unit ball"),
        mutants=(
            Mutant(
                "the height over g^⊥",
                lambda g: equal(dot(g / norm(g), g * ones(g) / root(dim(g))) * norm(1 / g), root(dim(g))),
            ),
        ),
    ),
)
