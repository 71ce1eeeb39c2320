"""Ellipsoid: where the outputs of LayerNorm lie, and its principal axes."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Proved,
    assume,
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
    ones,
    prove,
    root,
    root_of_square,
    square,
    square_norm,
    strengthen,
    summed,
    total,
    transport,
    unequal,
    vector,
    weaken,
)

from .._records import read
from .._steps import as_sum, product, sum_of_squares
from ..checks import draw_scalar, draw_vector


def spread(g: Any, v: Any) -> Any:
    """GΠG v, whose eigenvalues are the squared semi-axes over d."""
    return g * lg.project(g * v)


def sphere(g: Any, z: Any) -> Any:
    """Σ z_i²/g_i²."""
    return square_norm(z / g)


def gain_model(random: Random, d: int) -> dict[str, Any]:
    """Gains of both signs, repeated at times."""
    return {"g": tuple(Fraction(random.choice((-2, -1, 1, 1, 2, 3))) for _ in range(d))}


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


def _moved(x: Any, g: Any, b: Any, eps: Any) -> Any:
    """The output measured from the center, z − b."""
    return lg.layer_norm(x, g, b, eps=eps) - b


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


def two_skew_axes(random: Random, d: int) -> dict[str, Any]:
    """Two eigenvectors of G²Π: 1, with eigenvalue 0, and g²/(g² − λ) for a root λ of the secular equation."""
    m = secular_model(random, d)
    w = tuple(g * v for g, v in zip(m["g"], m["v"], strict=True))
    return {"g": m["g"], "v": (1,) * d, "lam": 0, "w": w, "mu": m["lam"]}


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


def root_model(random: Random, d: int) -> dict[str, Any]:
    """A root λ of the secular equation of positive a: poles in pairs around it; and a change within κa."""
    lam, gap = Fraction(random.choice((3, 5))), Fraction(random.choice((1, 2)))
    a = tuple(lam + gap * (-1) ** i for i in range(d))
    kappa = abs(draw_scalar(random)) or Fraction(1, 2)
    v = tuple(kappa * value * random.choice((-1, 0, 1)) / 2 for value in a)
    return {"a": a, "lam": lam, "v": v, "c": kappa}


def weights(a: Any, lam: Any) -> Any:
    """W = 1/(a − λ)²."""
    return (1 / (a - lam)) ** 2


def slope(a: Any, v: Any, lam: Any) -> Any:
    """Σw_i v_i/Σw_i, by how much the root moves when a moves along v."""
    return summed(weights(a, lam) * v) / summed(weights(a, lam))


def _mass(off: Proved, a: Any, lam: Any) -> Proved:
    """Σw > 0, because no component of a is λ."""
    squares = strengthen(square(1 / (a - lam)), prove(unequal((1 / (a - lam)) ** 2), off))
    return total(squares)


def _implicit(goal: Formula, given: list[Proved], a: Any, v: Any, lam: Any) -> Proved:
    """The derivative along (v, ν) is Σw(ν − v), and νΣw = Σwv."""
    return prove(goal, inverse(_mass(given[0], a, lam)))


def _balance(goal: Formula, given: list[Proved], a: Any, lam: Any) -> Proved:
    """Σwa − λΣw = Σw(a − λ) = Σ1/(a − λ) = 0."""
    off, root = given
    inverted = inverse(off)
    # w(a − λ) − 1/(a − λ) = (1/(a − λ))·((a − λ)/(a − λ) − 1)
    return combine(goal.term, [(1, 1 / (a - lam), inverted), (1, None, root)])


def _within(goal: Formula, given: list[Proved], a: Any, v: Any, lam: Any, c: Any) -> Proved:
    """(κλ − ν) = Σw(κa − v)/Σw."""
    off, root, near = given
    mass = _mass(off, a, lam)
    balance = _balance(equal(summed(weights(a, lam) * a), lam * summed(weights(a, lam))), [off, root], a, lam)
    change = total(multiply(square(1 / (a - lam)), near))
    scaled = product(change, prove(greater(1 / mass.conclusion.term), mass))
    moved = [(-c / mass.conclusion.term, None, balance), (-c * lam, None, inverse(mass))]
    return transport(goal.term, combine(goal.term - scaled.conclusion.term, moved), scaled)


def support_spread(h: Any, k: Any, v: Any) -> Any:
    """(diag(g⁻²) + αα^T/k) v on the support of g, h the inverse gains there and 0 elsewhere."""
    return h * h * v + dot(h, v) * h / k


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


THEOREMS = read(__name__)
