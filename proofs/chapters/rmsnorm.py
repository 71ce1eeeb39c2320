"""RMSNorm: how it differs from LayerNorm, where its outputs lie, and when it may take LayerNorm's place exactly."""

from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import centered, mean, mean_square, variance
from .._steps import as_sum, product, same_divisor, sum_of_squares
from ..checks import draw_scalar, draw_vector
from .ellipsoid import zero_gain_model as zero_gain_model


def balanced_model(random: Random, d: int) -> dict[str, Any]:
    """Vectors of sum 0, and arbitrary parameters."""
    return {
        "x": centered(random, d),
        "h": draw_vector(random, d),
        "a": draw_vector(random, d),
        "g": draw_vector(random, d),
        "b": centered(random, d),
        "c": draw_scalar(random),
        "eps": abs(draw_scalar(random)),
    }


def _balanced(goal: sy.Formula, given: list[sy.Proved], x: Any, g: Any, eps: Any) -> sy.Proved:
    """Without a mean the two denominators are roots of the same number, and x = Πx."""
    centered_square, plain_square = variance(x) + eps, mean_square(x) + eps
    same = sy.prove(sy.equal(centered_square, plain_square), *given)
    roots = sy.congruence("sqrt", centered_square, plain_square, same)
    inverses = sy.congruence("inv", sy.root(centered_square), sy.root(plain_square), roots)
    centered = sy.prove(sy.equal(lg.project(x), x), *given)
    return sy.combine(goal.term, [(-g * lg.project(x), None, inverses), (-g / sy.root(plain_square), None, centered)])


def _length(x: Any, given: list[sy.Proved]) -> tuple[sy.Proved, ...]:
    """‖x‖² = dσ² + (1·x)²/d > 0."""
    share = sy.prove(sy.greater(1 / sy.dim(x)))
    parts = [product(given[0], sy.prove(sy.greater(sy.dim(x)))), product(sy.square(sy.dot(sy.ones(x), x)), share)]
    return (as_sum(sy.greater(sy.square_norm(x)), parts),)


def _angle(goal: sy.Formula, given: list[sy.Proved], x: Any) -> sy.Proved:
    """LN(x)·RMS(x) = d sin θ, and both outputs have the norm √d."""
    (length,) = _length(x, given)
    y, z, width = lg.standardize(x, eps=0), lg.rms_norm(x, eps=0), sy.root(sy.dim(x))
    sine = sy.root(variance(x)) / sy.root(mean_square(x))
    inner = sy.prove(sy.equal(sy.dot(y, z), sy.dim(x) * sine), *given)
    first, second = (sy.prove(sy.equal(sy.norm(v), width), *given, length) for v in (y, z))
    square = sy.square_of_root(sy.prove(sy.greater(sy.dim(x))))
    return sy.combine(
        goal.term,
        [(1, None, inner), (-sine * sy.norm(z), None, first), (-sine * width, None, second), (-sine, None, square)],
    )


