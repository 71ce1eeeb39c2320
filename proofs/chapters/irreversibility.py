"""Irreversibility: which inputs a norm layer cannot tell apart, and what can be recovered from its output."""

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom import kernel as sy

from .._records import read
from .._shared import centered, deviation, standard, variance
from ..checks import Values, draw_scalar, draw_vector


def _equal_scales(outputs: sy.Proved, pair: tuple[Any, Any], levels: tuple[Any, Any], eps: sy.Proved) -> sy.Proved:
    """√(m′ + ε) = √(m + ε) from equal outputs y′ = y: their lengths ‖y‖²/d = m/(m + ε) determine m where ε > 0."""
    y, y2 = pair
    m, m2 = levels
    e, d = eps.conclusion.term, sy.dim(y)
    i, i2 = sy.inv(m + e), sy.inv(m2 + e)
    lengths = sy.combine(sy.dot(y2 - y, y2 + y), [(1, y2 + y, outputs)])
    # ‖y′‖² − ‖y‖² = d(m′i′ − mi) = −dε(i′ − i), since (m + ε)i = 1.
    spelled = sy.prove(sy.equal((i2 - i) * (d * e) + lengths.conclusion.term, 0), eps)
    product = sy.combine((i2 - i) * (d * e), [(1, None, spelled), (-1, None, lengths)])
    same = sy.cancel(i2 - i, product, sy.prove(sy.greater(d * e), eps))
    above, above2 = sy.prove(sy.greater(m + e), eps), sy.prove(sy.greater(m2 + e), eps)
    one, one2 = sy.inverse(above), sy.inverse(above2)
    # t′ − t = t′t(i − i′) for t = m + ε, t′ = m′ + ε.
    t, t2 = m + e, m2 + e
    level = sy.combine(t2 - t, [(-t2 * t, None, same), (-t2, None, one), (t, None, one2)])
    return sy.congruence("sqrt", t2, t, level)


def _line(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any, eps: Any) -> sy.Proved:
    positive, outputs = given
    y, y2 = lg.standardize(x, eps=eps), lg.standardize(x2, eps=eps)
    scales = _equal_scales(outputs, (y, y2), (variance(x), variance(x2)), positive)
    s, s2 = sy.root(variance(x) + eps), sy.root(variance(x2) + eps)
    own = sy.prove(sy.equal(s * y, lg.project(x)), positive)
    own2 = sy.prove(sy.equal(s2 * y2, lg.project(x2)), positive)
    # Πx′ = s′y′ = s′y = sy = Πx.
    difference = lg.project(x2) - lg.project(x)
    parts = [(s2, None, outputs), (y, None, scales), (-1, None, own2), (1, None, own)]
    return sy.prove(goal, sy.combine(difference, parts))


def _point(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any, eps: Any) -> sy.Proved:
    positive, outputs = given
    y, y2 = lg.rms_norm(x, eps=eps), lg.rms_norm(x2, eps=eps)
    m, m2 = sy.square_norm(x) / sy.dim(x), sy.square_norm(x2) / sy.dim(x)
    scales = _equal_scales(outputs, (y, y2), (m, m2), positive)
    s, s2 = sy.root(m + eps), sy.root(m2 + eps)
    own = sy.prove(sy.equal(s * y, x), positive)
    own2 = sy.prove(sy.equal(s2 * y2, x2), positive)
    parts = [(s2, None, outputs), (y, None, scales), (-1, None, own2), (1, None, own)]
    return sy.prove(goal, sy.combine(x2 - x, parts))


def _half_plane(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any) -> sy.Proved:
    not_constant, outputs = given
    s2 = deviation(x2)
    own = sy.prove(sy.equal(s2 * lg.standardize(x2, eps=0), lg.project(x2)), not_constant)
    # Πx′ = σ′ LN(x′) = σ′ LN(x) = (σ′/σ)Πx.
    ratio = deviation(x2) / deviation(x)
    same = sy.combine(lg.project(x2) - ratio * lg.project(x), [(s2, None, outputs), (-1, None, own)])
    return sy.prove(goal, same)


def _ray(goal: sy.Formula, given: list[sy.Proved], x: Any, x2: Any) -> sy.Proved:
    not_zero, outputs = given
    s2 = sy.root(sy.square_norm(x2) / sy.dim(x))
    own = sy.prove(sy.equal(s2 * lg.rms_norm(x2, eps=0), x2), not_zero)
    # x′ = s′ RMS(x′) = s′ RMS(x) = (s′/s)x, with s′ and s the root mean squares.
    return sy.combine(goal.term, [(s2, None, outputs), (-1, None, own)])


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


def statistics(random: Random, d: int) -> Values:
    """A vector with fixed statistics of a batch, all variances positive."""
    v = tuple(Fraction(random.choice((1, 2, 4, 9)), random.choice((1, 4))) for _ in range(d))
    return {"x": draw_vector(random, d), "m": draw_vector(random, d), "v": v, "eps": abs(draw_scalar(random))}


def column_norm(x: Any, *, eps: Any) -> Any:
    """BatchNorm of a batch whose d vectors have one component each: x is the only column."""
    if not hasattr(x, "shape"):  # to the library a symbol is a column
        return lg.norms.batch_norm(x, eps=eps)
    return lg.norms.batch_norm(x[..., None], eps=eps)[..., 0]


THEOREMS = read(__name__)
