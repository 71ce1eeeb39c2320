"""RMSNorm: how it differs from LayerNorm, where its outputs lie, and when it may take LayerNorm's place exactly."""

from __future__ import annotations

from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Proved,
    at_least,
    cancel,
    combine,
    congruence,
    definite,
    dim,
    dot,
    equal,
    greater,
    inverse,
    norm,
    ones,
    prove,
    root,
    root_of_square,
    square,
    square_norm,
    square_of_root,
    summed,
    weaken,
)

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


def _balanced(goal: Formula, given: list[Proved], x: Any, g: Any, eps: Any) -> Proved:
    """Without a mean the two denominators are roots of the same number, and x = Πx."""
    centered_square, plain_square = variance(x) + eps, mean_square(x) + eps
    same = prove(equal(centered_square, plain_square), *given)
    roots = congruence("sqrt", centered_square, plain_square, same)
    inverses = congruence("inv", root(centered_square), root(plain_square), roots)
    centered = prove(equal(lg.project(x), x), *given)
    return combine(goal.term, [(-g * lg.project(x), None, inverses), (-g / root(plain_square), None, centered)])


def _length(x: Any, given: list[Proved]) -> tuple[Proved, ...]:
    """‖x‖² = dσ² + (1·x)²/d > 0."""
    share = prove(greater(1 / dim(x)))
    parts = [product(given[0], prove(greater(dim(x)))), product(square(dot(ones(x), x)), share)]
    return (as_sum(greater(square_norm(x)), parts),)


def _angle(goal: Formula, given: list[Proved], x: Any) -> Proved:
    """LN(x)·RMS(x) = d sin θ, and both outputs have the norm √d."""
    (length,) = _length(x, given)
    y, z, width = lg.standardize(x, eps=0), lg.rms_norm(x, eps=0), root(dim(x))
    sine = root(variance(x)) / root(mean_square(x))
    inner = prove(equal(dot(y, z), dim(x) * sine), *given)
    first, second = (prove(equal(norm(v), width), *given, length) for v in (y, z))
    square = square_of_root(prove(greater(dim(x))))
    return combine(
        goal.term,
        [(1, None, inner), (-sine * norm(z), None, first), (-sine * width, None, second), (-sine, None, square)],
    )


