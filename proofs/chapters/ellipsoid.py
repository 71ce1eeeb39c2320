"""Ellipsoid: where the outputs of LayerNorm lie, and its principal axes."""

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
    cancel,
    combine,
    congruence,
    cut,
    dim,
    dot,
    equal,
    greater,
    instantiate,
    inverse,
    multiply,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square_norm,
    summed,
    trace,
    transport,
    unequal,
    vector,
    weaken,
)

from .._models import draw_scalar, draw_vector
from .._sources import ABSTRACT, OWN, RIECHERS
from .._steps import as_sum, sum_of_squares
from .._theorem import Mutant, Source, Theorem

NONZERO_GAIN = {"g_i ≠ 0": lambda g: unequal(g)}
POSITIVE = {"ε > 0": lambda eps: greater(eps)}
NOT_CONSTANT = {"x is not constant": lambda x: greater(lg.moments(x)[1])}


def spread(g: Any, v: Any) -> Any:
    """GΠG v, whose eigenvalues are the squared semi-axes over d."""
    return g * lg.project(g * v)


def inverse_spread(g: Any, v: Any) -> Any:
    """Π₂G⁻²Π₂ v, with Π₂ the projector off α = G⁻¹1."""
    return off_alpha(g, off_alpha(g, v) / (g * g))


def off_alpha(g: Any, v: Any) -> Any:
    """Π₂v = v − α(α·v)/‖α‖²."""
    return v - dot(1 / g, v) / square_norm(1 / g) / g


def untilted(g: Any, v: Any) -> Any:
    """ΠG⁻²Π v: the same with the projector off 1."""
    return lg.project(lg.project(v) / (g * g))


def support_spread(h: Any, k: Any, v: Any) -> Any:
    """(diag(g⁻²) + αα^T/k) v on the support of g, h the inverse gains there and 0 elsewhere."""
    return h * h * v + dot(h, v) * h / k


def sphere(g: Any, z: Any) -> Any:
    """Σ z_i²/g_i²."""
    return square_norm(z / g)


def gain_model(random: Random, d: int) -> dict[str, Any]:
    """Gains of both signs, repeated at times."""
    return {"g": tuple(Fraction(random.choice((-2, -1, 1, 1, 2, 3))) for _ in range(d))}


def zero_gain_model(random: Random, d: int) -> dict[str, Any]:
    """Gains with at least one zero, their inverses on the support, and arbitrary vectors."""
    g = [Fraction(random.choice((0, 0, 1, -2, 3))) for _ in range(d)]
    g[random.randrange(d)] = Fraction(0)
    return {
        "g": tuple(g),
        "h": tuple(1 / value if value else value for value in g),
        **{name: draw_vector(random, d) for name in ("x", "v", "w", "b")},
        "eps": abs(draw_scalar(random)),
    }


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


def axis_model(random: Random, d: int) -> dict[str, Any]:
    """An eigenvector of GΠG: differences of two coordinates with gains of equal size."""
    g = list(gain_model(random, d)["g"])
    v = [Fraction(0)] * d
    if d > 1:
        i, k = random.sample(range(d), 2)
        g[k] = g[i] * random.choice((1, -1))
        factor = random.choice((1, 2, -1))
        v[i], v[k] = Fraction(factor), -factor * g[i] / g[k]
        lam = g[i] ** 2
    else:
        lam = Fraction(1)
    w = tuple(a + b for a, b in zip(draw_vector(random, d), [0] * d, strict=True))
    return {"g": tuple(g), "v": tuple(v), "w": w, "lam": lam, "zeta": 1 / lam}