def _mean_vanishes(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    """Sum both sides: 0 = S(x)/√(‖x‖²/d + ε), and the root is not 0."""
    same, defined = given
    inverse = sy.weaken(sy.prove(sy.greater(1 / lg.norms.scale(mean_square(x), eps=eps)), defined), "!=")
    summed_up = sy.combine(sy.summed(x) * inverse.conclusion.term, [(1, sy.ones(x), same)])
    return sy.prove(goal, sy.cancel(sy.summed(x), summed_up, inverse))


def _difference(x: Any, eps: Any) -> Any:
    return sy.square_norm(lg.standardize(x, eps=eps) - lg.rms_norm(x, eps=eps))


def _without_the_sum_of_roots(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    """With w = 1/(r + s) the claim is A + Bw² = 0: it follows from A(r + s)² + B = 0, where no w occurs."""
    s, r = lg.norms.scale(variance(x), eps=eps), lg.norms.scale(mean_square(x), eps=eps)
    mean, w = lg.moments(x)[0], 1 / (r + s)
    a = _difference(x, eps) - sy.dim(x) * mean**2 / r**2
    b = -sy.dim(x) * mean**4 * variance(x) / (r**2 * s**2)
    cleared = sy.prove(sy.equal(a * (r + s) ** 2 + b, 0), *given)
    unit = sy.prove(sy.equal((r + s) * w, 1), sy.prove(sy.greater(r + s), *given))
    divided = sy.combine(a + b * w * w, [(w * w, None, cleared), (-a * (1 + (r + s) * w), None, unit)])
    rest = sy.prove(sy.equal(goal.term - divided.conclusion.term, 0), *given)
    return sy.combine(goal.term, [(1, None, rest), (1, None, divided)])


def _gauge(x: Any, eps: Any) -> Any:
    """R = √(m/(m + ε)), m the mean square."""
    return lg.epsilon.gauge_from_mean_square(mean_square(x), eps=eps)


def _output_length(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    y, u = lg.rms_norm(x, eps=eps), sy.root(sy.dim(x)) * _gauge(x, eps)
    squared = sy.prove(sy.equal(u * u, sy.square_norm(y)), *given)
    same = sy.root_of_square(sy.square_norm(y), sy.prove(sy.at_least(u), *given), squared)
    return sy.prove(goal, (same, sy.norm(y)))


def _missing(x: Any, eps: Any, given: list[sy.Proved]) -> sy.Proved:
    """What a squared length lacks to d: dε/(m + ε) > 0."""
    positive = sy.prove(sy.greater(mean_square(x) + eps), *given)
    return sy.prove(sy.greater(sy.dim(x) * eps / (mean_square(x) + eps)), *given, positive)


def _interior(goal: sy.Formula, given: list[sy.Proved], x: Any, eps: Any) -> sy.Proved:
    nonzero, positive = given
    return as_sum(goal, [_missing(x, eps, [positive])], nonzero, positive)


def _hidden(goal: sy.Formula, given: list[sy.Proved], x: Any, g: Any, h: Any, eps: Any) -> sy.Proved:
    """D − ‖ghy‖² = dε/(m + ε) + ‖(1 − gh)y‖², because gh is 0 or 1."""
    first, positive = given
    idempotent = sy.prove(sy.equal(g * h * (g * h), g * h), first)
    parts = [_missing(x, eps, [positive]), sum_of_squares((1 - g * h) * lg.rms_norm(x, eps=eps))]
    return as_sum(goal, parts, positive, (first, g * g * h), (idempotent, g**2 * h**2))


def _scaled(goal: sy.Formula, given: list[sy.Proved], x: Any, a: Any, eps: Any) -> sy.Proved:
    positive, nonnegative = given
    m = mean_square(x)
    u = a * sy.root(m + eps / (a * a))
    squared = sy.prove(sy.equal(u * u, a * a * m + eps), positive, nonnegative)
    same = sy.root_of_square(a * a * m + eps, sy.prove(sy.at_least(u), positive), squared)
    return sy.prove(goal, (same, sy.root(a * a * m + eps)), positive, nonnegative)


def _constant_gain(goal: sy.Formula, given: list[sy.Proved], g: Any, b: Any, eps: Any) -> sy.Proved:
    """The difference: 1·LN_ε(g; g, b) − 1·LN_ε(0; g, b) = ‖Πg‖²/√(σ² + ε)."""
    at_gain, at_zero, positive = given
    inverted = 1 / lg.norms.scale(variance(g), eps=eps)
    product = sy.combine(sy.square_norm(lg.project(g)) * inverted, [(1, None, at_gain), (-1, None, at_zero)])
    vanishes = sy.cancel(sy.square_norm(lg.project(g)), product, sy.prove(sy.greater(inverted), positive))
    return sy.prove(goal, sy.definite(lg.project(g), vanishes))


def _recovered(goal: sy.Formula, given: list[sy.Proved], x: Any, g: Any, b: Any, eps: Any) -> sy.Proved:
    """From α·(z − b) = 0 for α = 1/g; α·z = α·Πz + μ(z)S(α), so that μ(z) = (α·b − α·Πz)/S(α)."""
    gains, total = given
    z, a = lg.layer_norm(x, g, b, eps=eps), 1 / g
    y = lg.standardize(x, eps=eps)
    normal = sy.combine(sy.dot(a, z - b), [(1, y, sy.inverse(gains))])
    whole = sy.combine(sy.summed(a) * mean(z) - sy.dot(a, b) + sy.dot(a, lg.project(z)), [(1, None, normal)])
    return sy.combine(goal.term, [(-mean(z), None, sy.inverse(total)), (1 / sy.summed(a), None, whole)])


def _entered(goal: sy.Formula, centred: sy.Proved, h: Any, a: Any, g: Any, eps: Any) -> sy.Proved:
    """Πφ + a = Π(φ + a) for a centred a, so that both norms divide by the same."""
    left, right = lg.project(h) + a, lg.project(h + a)
    sizes = sy.prove(sy.equal(mean_square(left), variance(h + a)), centred)
    divisors = same_divisor(mean_square(left) + eps, variance(h + a) + eps, sizes)
    parts = sy.prove(sy.equal(left, right), centred)
    over = g / lg.norms.scale(variance(h + a), eps=eps)
    return sy.combine(goal.term, [(g * left, None, divisors), (over, None, parts)])


def _alive(goal: sy.Formula, given: list[sy.Proved], w: Any, g: Any, eps: Any) -> sy.Proved:
    """The product is w·RMS(g∘w; g) = ‖g∘w‖²/√(m + ε), and g∘w = 0 leaves w = 0."""
    equation, gains, positive = given
    divisor = lg.norms.scale(mean_square(g * w), eps=eps)
    product = sy.combine(sy.square_norm(g * w) / divisor, [(1, None, equation)])
    gone = sy.cancel(sy.square_norm(g * w), product, sy.prove(sy.greater(1 / divisor), positive))
    return sy.prove(goal, sy.cancel(w, sy.definite(g * w, gone), gains))


THEOREMS = read(__name__)
