"""Ellipsoid: where the outputs of LayerNorm lie, and its principal axes."""

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._steps import as_sum, product, sum_of_squares
from ..checks import draw_scalar, draw_vector


def spread(g: Any, v: Any) -> Any:
    """GΠG v, whose eigenvalues are the squared semi-axes over d."""
    return g * lg.project(g * v)


def sphere(g: Any, z: Any) -> Any:
    """Σ z_i²/g_i²."""
    return sy.square_norm(z / g)


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


def _inverse_on_ball(goal: sy.Formula, given: list[sy.Proved], g: Any, b: Any, z: Any, eps: Any) -> sy.Proved:
    """LN(u) = y for u = √ε y/√p with p = 1 − ‖y‖²/d, because σ² + ε = ε/p at u; then z = g∘y + b."""
    nonzero, positive, flat, inside = given
    y = sy.vector("y")
    plane, ball = sy.assume(sy.equal(sy.summed(y), 0)), sy.assume(sy.greater(sy.dim(y), sy.square_norm(y)))
    p = 1 - sy.square_norm(lg.project(y)) / sy.dim(y)
    share = sy.multiply(ball, sy.prove(sy.greater(1 / sy.dim(y))))
    p_positive = sy.transport(p, sy.prove(sy.equal(p, share.conclusion.term), plane), share)
    u, factor = lg.fibers.invert(y, eps=eps), sy.root(eps) / sy.root(p)
    above = sy.prove(sy.greater(factor), positive, p_positive)
    square = lg.moments(u)[1] + eps
    same = sy.root_of_square(
        square, sy.weaken(above, ">="), sy.prove(sy.equal(factor * factor, square), positive, p_positive)
    )
    quotient = sy.congruence("inv", sy.root(square), factor, same)
    scaled = sy.prove(sy.equal(lg.project(u) / factor, lg.project(y)), positive, p_positive)
    centered = sy.prove(sy.equal(lg.project(y), y), plane)
    back = sy.combine(
        lg.standardize(u, eps=eps) - y, [(lg.project(u), None, quotient), (1, None, scaled), (1, None, centered)]
    )
    back = sy.instantiate(back, {y: (z - b) / g})
    back = sy.cut(inside, sy.cut(flat, back))
    affine = sy.prove(sy.equal(g * ((z - b) / g) + b, z), nonzero)
    return sy.combine(goal.term, [(g, None, back), (1, None, affine)])


def _moved(x: Any, g: Any, b: Any, eps: Any) -> Any:
    """The output measured from the center, z − b."""
    return lg.layer_norm(x, g, b, eps=eps) - b


def inverse_spread(g: Any, v: Any) -> Any:
    """Π₂G⁻²Π₂ v, with Π₂ the projector off α = G⁻¹1."""
    return off_alpha(g, off_alpha(g, v) / (g * g))


def off_alpha(g: Any, v: Any) -> Any:
    """Π₂v = v − α(α·v)/‖α‖²."""
    return v - sy.dot(1 / g, v) / sy.square_norm(1 / g) / g


def untilted(g: Any, v: Any) -> Any:
    """ΠG⁻²Π v: the same with the projector off 1."""
    return lg.project(lg.project(v) / (g * g))


def _orthogonal_to_alpha(eigen: sy.Proved, nonzero: sy.Proved, value: sy.Proved, g: Any, v: Any) -> sy.Proved:
    """α·v = 0, because α·GΠGv = 0 and the eigenvalue is not 0."""
    lam = value.conclusion.term
    return sy.cancel(sy.dot(1 / g, v), sy.prove(sy.equal(sy.dot(1 / g, v) * lam, 0), nonzero, (eigen, lam * v)), value)


def _divided(eigen: sy.Proved, nonzero: sy.Proved, lam: Any, g: Any, v: Any) -> sy.Proved:
    """λ v/g² = v − (g·v)/d · 1/g."""
    return sy.prove(sy.equal(lam * v / g**2, v - sy.dot(g, v) / sy.dim(g) / g), nonzero, (eigen, lam * v))


def _alpha(given: list[sy.Proved], g: Any) -> tuple[sy.Proved, ...]:
    """‖α‖² > 0."""
    return (sy.prove(sy.greater(sy.square_norm(1 / g)), *given),)


def _inverse_axis(goal: sy.Formula, given: list[sy.Proved], g: Any, v: Any, lam: Any) -> sy.Proved:
    nonzero, eigen, value = given
    (alpha,) = _alpha([nonzero], g)
    flat = _orthogonal_to_alpha(eigen, nonzero, value, g, v)
    divided = _divided(eigen, nonzero, lam, g, v)
    return sy.prove(goal, nonzero, alpha, flat, (divided, lam * v / g**2))


def _end_point(goal: sy.Formula, given: list[sy.Proved], g: Any, v: Any, lam: Any) -> sy.Proved:
    nonzero, eigen, positive, length = given
    flat = _orthogonal_to_alpha(eigen, nonzero, sy.weaken(positive, "!="), g, v)
    divided = _divided(eigen, nonzero, lam, g, v)
    # λ‖v/g‖² = ‖v‖² − (g·v)(α·v)/d
    along = sy.combine(
        lam * sphere(g, v) - sy.square_norm(v), [(1, v, divided), (-sy.dot(g, v) / sy.dim(g), None, flat)]
    )
    return sy.prove(goal, along, positive, length)