def two_axes_model(random: Random, d: int) -> dict[str, Any]:
    """Two eigenvectors of GΠG with different eigenvalues, from two pairs of gains of equal size."""
    first = axis_model(random, max(2, d // 2))
    second = axis_model(random, max(2, d - d // 2))
    g = first["g"] + second["g"]
    v = first["v"] + (Fraction(0),) * len(second["v"])
    w = (Fraction(0),) * len(first["v"]) + second["v"]
    return {"g": g[:d], "v": v[:d], "w": w[:d], "lam": first["lam"], "mu": second["lam"]}


def secular_model(random: Random, d: int) -> dict[str, Any]:
    """λ off all g_i² with Σ1/(g_i² − λ) = 0: gains in pairs at equal distances from λ, and the inverses w."""
    lam = random.choice((Fraction(5), Fraction(13), Fraction(25)))
    pairs = {5: (1, 3), 13: (1, 5), 25: (1, 7)}[int(lam)]
    g = [Fraction(pairs[i % 2]) * random.choice((1, -1)) for i in range(d - d % 2)]
    g += [Fraction(random.choice((1, 2)))] * (d % 2)
    w = tuple(1 / (value * value - lam) for value in g)
    v = tuple(a * b for a, b in zip(g, w, strict=True))
    return {"g": tuple(g), "lam": lam, "w": w, "v": v}


# --------------------------------------------------------------------------------------------------------- proofs


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
    same = root_of_square(
        square, weaken(above, ">="), prove(equal(factor * factor, square), positive, p_positive)
    )
    quotient = congruence("inv", root(square), factor, same)
    scaled = prove(equal(lg.project(u) / factor, lg.project(y)), positive, p_positive)
    centered = prove(equal(lg.project(y), y), plane)
    back = combine(
        lg.standardize(u, eps=eps) - y,
        [(lg.project(u), None, quotient), (1, None, scaled), (1, None, centered)],
    )
    back = instantiate(back, {y: (z - b) / g})
    back = cut(inside, cut(flat, back))
    affine = prove(equal(g * ((z - b) / g) + b, z), nonzero)
    return combine(goal.term, [(g, None, back), (1, None, affine)])


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


def _secular_converse(goal: Formula, given: list[Proved], g: Any, v: Any, lam: Any) -> Proved:
    """The eigenvector is v = c·g∘w with c = g·v/d and w = 1/(g² − λ); then cλS(w) = 0, and ‖v‖² = c(g∘w)·v is not 0."""
    off, eigen, value, length = given
    w, c, law = 1 / (g * g - lam), dot(g, v) / dim(g), inverse(off)
    ray = combine(v - c * g * w, [(w, None, eigen), (-v, None, law)])
    scaled = combine(c * lam * summed(w), [(-1, g, ray), (-c, ones(v), law)])
    product_zero = combine(
        summed(w) * (square_norm(v) * lam), [(lam * summed(w), v, ray), (dot(g * w, v), None, scaled)]
    )
    return prove(goal, cancel(summed(w), product_zero, multiply(weaken(length, "!="), value)))


def _orthogonal(goal: Formula, given: list[Proved], g: Any, v: Any, w: Any, lam: Any, mu: Any) -> Proved:
    first, second, apart = given
    product_zero = prove(equal(dot(v, w) * (lam - mu), 0), (first, lam * v), (second, mu * w))
    return prove(goal, cancel(dot(v, w), product_zero, apart))


def _hidden_share(goal: Formula, given: list[Proved], x: Any, g: Any, h: Any, eps: Any) -> Proved:
    """With s = gh and m the mean of the hidden y_i: d − ‖sy‖² − (1·sy)²/k = dε/(σ² + ε) + ‖(1 − s)(y − m)‖²."""
    first, k_positive, positive = given
    y, hidden, k = lg.standardize(x, eps=eps), 1 - g * h, dim(g) - dot(g, h)
    defined = prove(greater(lg.moments(x)[1] + eps), positive)
    idempotent = prove(equal(g * h * (g * h), g * h), first)
    parts = [
        prove(greater(dim(x) * eps / (lg.moments(x)[1] + eps)), positive, defined),
        sum_of_squares(hidden * (y - dot(hidden, y) / k)),
    ]
    return as_sum(goal, parts, positive, defined, k_positive, (first, g * g * h), (idempotent, g**2 * h**2))


EIGEN = {"GΠGv = λv": lambda g, v, lam: equal(spread(g, v), lam * v)}
INVERSE_ON_SUPPORT = {
    "g²h = g": lambda g, h: equal(g * g * h, g),
    "gh² = h": lambda g, h: equal(g * h * h, h),
    "some gain is 0": lambda g, h: greater(dim(g) - dot(g, h)),
}

PENROSE = Source(
    RIECHERS, "axes of the hyperellipsoid", "takes the axes from Π₂G⁻²Π₂, which is therefore to be (GΠG)⁺"
)
UNTILTED = "Π in place of Π₂: Π₂G⁻²Π₂ read as a power of Π"

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
            Mutant(
                "outputs have mean zero",
                lambda x, g, b, eps: equal(summed(lg.layer_norm(x, g, b, eps=eps)), 0),
            ),
            Mutant(
                "outputs without bias have mean zero",
                lambda x, g, eps: equal(summed(lg.layer_norm(x, g, eps=eps)), 0),
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
        last_step="The covariance of the outputs has α in its kernel for every distribution of inputs.",
        cites=("linearity of the expectation",),
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
        hypotheses=NONZERO_GAIN | POSITIVE,
        claim=lambda x, g, b, eps: greater(dim(x), sphere(g, lg.layer_norm(x, g, b, eps=eps) - b)),
        proof=lambda goal, given, x, eps: prove(
            goal,
            *given,
            prove(greater(lg.moments(x)[1] + eps), given[1]),
            remainder=dim(x) * eps / (lg.moments(x)[1] + eps),
        ),
        without={"g_i ≠ 0": "the total inverse leaves the components of zero gain out, which lowers the sum"},
        mutants=(
            Mutant(
                "strictly inside at ε = 0 too",
                hypotheses=NONZERO_GAIN | {"ε ≥ 0": lambda eps: at_least(eps)},
            ),
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
            Mutant(
                "radius √(d − 1)",
                lambda x, g, b: equal(sphere(g, lg.layer_norm(x, g, b, eps=0) - b), dim(x) - 1),
            ),
            Mutant(
                "norm √d after the gain",
                lambda x, g, b: equal(square_norm(lg.layer_norm(x, g, b, eps=0) - b), dim(x)),
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
        | POSITIVE
        | {
            "α·(z − b) = 0": lambda g, b, z: equal(summed((z - b) / g), 0),
            "‖y‖² < d": lambda g, b, z: greater(dim(z), sphere(g, z - b)),
        },
        claim=lambda g, b, z, eps: equal(lg.layer_norm(lg.invert((z - b) / g, eps=eps), g, b, eps=eps), z),
        proof=_inverse_on_ball,
        last_step="With ellipsoid.hyperplane and ellipsoid.interior: the image equals this open set.",
        cites=("equality of sets by two inclusions",),
        model=image_model,
        mutants=(
            Mutant(
                "the inverse without √ε",
                lambda g, b, z, eps: equal(
                    lg.layer_norm((z - b) / g / root(1 - sphere(g, z - b) / dim(z)), g, b, eps=eps),
                    z,
                ),
            ),
            Mutant(
                "points on the surface are reached too",
                lambda g, b, z, eps: equal(lg.layer_norm((z - b) / g, g, b, eps=eps), z),
            ),
        ),
    ),
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
            last_step="With the other three equations: Π₂G⁻²Π₂ is the Moore-Penrose inverse of GΠG.",
            cites=("uniqueness of the Moore-Penrose inverse, proved for matrices in proofs.pseudo_inverse",),
            mutants=(
                Mutant(UNTILTED, claim(untilted)),
                Mutant("G⁻¹ΠG⁻¹", claim(lambda g, v: lg.project(v / g) / g)),
            )[:wrong],
        )
        for number, statement, claim, wrong in (
            (
                1,
                "A X A = A",
                lambda x: lambda v, g: equal(spread(g, x(g, spread(g, v))), spread(g, v)),
                1,
            ),
            (
                2,
                "X A X = X",
                lambda x: lambda v, g: equal(x(g, spread(g, x(g, v))), x(g, v)),
                1,
            ),
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
        mutants=(
            Mutant("the projector off 1", lambda v, g: equal(spread(g, inverse_spread(g, v)), lg.project(v))),
        ),
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
        last_step="Semi-axes are √(dλ) = √(d/λ′) with λ′ = 1/λ, the eigenvalue of Π₂G⁻²Π₂.",
        cites=("spectral theorem",),
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
            Mutant(
                "at distance √d·λ",
                lambda g, v, lam: equal(sphere(g, root(dim(v)) * lam / norm(v) * v), dim(v)),
            ),
            Mutant(
                "at distance √(d/λ)",
                lambda g, v, lam: equal(sphere(g, root(dim(v) / lam) / norm(v) * v), dim(v)),
            ),
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
        last_step="The axes are the left singular vectors of GΠ, for every gain.",
        cites=("singular value decomposition",),
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
        id="ellipsoid.secular",
        title="Each root of the secular equation is an eigenvalue, with the axis g/(g² − λ)",
        statement="Σ 1/(g_i² − λ) = 0 implies GΠGv = λv for v = g/(g² − λ)",
        source=Source(OWN, "principal axes", "a rank-one update of a diagonal matrix"),
        vectors="g",
        scalars="lam",
        hypotheses={
            "g_i² ≠ λ": lambda g, lam: unequal(g * g - lam),
            "Σ 1/(g_i² − λ) = 0": lambda g, lam: equal(summed(1 / (g * g - lam)), 0),
        },
        claim=lambda g, lam: equal(spread(g, g / (g * g - lam)), lam * g / (g * g - lam)),
        model=secular_model,
        without={
            "g_i² ≠ λ": lambda random, d: {
                "g": tuple(map(Fraction, (*((1, 7) * d)[: d - 1], 5))),
                "lam": Fraction(25),
            }
        },
        mutants=(
            Mutant(
                "Σ 1/(g_i − λ) = 0",
                lambda g, lam: equal(spread(g, g / (g - lam)), lam * g / (g - lam)),
                hypotheses={
                    "g_i ≠ λ": lambda g, lam: unequal(g - lam),
                    "Σ 1/(g_i − λ) = 0": lambda g, lam: equal(summed(1 / (g - lam)), 0),
                },
                model=lambda random, d: {
                    "g": tuple(Fraction(3 + (-1) ** i) for i in range(d)),
                    "lam": Fraction(3),
                },
            ),
            Mutant(
                "the axis 1/(g² − λ)",
                lambda g, lam: equal(spread(g, 1 / (g * g - lam)), lam / (g * g - lam)),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.secular_converse",
        title="Each eigenvalue that is no squared gain solves the secular equation",
        statement="GΠGv = λv, λ ≠ 0, v ≠ 0 and g_i² ≠ λ imply Σ 1/(g_i² − λ) = 0",
        source=Source(OWN, "principal axes", "a rank-one update of a diagonal matrix"),
        vectors="g v",
        scalars="lam",
        hypotheses={"g_i² ≠ λ": lambda g, lam: unequal(g * g - lam)}
        | EIGEN
        | {"λ ≠ 0": lambda lam: unequal(lam), "v ≠ 0": lambda v: greater(square_norm(v))},
        claim=lambda g, lam: equal(summed(1 / (g * g - lam)), 0),
        proof=_secular_converse,
        last_step="Eigenvalues that equal a squared gain occur for repeated |g_i| only; those are deflated.",
        cites=("strict interlacing of the roots and poles of the secular function",),
        model=secular_model,
        without={
            "λ ≠ 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "v": tuple(1 / value for value in g),
                "lam": Fraction(0),
            },
            "g_i² ≠ λ": axis_model,
        },
        mutants=(
            Mutant(
                "the sum Σ g_i²/(g_i² − λ) vanishes",
                lambda g, lam: equal(summed(g * g / (g * g - lam)), 0),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.orthogonal_axes",
        title="Axes of different lengths are orthogonal",
        statement="GΠGv = λv, GΠGw = μw and λ ≠ μ imply v·w = 0",
        source=Source(RIECHERS, "axes of the hyperellipsoid", "calls the eigenstates principal axes"),
        vectors="g v w",
        scalars="lam mu",
        hypotheses=EIGEN
        | {
            "GΠGw = μw": lambda g, w, mu: equal(spread(g, w), mu * w),
            "λ ≠ μ": lambda lam, mu: unequal(lam - mu),
        },
        claim=lambda v, w: equal(dot(v, w), 0),
        proof=_orthogonal,
        model=two_axes_model,
        without={"λ ≠ μ": lambda random, d: (m := axis_model(random, d)) | {"w": m["v"], "mu": m["lam"]}},
        mutants=(
            Mutant(
                "orthogonal after division by the gain",
                lambda g, v, w: equal(dot(v / g, w / g), 1),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.characteristic_polynomial",
        title="The semi-axes are the critical points of the polynomial of the squared gains",
        statement="1 + Σ g_i²/(λ − g_i²)/d = (λ/d) Σ 1/(λ − g_i²)",
        source=Source(OWN, "principal axes", "det(λ − GΠG) = λp′(λ)/d with p = ∏(λ − g_i²)"),
        vectors="g",
        scalars="lam",
        hypotheses={"g_i² ≠ λ": lambda g, lam: unequal(g * g - lam)},
        claim=lambda g, lam: equal(
            1 + summed(g * g / (lam - g * g)) / dim(g), lam / dim(g) * summed(1 / (lam - g * g))
        ),
        last_step="det(λ − GΠG) = det(λ − G²)(1 + g^T(λ − G²)⁻¹g/d) = p(λ)·(λ/d)·p′(λ)/p(λ).",
        cites=("matrix determinant lemma", "logarithmic derivative of a product"),
        without={
            "g_i² ≠ λ": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "lam": g[0] ** 2,
            }
        },
        mutants=(
            Mutant(
                "p′(λ)/d, without the factor λ",
                lambda g, lam: equal(
                    1 + summed(g * g / (lam - g * g)) / dim(g), summed(1 / (lam - g * g)) / dim(g)
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
    Theorem(
        id="ellipsoid.volume",
        title="The gain changes volumes in the hyperplane by |det G|‖α‖/√d",
        statement="(α/‖α‖)·(G1̂) ‖α‖ = √d",
        source=Source(OWN, "volume", "product of the semi-axes"),
        vectors="g",
        hypotheses=NONZERO_GAIN,
        claim=lambda g: equal(
            dot(1 / g / norm(1 / g), g * ones(g) / root(dim(g))) * norm(1 / g), root(dim(g))
        ),
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
    Theorem(
        id="ellipsoid.zero_gains",
        title="With k zero gains the inverse is diag(g⁻²) + αα^T/k on the support",
        statement="GΠG(diag(h²) + hh^T/k)v = ghv, h = 1/g on the support and 0 elsewhere, k = d − Σ g_ih_i",
        source=Source(RIECHERS, "zero gains", "squares the Drazin inverse of G and sets Π₂ = I"),
        vectors="v g h",
        hypotheses=INVERSE_ON_SUPPORT,
        claim=lambda v, g, h: equal(spread(g, support_spread(h, dim(g) - dot(g, h), v)), g * h * v),
        proof=lambda goal, given, g, h: prove(goal, (given[0], g**2 * h), (given[1], g * h**2), given[2]),
        last_step="Both factors are symmetric and the product is the projector on the support: the Penrose "
        "equations hold, and the semi-axes are √(d/λ) of this matrix.",
        cites=("uniqueness of the Moore-Penrose inverse, proved for matrices in proofs.pseudo_inverse",),
        model=zero_gain_model,
        without={
            "some gain is 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "h": tuple(1 / value for value in g),
                "v": draw_vector(random, d),
            },
        },
        mutants=(
            Mutant(
                "the square of the Drazin inverse alone",
                lambda v, g, h: equal(spread(g, h * h * v), g * h * v),
            ),
            Mutant(
                "αα^T/‖α‖² subtracted, as without zero gains",
                lambda v, g, h: equal(spread(g, h * h * (v - dot(h, v) * h / square_norm(h))), g * h * v),
            ),
            Mutant(
                "αα^T/d in place of αα^T/k",
                lambda v, g, h: equal(spread(g, support_spread(h, dim(g), v)), g * h * v),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.zero_gain_outputs",
        title="Where the gain is zero the output is the bias",
        statement="(1 − gh)∘(z − b) = 0, h = 1/g on the support and 0 elsewhere",
        source=Source(RIECHERS, "left null space", "is spanned by the coordinate vectors of the zero gains"),
        vectors="x g h b",
        scalars="eps",
        hypotheses={"g²h = g": lambda g, h: equal(g * g * h, g)},
        claim=lambda x, g, h, b, eps: equal((1 - g * h) * (lg.layer_norm(x, g, b, eps=eps) - b), 0),
        proof=lambda goal, given, g, h: prove(goal, (given[0], g**2 * h)),
        model=zero_gain_model,
        mutants=(
            Mutant(
                "α·(z − b) = 0 with α = 1/g on the support",
                lambda x, g, h, b, eps: equal(dot(h, lg.layer_norm(x, g, b, eps=eps) - b), 0),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.zero_gain_interior",
        title="With k zero gains the seen components fill a solid ellipsoid at most",
        statement="‖y_S‖² + (1·y_S)²/k < d for ε > 0, S the support of the gain",
        source=Source(
            ABSTRACT, "experiments", "expects a surface; with k ≥ 2 zero gains it is solid even at ε = 0"
        ),
        vectors="x g h",
        scalars="eps",
        hypotheses={said: INVERSE_ON_SUPPORT[said] for said in ("g²h = g", "some gain is 0")} | POSITIVE,
        claim=lambda x, g, h, eps: greater(
            dim(x),
            square_norm(g * h * lg.standardize(x, eps=eps))
            + dot(g * h, lg.standardize(x, eps=eps)) ** 2 / (dim(g) - dot(g, h)),
        ),
        proof=_hidden_share,
        model=zero_gain_model,
        without={
            "g²h = g": lambda random, d: {
                "x": (Fraction(1000),) + (Fraction(0),) * (d - 1),
                "g": (Fraction(2),) + (Fraction(0),) * (d - 1),
                "h": (Fraction(1),) + (Fraction(0),) * (d - 1),
                "eps": Fraction(1, 3),
            },
            "some gain is 0": "at k = 0 the total inverse drops the second term, and the first is below d",
        },
        mutants=(
            Mutant(
                "without the term of the hidden components, but with d − k",
                lambda x, g, h, eps: greater(dot(g, h), square_norm(g * h * lg.standardize(x, eps=eps))),
            ),
        ),
    ),
)
