"""The matrix GΠG of the ellipsoid and its Moore-Penrose inverse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    cancel,
    combine,
    dim,
    dot,
    equal,
    greater,
    norm,
    ones,
    prove,
    root,
    square_norm,
    summed,
    trace,
    unequal,
    weaken,
)

from ..._hypotheses import NONZERO_GAIN
from ..._sources import ABSTRACT, OWN, RIECHERS
from ..._theorem import Mutant, Source, Theorem
from ._spread import EIGEN, axis_model, gain_model, sphere, spread


def inverse_spread(g: Any, v: Any) -> Any:
    """Π₂G⁻²Π₂ v, with Π₂ the projector off α = G⁻¹1."""
    return off_alpha(g, off_alpha(g, v) / (g * g))


def off_alpha(g: Any, v: Any) -> Any:
    """Π₂v = v − α(α·v)/‖α‖²."""
    return v - dot(1 / g, v) / square_norm(1 / g) / g


def untilted(g: Any, v: Any) -> Any:
    """ΠG⁻²Π v: the same with the projector off 1."""
    return lg.project(lg.project(v) / (g * g))


def _orthogonal_to_alpha(eigen: Proved, nonzero: Proved, value: Proved, g: Any, v: Any) -> Proved:
    """α·v = 0, because α·GΠGv = 0 and the eigenvalue is not 0."""
    lam = value.conclusion.term
    return cancel(dot(1 / g, v), prove(equal(dot(1 / g, v) * lam, 0), nonzero, (eigen, lam * v)), value)


def _divided(eigen: Proved, nonzero: Proved, lam: Any, g: Any, v: Any) -> Proved:
    """λ v/g² = v − (g·v)/d · 1/g."""
    return prove(equal(lam * v / g**2, v - dot(g, v) / dim(g) / g), nonzero, (eigen, lam * v))


def _alpha(given: list[Proved], g: Any) -> tuple[Proved, ...]:
    """‖α‖² > 0."""
    return (prove(greater(square_norm(1 / g)), *given),)


def _inverse_axis(goal: Formula, given: list[Proved], g: Any, v: Any, lam: Any) -> Proved:
    nonzero, eigen, value = given
    (alpha,) = _alpha([nonzero], g)
    flat = _orthogonal_to_alpha(eigen, nonzero, value, g, v)
    divided = _divided(eigen, nonzero, lam, g, v)
    return prove(goal, nonzero, alpha, flat, (divided, lam * v / g**2))


def _end_point(goal: Formula, given: list[Proved], g: Any, v: Any, lam: Any) -> Proved:
    nonzero, eigen, positive, length = given
    flat = _orthogonal_to_alpha(eigen, nonzero, weaken(positive, "!="), g, v)
    divided = _divided(eigen, nonzero, lam, g, v)
    # λ‖v/g‖² = ‖v‖² − (g·v)(α·v)/d
    along = combine(lam * sphere(g, v) - square_norm(v), [(1, v, divided), (-dot(g, v) / dim(g), None, flat)])
    return prove(goal, along, positive, length)


def _direction(goal: Formula, eigen: Proved, g: Any, u: Any, lam: Any) -> Proved:
    flat = combine(lam * summed(u), [(-1, ones(u), eigen)])
    return prove(goal, (eigen, lam * u), flat)


PENROSE = Source(RIECHERS, "axes of the hyperellipsoid", "takes the axes from Π₂G⁻²Π₂, which is therefore to be (GΠG)⁺")


UNTILTED = "Π in place of Π₂: Π₂G⁻²Π₂ read as a power of Π"


THEOREMS = (
    *(
        Theorem(
            id=f"ellipsoid.penrose_{number}",
            title=f"Penrose equation {number} of (GΠG)⁺ = Π₂G⁻²Π₂",
            statement=statement,
            source=PENROSE,
            vectors="v w g" if number > 2 else "v g",
            hypotheses=NONZERO_GAIN,
            claim=claim(inverse_spread),
            lemmas=_alpha,
            last_step="The four equations together: a matrix satisfies them for GΠG if and only if it is Π₂G⁻²Π₂.",
            mutants=(Mutant(UNTILTED, claim(untilted)), Mutant("G⁻¹ΠG⁻¹", claim(lambda g, v: lg.project(v / g) / g)))[
                :wrong
            ],
        )
        for number, statement, claim, wrong in (
            (1, "A X A = A", lambda x: lambda v, g: equal(spread(g, x(g, spread(g, v))), spread(g, v)), 1),
            (2, "X A X = X", lambda x: lambda v, g: equal(x(g, spread(g, x(g, v))), x(g, v)), 1),
            (
                3,
                "(A X)ᵀ = A X",
                lambda x: lambda v, w, g: equal(dot(w, spread(g, x(g, v))), dot(v, spread(g, x(g, w)))),
                2,
            ),
            (
                4,
                "(X A)ᵀ = X A",
                lambda x: lambda v, w, g: equal(dot(w, x(g, spread(g, v))), dot(v, x(g, spread(g, w)))),
                2,
            ),
        )
    ),
    Theorem(
        id="ellipsoid.inverse_product",
        title="The product of GΠG and its pseudo-inverse is the projector off G⁻¹1",
        statement="GΠG·Π₂G⁻²Π₂ = Π₂ = I − αα^T/‖α‖²",
        source=Source(RIECHERS, "Π₂ = I − αα^T/(α^Tα)", "the hyperplane of the outputs"),
        vectors="v g",
        hypotheses=NONZERO_GAIN,
        claim=lambda v, g: equal(spread(g, inverse_spread(g, v)), off_alpha(g, v)),
        lemmas=_alpha,
        mutants=(Mutant("the projector off 1", lambda v, g: equal(spread(g, inverse_spread(g, v)), lg.project(v))),),
    ),
    Theorem(
        id="ellipsoid.semi_axes",
        title="An axis with eigenvalue λ of GΠG has eigenvalue 1/λ of Π₂G⁻²Π₂",
        statement="GΠGv = λv and λ ≠ 0 imply λ·Π₂G⁻²Π₂v = v",
        source=Source(ABSTRACT, "mechanism 2", "prints the semi-axes as √N/λ for eigenvalues λ of Π₂G⁻²Π₂"),
        vectors="g v",
        scalars="lam",
        hypotheses=NONZERO_GAIN | EIGEN | {"λ ≠ 0": lambda lam: unequal(lam)},
        claim=lambda g, v, lam: equal(lam * inverse_spread(g, v), v),
        proof=_inverse_axis,
        remark="Semi-axes are √(dλ) = √(d/λ′) with λ′ = 1/λ, the eigenvalue of Π₂G⁻²Π₂.",
        model=axis_model,
        without={
            "λ ≠ 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "v": tuple(1 / value for value in g),
                "lam": Fraction(0),
            }
        },
        mutants=(
            Mutant(
                "semi-axes √d/λ′, as if λ′² were the eigenvalue",
                lambda g, v, lam: equal(lam * lam * inverse_spread(g, v), v),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.end_point",
        title="The point at distance √(dλ) along an axis lies on the surface",
        statement="Σ z_i²/g_i² = d for z = √(dλ) v/‖v‖, GΠGv = λv",
        source=Source(RIECHERS, "semi-axes √(N/λ)", "λ the eigenvalues of Π₂G⁻²Π₂"),
        vectors="g v",
        scalars="lam",
        hypotheses=NONZERO_GAIN
        | EIGEN
        | {"λ > 0": lambda lam: greater(lam), "v ≠ 0": lambda v: greater(square_norm(v))},
        claim=lambda g, v, lam: equal(sphere(g, root(dim(v) * lam) / norm(v) * v), dim(v)),
        proof=_end_point,
        model=axis_model,
        without={
            "λ > 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "v": tuple(1 / value for value in g),
                "lam": Fraction(0),
            }
        },
        mutants=(
            Mutant("at distance √d·λ", lambda g, v, lam: equal(sphere(g, root(dim(v)) * lam / norm(v) * v), dim(v))),
            Mutant("at distance √(d/λ)", lambda g, v, lam: equal(sphere(g, root(dim(v) / lam) / norm(v) * v), dim(v))),
        ),
    ),
    Theorem(
        id="ellipsoid.directions",
        title="Eigenvectors of ΠG²Π give the directions too, after multiplication by the gain",
        statement="ΠG²Πu = λu implies GΠG(GΠu) = λ GΠu",
        source=Source(RIECHERS, "lengths √(Nζ)", "says that ΠG²Π does not deliver the directions"),
        vectors="g u",
        scalars="lam",
        hypotheses={"ΠG²Πu = λu": lambda g, u, lam: equal(lg.project(g * g * lg.project(u)), lam * u)},
        claim=lambda g, u, lam: equal(spread(g, g * lg.project(u)), lam * g * lg.project(u)),
        proof=lambda goal, given, g, u, lam: _direction(goal, given[0], g, u, lam),
        remark="The axes are the left singular vectors of GΠ, for every gain.",
        model=lambda random, d: {
            "g": (axis := axis_model(random, d))["g"],
            "u": tuple(a * b for a, b in zip(axis["g"], axis["v"], strict=True)),
            "lam": axis["lam"],
        },
        mutants=(
            Mutant(
                "the direction Πu itself",
                lambda g, u, lam: equal(spread(g, lg.project(u)), lam * lg.project(u)),
                model=lambda random, d: (
                    {"g": (2, 3, 2, 3), "u": (1, 0, -1, 0), "lam": 4}
                    if d == 4
                    else {
                        "g": tuple(3 * (-1) ** i for i in range(d)),
                        "u": tuple((-1) ** i * (i < 2) for i in range(d)),
                        "lam": 9,
                    }
                ),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.trace",
        title="The squared semi-axes sum to (d − 1)‖g‖²",
        statement="tr GΠG = (1 − 1/d)‖g‖²",
        source=Source(OWN, "principal axes", "first elementary symmetric function of the eigenvalues"),
        vectors="g",
        claim=lambda g: equal(trace(lambda v: spread(g, v), g), (1 - 1 / dim(g)) * square_norm(g)),
        mutants=(
            Mutant("‖g‖²", lambda g: equal(trace(lambda v: spread(g, v), g), square_norm(g))),
            Mutant(
                "(1 − 1/d)(1·g)²/d",
                lambda g: equal(trace(lambda v: spread(g, v), g), (1 - 1 / dim(g)) * summed(g) ** 2 / dim(g)),
            ),
        ),
    ),
)