def _direction(goal: sy.Formula, eigen: sy.Proved, g: Any, u: Any, lam: Any) -> sy.Proved:
    flat = sy.combine(lam * sy.summed(u), [(-1, sy.ones(u), eigen)])
    return sy.prove(goal, (eigen, lam * u), flat)


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


def _secular_converse(goal: sy.Formula, given: list[sy.Proved], g: Any, v: Any, lam: Any) -> sy.Proved:
    """The eigenvector is v = c·g∘w with c = g·v/d and w = 1/(g² − λ); then cλS(w) = 0, and ‖v‖² = c(g∘w)·v is not 0."""
    off, eigen, value, length = given
    w, c, law = 1 / (g * g - lam), sy.dot(g, v) / sy.dim(g), sy.inverse(off)
    ray = sy.combine(v - c * g * w, [(w, None, eigen), (-v, None, law)])
    scaled = sy.combine(c * lam * sy.summed(w), [(-1, g, ray), (-c, sy.ones(v), law)])
    product_zero = sy.combine(
        sy.summed(w) * (sy.square_norm(v) * lam), [(lam * sy.summed(w), v, ray), (sy.dot(g * w, v), None, scaled)]
    )
    return sy.prove(goal, sy.cancel(sy.summed(w), product_zero, sy.multiply(sy.weaken(length, "!="), value)))


def _orthogonal(goal: sy.Formula, given: list[sy.Proved], g: Any, v: Any, w: Any, lam: Any, mu: Any) -> sy.Proved:
    first, second, apart = given
    product_zero = sy.prove(sy.equal(sy.dot(v, w) * (lam - mu), 0), (first, lam * v), (second, mu * w))
    return sy.prove(goal, sy.cancel(sy.dot(v, w), product_zero, apart))


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
    return sy.summed(weights(a, lam) * v) / sy.summed(weights(a, lam))


def _mass(off: sy.Proved, a: Any, lam: Any) -> sy.Proved:
    """Σw > 0, because no component of a is λ."""
    squares = sy.strengthen(sy.square(1 / (a - lam)), sy.prove(sy.unequal((1 / (a - lam)) ** 2), off))
    return sy.total(squares)


def _implicit(goal: sy.Formula, given: list[sy.Proved], a: Any, v: Any, lam: Any) -> sy.Proved:
    """The derivative along (v, ν) is Σw(ν − v), and νΣw = Σwv."""
    return sy.prove(goal, sy.inverse(_mass(given[0], a, lam)))


def _balance(goal: sy.Formula, given: list[sy.Proved], a: Any, lam: Any) -> sy.Proved:
    """Σwa − λΣw = Σw(a − λ) = Σ1/(a − λ) = 0."""
    off, root = given
    inverted = sy.inverse(off)
    # w(a − λ) − 1/(a − λ) = (1/(a − λ))·((a − λ)/(a − λ) − 1)
    return sy.combine(goal.term, [(1, 1 / (a - lam), inverted), (1, None, root)])


def _within(goal: sy.Formula, given: list[sy.Proved], a: Any, v: Any, lam: Any, c: Any) -> sy.Proved:
    """(κλ − ν) = Σw(κa − v)/Σw."""
    off, root, near = given
    mass = _mass(off, a, lam)
    balance = _balance(sy.equal(sy.summed(weights(a, lam) * a), lam * sy.summed(weights(a, lam))), [off, root], a, lam)
    change = sy.total(sy.multiply(sy.square(1 / (a - lam)), near))
    scaled = product(change, sy.prove(sy.greater(1 / mass.conclusion.term), mass))
    moved = [(-c / mass.conclusion.term, None, balance), (-c * lam, None, sy.inverse(mass))]
    return sy.transport(goal.term, sy.combine(goal.term - scaled.conclusion.term, moved), scaled)


def support_spread(h: Any, k: Any, v: Any) -> Any:
    """(diag(g⁻²) + αα^T/k) v on the support of g, h the inverse gains there and 0 elsewhere."""
    return h * h * v + sy.dot(h, v) * h / k


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


def _hidden_share(goal: sy.Formula, given: list[sy.Proved], x: Any, g: Any, h: Any, eps: Any) -> sy.Proved:
    """With s = gh and m the mean of the hidden y_i: d − ‖sy‖² − (1·sy)²/k = dε/(σ² + ε) + ‖(1 − s)(y − m)‖²."""
    first, k_positive, positive = given
    y, hidden, k = lg.standardize(x, eps=eps), 1 - g * h, sy.dim(g) - sy.dot(g, h)
    defined = sy.prove(sy.greater(lg.moments(x)[1] + eps), positive)
    idempotent = sy.prove(sy.equal(g * h * (g * h), g * h), first)
    parts = [
        sy.prove(sy.greater(sy.dim(x) * eps / (lg.moments(x)[1] + eps)), positive, defined),
        sum_of_squares(hidden * (y - sy.dot(hidden, y) / k)),
    ]
    return as_sum(goal, parts, positive, defined, k_positive, (first, g * g * h), (idempotent, g**2 * h**2))


THEOREMS = read(__name__)