def _mean_vanishes(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """Sum both sides: 0 = S(x)/√(‖x‖²/d + ε), and the root is not 0."""
    same, defined = given
    inverse = weaken(prove(greater(1 / lg.scale(mean_square(x), eps=eps)), defined), "!=")
    summed_up = combine(summed(x) * inverse.conclusion.term, [(1, ones(x), same)])
    return prove(goal, cancel(summed(x), summed_up, inverse))


def _difference(x: Any, eps: Any) -> Any:
    return square_norm(lg.standardize(x, eps=eps) - lg.rms_norm(x, eps=eps))


def _without_the_sum_of_roots(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    """With w = 1/(r + s) the claim is A + Bw² = 0: it follows from A(r + s)² + B = 0, where no w occurs."""
    s, r = lg.scale(variance(x), eps=eps), lg.scale(mean_square(x), eps=eps)
    mean, w = lg.moments(x)[0], 1 / (r + s)
    a = _difference(x, eps) - dim(x) * mean**2 / r**2
    b = -dim(x) * mean**4 * variance(x) / (r**2 * s**2)
    cleared = prove(equal(a * (r + s) ** 2 + b, 0), *given)
    unit = prove(equal((r + s) * w, 1), prove(greater(r + s), *given))
    divided = combine(a + b * w * w, [(w * w, None, cleared), (-a * (1 + (r + s) * w), None, unit)])
    rest = prove(equal(goal.term - divided.conclusion.term, 0), *given)
    return combine(goal.term, [(1, None, rest), (1, None, divided)])


def _gauge(x: Any, eps: Any) -> Any:
    """R = √(m/(m + ε)), m the mean square."""
    return lg.gauge_from_mean_square(mean_square(x), eps=eps)


def _output_length(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    y, u = lg.rms_norm(x, eps=eps), root(dim(x)) * _gauge(x, eps)
    squared = prove(equal(u * u, square_norm(y)), *given)
    same = root_of_square(square_norm(y), prove(at_least(u), *given), squared)
    return prove(goal, (same, norm(y)))


def _missing(x: Any, eps: Any, given: list[Proved]) -> Proved:
    """What a squared length lacks to d: dε/(m + ε) > 0."""
    positive = prove(greater(mean_square(x) + eps), *given)
    return prove(greater(dim(x) * eps / (mean_square(x) + eps)), *given, positive)


def _interior(goal: Formula, given: list[Proved], x: Any, eps: Any) -> Proved:
    nonzero, positive = given
    return as_sum(goal, [_missing(x, eps, [positive])], nonzero, positive)


def _hidden(goal: Formula, given: list[Proved], x: Any, g: Any, h: Any, eps: Any) -> Proved:
    """D − ‖ghy‖² = dε/(m + ε) + ‖(1 − gh)y‖², because gh is 0 or 1."""
    first, positive = given
    idempotent = prove(equal(g * h * (g * h), g * h), first)
    parts = [_missing(x, eps, [positive]), sum_of_squares((1 - g * h) * lg.rms_norm(x, eps=eps))]
    return as_sum(goal, parts, positive, (first, g * g * h), (idempotent, g**2 * h**2))


def _scaled(goal: Formula, given: list[Proved], x: Any, a: Any, eps: Any) -> Proved:
    positive, nonnegative = given
    m = mean_square(x)
    u = a * root(m + eps / (a * a))
    squared = prove(equal(u * u, a * a * m + eps), positive, nonnegative)
    same = root_of_square(a * a * m + eps, prove(at_least(u), positive), squared)
    return prove(goal, (same, root(a * a * m + eps)), positive, nonnegative)


def _constant_gain(goal: Formula, given: list[Proved], g: Any, b: Any, eps: Any) -> Proved:
    """The difference: 1·LN_ε(g; g, b) − 1·LN_ε(0; g, b) = ‖Πg‖²/√(σ² + ε)."""
    at_gain, at_zero, positive = given
    inverted = 1 / lg.scale(variance(g), eps=eps)
    product = combine(square_norm(lg.project(g)) * inverted, [(1, None, at_gain), (-1, None, at_zero)])
    vanishes = cancel(square_norm(lg.project(g)), product, prove(greater(inverted), positive))
    return prove(goal, definite(lg.project(g), vanishes))


def _recovered(goal: Formula, given: list[Proved], x: Any, g: Any, b: Any, eps: Any) -> Proved:
    """From α·(z − b) = 0 for α = 1/g; α·z = α·Πz + μ(z)S(α), so that μ(z) = (α·b − α·Πz)/S(α)."""
    gains, total = given
    z, a = lg.layer_norm(x, g, b, eps=eps), 1 / g
    y = lg.standardize(x, eps=eps)
    normal = combine(dot(a, z - b), [(1, y, inverse(gains))])
    whole = combine(summed(a) * mean(z) - dot(a, b) + dot(a, lg.project(z)), [(1, None, normal)])
    return combine(goal.term, [(-mean(z), None, inverse(total)), (1 / summed(a), None, whole)])


def _entered(goal: Formula, centred: Proved, h: Any, a: Any, g: Any, eps: Any) -> Proved:
    """Πφ + a = Π(φ + a) for a centred a, so that both norms divide by the same."""
    left, right = lg.project(h) + a, lg.project(h + a)
    sizes = prove(equal(mean_square(left), variance(h + a)), centred)
    divisors = same_divisor(mean_square(left) + eps, variance(h + a) + eps, sizes)
    parts = prove(equal(left, right), centred)
    over = g / lg.scale(variance(h + a), eps=eps)
    return combine(goal.term, [(g * left, None, divisors), (over, None, parts)])


def _alive(goal: Formula, given: list[Proved], w: Any, g: Any, eps: Any) -> Proved:
    """The product is w·RMS(g∘w; g) = ‖g∘w‖²/√(m + ε), and g∘w = 0 leaves w = 0."""
    equation, gains, positive = given
    divisor = lg.scale(mean_square(g * w), eps=eps)
    product = combine(square_norm(g * w) / divisor, [(1, None, equation)])
    gone = cancel(square_norm(g * w), product, prove(greater(1 / divisor), positive))
    return prove(goal, cancel(w, definite(g * w, gone), gains))


THEOREMS = read(__name__)
