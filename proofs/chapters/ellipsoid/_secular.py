"""The secular equation and the characteristic polynomial of the semi-axes."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    cancel,
    combine,
    dim,
    dot,
    equal,
    greater,
    inverse,
    multiply,
    ones,
    prove,
    square_norm,
    summed,
    unequal,
    weaken,
)

from ..._sources import OWN, RIECHERS
from ..._theorem import Mutant, Source, Theorem
from ._spread import EIGEN, axis_model, gain_model, spread


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


THEOREMS = (
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
            "g_i² ≠ λ": lambda random, d: {"g": tuple(map(Fraction, (*((1, 7) * d)[: d - 1], 5))), "lam": Fraction(25)}
        },
        mutants=(
            Mutant(
                "Σ 1/(g_i − λ) = 0",
                lambda g, lam: equal(spread(g, g / (g - lam)), lam * g / (g - lam)),
                hypotheses={
                    "g_i ≠ λ": lambda g, lam: unequal(g - lam),
                    "Σ 1/(g_i − λ) = 0": lambda g, lam: equal(summed(1 / (g - lam)), 0),
                },
                model=lambda random, d: {"g": tuple(Fraction(3 + (-1) ** i) for i in range(d)), "lam": Fraction(3)},
            ),
            Mutant("the axis 1/(g² − λ)", lambda g, lam: equal(spread(g, 1 / (g * g - lam)), lam / (g * g - lam))),
        ),
    ),
    Theorem(
        id="ellipsoid.secular_converse",
        title="Each eigenvalue that is not a squared gain solves the secular equation",
        statement="GΠGv = λv, λ ≠ 0, v ≠ 0 and g_i² ≠ λ imply Σ 1/(g_i² − λ) = 0",
        source=Source(OWN, "principal axes", "a rank-one update of a diagonal matrix"),
        vectors="g v",
        scalars="lam",
        hypotheses={"g_i² ≠ λ": lambda g, lam: unequal(g * g - lam)}
        | EIGEN
        | {"λ ≠ 0": lambda lam: unequal(lam), "v ≠ 0": lambda v: greater(square_norm(v))},
        claim=lambda g, lam: equal(summed(1 / (g * g - lam)), 0),
        proof=_secular_converse,
        last_step=(
            "An eigenvalue λ ≠ 0 that is a squared gain is the square of two gains at least: with gains "
            "of different size all other eigenvalues solve the secular equation."
        ),
        model=secular_model,
        without={
            "λ ≠ 0": lambda random, d: {
                "g": (g := gain_model(random, d)["g"]),
                "v": tuple(1 / value for value in g),
                "lam": Fraction(0),
            },
            "g_i² ≠ λ": axis_model,
        },
        mutants=(Mutant("the sum Σ g_i²/(g_i² − λ) vanishes", lambda g, lam: equal(summed(g * g / (g * g - lam)), 0)),),
    ),
    Theorem(
        id="ellipsoid.orthogonal_axes",
        title="Axes of different lengths are orthogonal",
        statement="GΠGv = λv, GΠGw = μw and λ ≠ μ imply v·w = 0",
        source=Source(RIECHERS, "axes of the hyperellipsoid", "calls the eigenstates principal axes"),
        vectors="g v w",
        scalars="lam mu",
        hypotheses=EIGEN
        | {"GΠGw = μw": lambda g, w, mu: equal(spread(g, w), mu * w), "λ ≠ μ": lambda lam, mu: unequal(lam - mu)},
        claim=lambda v, w: equal(dot(v, w), 0),
        proof=_orthogonal,
        model=two_axes_model,
        without={"λ ≠ μ": lambda random, d: (m := axis_model(random, d)) | {"w": m["v"], "mu": m["lam"]}},
        mutants=(Mutant("orthogonal after division by the gain", lambda g, v, w: equal(dot(v / g, w / g), 1)),),
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
        last_step=(
            "With ellipsoid.secular and its converse: a λ ≠ 0 that is no squared gain is an eigenvalue of "
            "GΠG if and only if p′(λ) = 0, where p(λ) = Π(λ − g_i²)."
        ),
        without={"g_i² ≠ λ": lambda random, d: {"g": (g := gain_model(random, d)["g"]), "lam": g[0] ** 2}},
        mutants=(
            Mutant(
                "p′(λ)/d, without the factor λ",
                lambda g, lam: equal(1 + summed(g * g / (lam - g * g)) / dim(g), summed(1 / (lam - g * g)) / dim(g)),
            ),
        ),
    ),
)
