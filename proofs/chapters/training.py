"""Training: what a norm does to weights, steps and gradients, and what becomes of the direction of 1."""

from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import centered, mean_square, variance
from .._steps import as_sum, product, same_divisor, sum_of_squares
from ..checks import draw_scalar, draw_vector


def step_model(random: Random, d: int) -> dict[str, Any]:
    """A vector, a gradient there, and the gradient of 1/a of its size."""
    a, gradient = abs(draw_scalar(random)) or 2, draw_vector(random, d)
    smaller = tuple(value / a for value in gradient)
    x, eta = draw_vector(random, d), draw_scalar(random)
    return {"a": a, "x": x, "p": gradient, "q": smaller, "eta": eta}


def _same_direction(goal: sy.Formula, given: list[sy.Proved], x: Any, p: Any, q: Any, a: Any, eta: Any) -> sy.Proved:
    """Both sides see a(x − ηp): ax − a²ηq is that, and LN₀(az) = LN₀(z) for z = x − ηp."""
    positive, gradients = given
    longer, step = a * x - a * a * eta * q, x - eta * p
    same = sy.combine(longer - a * step, [(-a * eta, None, gradients)])
    # σ²(u) − σ²(v) = (Πu + Πv)·(u − v)/d for u = longer and v = a·step
    parts = [(1 / sy.dot(sy.ones(x), sy.ones(x)), lg.project(longer + a * step), same)]
    divisors = same_divisor(
        variance(longer), variance(a * step), sy.combine(variance(longer) - variance(a * step), parts)
    )
    z = sy.vector("z")
    scaled = sy.prove(sy.equal(lg.standardize(a * z, eps=0), lg.standardize(z, eps=0)), positive)
    moved = lg.standardize(longer, eps=0) - lg.standardize(a * step, eps=0)
    over = 1 / lg.norms.scale(variance(a * step), eps=0)
    centred = sy.combine(
        lg.project(longer) - lg.project(a * step), [(1, None, same), (-1 / sy.dot(sy.ones(x), sy.ones(x)), 1, same)]
    )
    equals = sy.combine(moved, [(lg.project(longer), None, divisors), (over, None, centred)])
    return sy.combine(goal.term, [(1, None, equals), (1, None, sy.instantiate(scaled, {z: step}))])


def sgd_step(w: Any, m: Any, p: Any, eta: Any, beta: Any, lam: Any) -> Any:
    """A step of SGD with momentum: w − η(βm + p + λw), p the gradient and m the momentum before it."""
    return w - eta * (beta * m + p + lam * w)


def centred_model(random: Random, d: int) -> dict[str, Any]:
    """Momentum, gradient and update orthogonal to 1, the update also to the stream."""
    h, a = draw_vector(random, d), centered(random, d)
    return {"m": centered(random, d), "p": centered(random, d), "a": a, "h": (sum(h) / d,) * d}


def _diluted(goal: sy.Formula, given: list[sy.Proved], h: Any, a: Any) -> sy.Proved:
    """(1·h)²‖h + a‖² − (1·(h + a))²‖h‖² = (1·h)²(‖h + a‖² − ‖h‖²)."""
    orthogonal, longer = given
    product = sy.multiply(sy.square(sy.summed(h)), longer)
    return sy.transport(goal.term, sy.prove(sy.equal(goal.term, product.conclusion.term), orthogonal), product)


def branch_model(random: Random, d: int) -> dict[str, Any]:
    """A gain within a bound, and a linear map that is a multiple of the identity."""
    x, z, v, g = (draw_vector(random, d) for _ in range(4))
    bound = max(map(abs, g)) + random.choice((0, 1))
    return {"x": x, "z": z, "v": v, "g": g, "c": bound, "eps": abs(draw_scalar(random)) or 1, "a": 2}


def _branch(goal: sy.Formula, given: list[sy.Proved], x: Any, v: Any, g: Any, c: Any, eps: Any) -> sy.Proved:
    """c²‖v‖² − s²‖Jv‖² = Σ(c² − g²)w² + c²((1·v)²/d + (y·v)²(1 + ε/s²)/d) with w = sJ₀v and s² = σ² + ε."""
    within, positive = given
    per_dimension = sy.prove(sy.greater(1 / sy.dim(x)))
    above = sy.add(product(sum_of_squares(lg.project(x)), per_dimension), positive)
    defined = sy.prove(sy.greater(variance(x) + eps), above)
    inverse = sy.prove(sy.greater(1 / (variance(x) + eps)), defined)
    s, y = lg.norms.scale(variance(x), eps=eps), lg.standardize(x, eps=eps)
    along = product(sy.square(c * sy.dot(y, v)), per_dimension)
    parts = [
        sy.total(product(within, sy.square(lg.derivatives.jacobian_product(x, v, eps=eps) * s))),
        product(sy.square(c * sy.summed(v)), per_dimension),
        along,
        product(along, positive, inverse),
    ]
    return as_sum(goal, parts, defined)


def _bounded(goal: sy.Formula, given: list[sy.Proved], z: Any, g: Any, c: Any, eps: Any) -> sy.Proved:
    """dc² − ‖g∘y‖² = Σ(c² − g²)y² + c²dε/s², because ‖y‖² = d(1 − ε/s²)."""
    within, positive = given
    per_dimension = sy.prove(sy.greater(1 / sy.dim(z)))
    above = sy.add(product(sum_of_squares(lg.project(z)), per_dimension), positive)
    defined = sy.prove(sy.greater(variance(z) + eps), above)
    inverse = sy.prove(sy.greater(1 / (variance(z) + eps)), defined)
    parts = [
        sy.total(product(within, sy.square(lg.standardize(z, eps=eps)))),
        product(sy.square(c), sy.prove(sy.greater(sy.dim(z))), positive, inverse),
    ]
    return as_sum(goal, parts, defined)


def slope_model(random: Random, d: int) -> dict[str, Any]:
    """Positive slopes and gains, within bounds."""
    s, g = (tuple(abs(value) or 1 for value in draw_vector(random, d)) for _ in range(2))
    return {"s": s, "g": g, "v": draw_vector(random, d), "a": max(s), "c": max(g)}


def _squashed(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    """√(‖x‖² + dε) = √d·√(‖x‖²/d + ε), so that √d comes out of the quotient."""
    inside = mean_square(x) + eps
    positive, width = sy.prove(sy.greater(inside), given[0]), sy.prove(sy.greater(sy.dim(x)))
    roots = product(sy.root_positive(width), sy.root_positive(positive))
    squares = sy.prove(
        sy.equal(roots.conclusion.term**2, sy.dim(x) * inside), sy.square_of_root(width), sy.square_of_root(positive)
    )
    whole = sy.root_of_square(sy.dim(x) * inside, roots, squares)
    inverses = sy.congruence("inv", sy.root(sy.dim(x) * inside), sy.root(sy.dim(x)) * sy.root(inside), whole)
    ones_out = sy.inverse(sy.root_positive(width))
    return sy.combine(goal.term, [(-sy.root(sy.dim(x)) * x, None, inverses), (-x / sy.root(inside), None, ones_out)])


THEOREMS = read(__name__)
