"""Rotations: which changes of basis a norm layer allows, and in what sense the uniform vector is arbitrary."""

from fractions import Fraction
from math import isqrt
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import centered, mean_square, variance
from .._steps import same_divisor, same_radicand
from ..checks import draw_scalar, draw_vector


def reflected(u: Any, x: Any) -> Any:
    """Hx = x − 2w(w·x)/‖w‖² with w = u − 1, the Householder reflection that exchanges 1 and u."""
    w = u - sy.ones(x)
    return x - 2 * w * sy.dot(w, x) / sy.square_norm(w)


def u_norm(u: Any, x: Any, eps: Any) -> Any:
    """u-Norm: RMSNorm of the projection off u."""
    return lg.rms_norm(lg.project(x, u), eps=eps)


def mirror_model(random: Random, d: int) -> dict[str, Any]:
    """A rational vector u as long as 1: the reflection of 1 along a random vector."""
    w = draw_vector(random, d)
    length, along = sum(value * value for value in w), sum(w)
    u = tuple(1 - 2 * value * along / length for value in w) if length else (Fraction(-1),) * d
    eps = abs(draw_scalar(random)) or Fraction(1, 2)
    return {"u": u, "x": draw_vector(random, d), "y": draw_vector(random, d), "eps": eps}


def _laws(given: list[sy.Proved], u: Any) -> list[tuple[sy.Proved, Any]]:
    """‖u‖² = d, 1/(u·u) = 1/d, and (1·u)k = dk − 1 for k = 1/(d − 1·u)."""
    long, other = given
    gap = sy.dim(u) - sy.summed(u)
    half = sy.prove(sy.equal(gap, sy.square_norm(u - sy.ones(u)) / 2), (long, sy.square_norm(u)))
    inverted = sy.inverse(sy.transport(gap, half, sy.multiply(sy.constant(Fraction(1, 2), ">"), other)))
    lengths = sy.congruence("inv", sy.square_norm(u), sy.dim(u), long)
    return [(lengths, 1 / sy.square_norm(u)), (long, sy.square_norm(u)), (inverted, sy.summed(u) / gap)]


def _conjugated(goal: sy.Formula, given: list[sy.Proved], u: Any, x: Any, eps: Any) -> sy.Proved:
    laws = _laws(given, u)
    turned = lg.project(reflected(u, x))
    after, before = mean_square(lg.project(x, u)) + eps, mean_square(turned) + eps
    divisors = same_divisor(after, before, sy.prove(sy.equal(after, before), *laws))
    parts = sy.prove(sy.equal(lg.project(x, u), reflected(u, turned)), *laws)
    back = reflected(u, turned)
    return sy.combine(goal.term, [(1 / lg.norms.scale(after, eps=0), None, parts), (back, None, divisors)])


def _permuted(random: Random, *vectors: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """The vectors under one permutation of the coordinates with signs."""
    places = random.sample(range(len(vectors[0])), len(vectors[0]))
    signs = [random.choice((1, -1)) for _ in places]
    return tuple(tuple(s * v[k] for s, k in zip(signs, places, strict=True)) for v in vectors)


def _eps(random: Random, x: tuple[Fraction, ...]) -> Fraction:
    """A positive ε for which √(‖x‖²/d + ε) is rational, so that equations with it can be decided."""
    mean = sum((value * value for value in x), Fraction(0)) / len(x)
    return Fraction(isqrt(int(mean)) + random.randint(1, 3)) ** 2 - mean


def image_model(random: Random, d: int) -> dict[str, Any]:
    """Two vectors and their images under an orthogonal map."""
    x, y = draw_vector(random, d), draw_vector(random, d)
    p, q = _permuted(random, x, y)
    return {"x": x, "y": y, "p": p, "q": q, "eps": _eps(random, x)}


def centred_image_model(random: Random, d: int) -> dict[str, Any]:
    """A vector, the image of its centred part under a permutation or −1, and the image of the rest."""
    x = centered(random, d)
    q = tuple(random.sample(x, d)) if random.random() < 0.5 else tuple(-value for value in x)
    shift, eps = draw_scalar(random), _eps(random, x)
    x = tuple(value + shift for value in x)
    return {"x": x, "q": q, "c": draw_scalar(random), "eps": eps}


HALF = Fraction(1, 2)


def _divisors_of(goal: sy.Formula, same: sy.Proved, vector: Any, a: Any, b: Any, eps: Any) -> sy.Proved:
    """Goal: vector·(1/√(a + ε) − 1/√(b + ε)), because a = b."""
    divisors = same_divisor(a + eps, b + eps, sy.prove(sy.equal(a, b), same))
    return sy.combine(goal.term, [(vector, None, divisors)])


def _same_size(
    goal: sy.Formula, equation: sy.Proved, nonzero: sy.Proved, positive: sy.Proved, p: Any, a: Any, b: Any, eps: Any
) -> sy.Proved:
    """From p/√(a + ε) = p/√(b + ε) and p ≠ 0: a = b, and the goal d(a − b)."""
    difference = 1 / lg.norms.scale(a, eps=eps) - 1 / lg.norms.scale(b, eps=eps)
    product = sy.combine(sy.square_norm(p) * difference, [(1, p, equation)])
    above = [sy.prove(sy.at_least(m + eps), positive) for m in (a, b)]
    same = same_radicand(above[0], above[1], sy.cancel(difference, product, nonzero))
    return sy.combine(goal.term, [(sy.dim(p), None, same)])


def _layer_size(goal: sy.Formula, given: list[sy.Proved], x: Any, q: Any, c: Any, eps: Any) -> sy.Proved:
    equation, centred, nonzero, positive = given
    # Of a centred q the variance of q + c1 is ‖q‖²/d and its projection q.
    moved = lg.norms.scale(variance(q), eps=eps)
    plain = sy.combine(
        q / moved - q / lg.norms.scale(variance(x), eps=eps),
        [(1, None, equation), (1 / sy.dim(q) / moved, None, centred)],
    )
    sizes = sy.prove(sy.equal(variance(q), mean_square(q)), centred)
    swapped = same_divisor(
        mean_square(q) + eps, variance(q) + eps, sy.combine(mean_square(q) - variance(q), [(-1, None, sizes)])
    )
    equation = sy.combine(
        q / lg.norms.scale(mean_square(q), eps=eps) - q / lg.norms.scale(variance(x), eps=eps),
        [(1, None, plain), (q, None, swapped)],
    )
    return _same_size(goal, equation, nonzero, positive, q, mean_square(q), variance(x), eps)


def _mean_kept(goal: sy.Formula, given: list[sy.Proved], x: Any, q: Any, c: Any, eps: Any) -> sy.Proved:
    """The sum of LN_ε(q + c1) is 0, that of q/√(σ² + ε) is (1·q)/√(σ² + ε)."""
    equation, positive = given
    divisor = lg.norms.scale(variance(x), eps=eps)
    product = sy.combine(sy.summed(q) / divisor, [(-1, sy.ones(q), equation)])
    return sy.prove(goal, sy.cancel(sy.summed(q), product, sy.prove(sy.greater(1 / divisor), positive)))


THEOREMS = read(__name__)
