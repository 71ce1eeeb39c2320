"""Fibers: which vectors have one output, and the inverse where there is one."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    cancel,
    combine,
    congruence,
    dim,
    dot,
    equal,
    greater,
    inv,
    inverse,
    ones,
    prove,
    root,
    square_norm,
)

from ..._hypotheses import POSITIVE_EPS, centered, deviation, mean, standard, variance
from ..._sources import OWN, SUMMARY
from ..._theorem import Mutant, Source, Theorem
from ...checks import Values, draw_scalar, draw_vector


def _equal_scales(outputs: Proved, pair: tuple[Any, Any], levels: tuple[Any, Any], eps: Proved) -> Proved:
    """√(m′ + ε) = √(m + ε) from equal outputs y′ = y: their lengths ‖y‖²/d = m/(m + ε) determine m where ε > 0."""
    y, y2 = pair
    m, m2 = levels
    e, d = eps.conclusion.term, dim(y)
    i, i2 = inv(m + e), inv(m2 + e)
    lengths = combine(dot(y2 - y, y2 + y), [(1, y2 + y, outputs)])
    # ‖y′‖² − ‖y‖² = d(m′i′ − mi) = −dε(i′ − i), since (m + ε)i = 1.
    spelled = prove(equal((i2 - i) * (d * e) + lengths.conclusion.term, 0), eps)
    product = combine((i2 - i) * (d * e), [(1, None, spelled), (-1, None, lengths)])
    same = cancel(i2 - i, product, prove(greater(d * e), eps))
    above, above2 = prove(greater(m + e), eps), prove(greater(m2 + e), eps)
    one, one2 = inverse(above), inverse(above2)
    # t′ − t = t′t(i − i′) for t = m + ε, t′ = m′ + ε.
    t, t2 = m + e, m2 + e
    level = combine(t2 - t, [(-t2 * t, None, same), (-t2, None, one), (t, None, one2)])
    return congruence("sqrt", t2, t, level)


def _line(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any) -> Proved:
    positive, outputs = given
    y, y2 = lg.standardize(x, eps=eps), lg.standardize(x2, eps=eps)
    scales = _equal_scales(outputs, (y, y2), (variance(x), variance(x2)), positive)
    s, s2 = root(variance(x) + eps), root(variance(x2) + eps)
    own = prove(equal(s * y, lg.project(x)), positive)
    own2 = prove(equal(s2 * y2, lg.project(x2)), positive)
    # Πx′ = s′y′ = s′y = sy = Πx.
    difference = lg.project(x2) - lg.project(x)
    parts = [(s2, None, outputs), (y, None, scales), (-1, None, own2), (1, None, own)]
    return prove(goal, combine(difference, parts))


def _point(goal: Formula, given: list[Proved], x: Any, x2: Any, eps: Any) -> Proved:
    positive, outputs = given
    y, y2 = lg.rms_norm(x, eps=eps), lg.rms_norm(x2, eps=eps)
    m, m2 = square_norm(x) / dim(x), square_norm(x2) / dim(x)
    scales = _equal_scales(outputs, (y, y2), (m, m2), positive)
    s, s2 = root(m + eps), root(m2 + eps)
    own = prove(equal(s * y, x), positive)
    own2 = prove(equal(s2 * y2, x2), positive)
    parts = [(s2, None, outputs), (y, None, scales), (-1, None, own2), (1, None, own)]
    return prove(goal, combine(x2 - x, parts))


def _half_plane(goal: Formula, given: list[Proved], x: Any, x2: Any) -> Proved:
    not_constant, outputs = given
    s2 = deviation(x2)
    own = prove(equal(s2 * lg.standardize(x2, eps=0), lg.project(x2)), not_constant)
    # Πx′ = σ′ LN(x′) = σ′ LN(x) = (σ′/σ)Πx.
    ratio = deviation(x2) / deviation(x)
    same = combine(lg.project(x2) - ratio * lg.project(x), [(s2, None, outputs), (-1, None, own)])
    return prove(goal, same)


def _ray(goal: Formula, given: list[Proved], x: Any, x2: Any) -> Proved:
    not_zero, outputs = given
    s2 = root(square_norm(x2) / dim(x))
    own = prove(equal(s2 * lg.rms_norm(x2, eps=0), x2), not_zero)
    # x′ = s′ RMS(x′) = s′ RMS(x) = (s′/s)x, with s′ and s the root mean squares.
    return combine(goal.term, [(s2, None, outputs), (-1, None, own)])


def same_output(x: Any, x2: Any, eps: Any) -> Formula:
    """LN_ε(x′) = LN_ε(x)."""
    return equal(lg.standardize(x2, eps=eps), lg.standardize(x, eps=eps))


def half_plane(random: Random, d: int) -> Values:
    """Two vectors of one half-plane: x′ = ax + c1 with a > 0."""
    x, a, c = draw_vector(random, d), abs(draw_scalar(random)), draw_scalar(random)
    return {"x": x, "x2": tuple(a * value + c for value in x)}


def line(random: Random, d: int) -> Values:
    """Two vectors of one line: x′ = x + c1."""
    x, c = draw_vector(random, d), draw_scalar(random)
    return {"x": x, "x2": tuple(value + c for value in x), "eps": draw_scalar(random)}


def ray(random: Random, d: int) -> Values:
    """Two vectors of one ray: x′ = ax with a > 0."""
    x, a = draw_vector(random, d), abs(draw_scalar(random))
    return {"x": x, "x2": tuple(a * value for value in x)}


def twice(random: Random, d: int) -> Values:
    """One vector twice."""
    x = draw_vector(random, d)
    return {"x": x, "x2": x, "eps": draw_scalar(random)}


def in_hyperplane(random: Random, d: int) -> Values:
    """A vector orthogonal to 1."""
    return {"x": centered(random, d), "eps": draw_scalar(random)}


def in_ball(random: Random, d: int) -> Values:
    """A vector orthogonal to 1 of norm below √d."""
    y = tuple(value * Fraction(random.randint(0, 4), 5) for value in standard(random, d))
    return {"y": y, "eps": draw_scalar(random)}


THEOREMS = (
    Theorem(
        id="irreversibility.half_planes",
        title="At ε = 0 vectors of one output lie in one half-plane",
        statement="LN(x′) = LN(x) implies x′ = ax + c1 with a = σ′/σ",
        source=Source(OWN, "irreversibility", "the converse of the invariance"),
        vectors="x x2",
        hypotheses={
            "x′ is not constant": lambda x2: greater(variance(x2)),
            "LN(x′) = LN(x)": lambda x, x2: same_output(x, x2, 0),
        },
        claim=lambda x, x2: equal(
            x2, deviation(x2) / deviation(x) * x + (mean(x2) - deviation(x2) / deviation(x) * mean(x)) * ones(x)
        ),
        proof=_half_plane,
        model=half_plane,
        last_step=(
            "With irreversibility.invariance: the fiber of an x that is not constant is exactly the open "
            "half-plane {sΠx + t1 : s > 0}."
        ),
        without={
            "x′ is not constant": "a constant x′ has output 0 in the kernel, so that x is constant too, and a = 0"
        },
        mutants=(
            Mutant("x′ = x + c1", lambda x, x2: equal(x2, x + (mean(x2) - mean(x)) * ones(x))),
            Mutant("x′ = ax", lambda x, x2: equal(x2, deviation(x2) / deviation(x) * x)),
        ),
    ),
    Theorem(
        id="irreversibility.lines",
        title="At ε > 0 vectors of one output differ by a multiple of the uniform vector",
        statement="LN_ε(x′) = LN_ε(x) implies x′ = x + (μ′ − μ)1",
        source=Source(OWN, "irreversibility", "with ε only the mean is lost"),
        vectors="x x2",
        scalars="eps",
        hypotheses={**POSITIVE_EPS, "LN_ε(x′) = LN_ε(x)": lambda x, x2, eps: same_output(x, x2, eps)},
        claim=lambda x, x2: equal(x2, x + (mean(x2) - mean(x)) * ones(x)),
        proof=_line,
        model=line,
        last_step="With irreversibility.shift: the fiber of x is exactly the line x + R1.",
        without={"ε > 0": lambda random, d: half_plane(random, d) | {"eps": Fraction(0)}},
        mutants=(
            Mutant("x′ = x", lambda x, x2: equal(x2, x)),
            Mutant(
                "at ε = 0",
                hypotheses={
                    "ε = 0": lambda eps: equal(eps, 0),
                    "LN_ε(x′) = LN_ε(x)": lambda x, x2, eps: same_output(x, x2, eps),
                },
                model=lambda random, d: half_plane(random, d) | {"eps": Fraction(0)},
            ),
        ),
    ),
    Theorem(
        id="irreversibility.inverse",
        title="On the hyperplane LayerNorm with ε > 0 is undone by an explicit map",
        statement="x = √ε y/√(1 − ‖y‖²/d) for x ⟂ 1, y = LN_ε(x)",
        source=Source(OWN, "irreversibility", "with ε the length of the output keeps the deviation"),
        scalars="eps",
        hypotheses={**POSITIVE_EPS, "x is orthogonal to 1": lambda x: equal(dot(ones(x), x), 0)},
        claim=lambda x, eps: equal(lg.invert(lg.standardize(x, eps=eps), eps=eps), x),
        model=in_hyperplane,
        mutants=(
            Mutant(
                "without the square root of ε",
                lambda x, eps: equal(
                    eps * lg.standardize(x, eps=eps) / root(1 - square_norm(lg.standardize(x, eps=eps)) / dim(x)), x
                ),
            ),
        ),
    ),
    Theorem(
        id="irreversibility.onto_ball",
        title="With ε > 0 LayerNorm maps the hyperplane onto the open ball of radius √d",
        statement="LN_ε(√ε y/√(1 − ‖y‖²/d)) = y for every y ⟂ 1 with ‖y‖² < d",
        source=Source(OWN, "irreversibility", "the image at ε > 0 is the whole open ball"),
        vectors="y",
        scalars="eps",
        hypotheses={
            **POSITIVE_EPS,
            "y is orthogonal to 1": lambda y: equal(dot(ones(y), y), 0),
            "‖y‖² < d": lambda y: greater(dim(y), square_norm(y)),
        },
        claim=lambda y, eps: equal(lg.standardize(lg.invert(y, eps=eps), eps=eps), y),
        model=in_ball,
        last_step=(
            "With irreversibility.inverse: LN_ε is a bijection of the hyperplane 1^⊥ and the open ball of "
            "radius √d in it."
        ),
        mutants=(
            Mutant(
                "at the surface of the ball",
                hypotheses={
                    **POSITIVE_EPS,
                    "y is orthogonal to 1": lambda y: equal(dot(ones(y), y), 0),
                    "‖y‖² = d": lambda y: equal(dim(y), square_norm(y)),
                },
                model=lambda random, d: {"y": standard(random, d), "eps": Fraction(1)},
            ),
        ),
    ),
    Theorem(
        id="irreversibility.rms_norm_rays",
        title="At ε = 0 vectors of one RMSNorm output lie on one ray",
        statement="RMS(x′) = RMS(x) implies x′ = (‖x′‖/‖x‖)x",
        source=Source(OWN, "irreversibility", "RMSNorm keeps the direction"),
        vectors="x x2",
        hypotheses={
            "x′ is not 0": lambda x2: greater(square_norm(x2)),
            "RMS(x′) = RMS(x)": lambda x, x2: equal(lg.rms_norm(x2, eps=0), lg.rms_norm(x, eps=0)),
        },
        claim=lambda x, x2: equal(x2, root(square_norm(x2) / dim(x)) / root(square_norm(x) / dim(x)) * x),
        proof=_ray,
        model=ray,
        last_step=(
            "With irreversibility.rms_norm: the fiber of an x ≠ 0 is exactly the open ray of its positive multiples."
        ),
        without={"x′ is not 0": "for x′ = 0 the claim reads 0 = 0, as the kernel reads RMS(0) as 0"},
        mutants=(Mutant("x′ = x", lambda x, x2: equal(x2, x)),),
    ),
    Theorem(
        id="irreversibility.rms_norm_injective",
        title="With ε > 0 RMSNorm forgets nothing",
        statement="RMS_ε(x′) = RMS_ε(x) implies x′ = x",
        source=Source(SUMMARY, "contrast", "RMSNorm is reversible"),
        vectors="x x2",
        scalars="eps",
        hypotheses={
            **POSITIVE_EPS,
            "RMS_ε(x′) = RMS_ε(x)": lambda x, x2, eps: equal(lg.rms_norm(x2, eps=eps), lg.rms_norm(x, eps=eps)),
        },
        claim=lambda x, x2: equal(x2, x),
        proof=_point,
        model=twice,
        without={"ε > 0": lambda random, d: ray(random, d) | {"eps": Fraction(0)}},
        mutants=(
            Mutant(
                "the same for LayerNorm",
                hypotheses={**POSITIVE_EPS, "LN_ε(x′) = LN_ε(x)": lambda x, x2, eps: same_output(x, x2, eps)},
                model=line,
            ),
        ),
    ),
)
