"""False statements of the field: an equation, a sign, or a conclusion that does not follow from its hypothesis."""

# A term is a tuple by class, and a carrier besides.
# pyright: reportArgumentType=false

from collections.abc import Callable
from functools import partial
from typing import Any

import lngeom as lg
from lngeom.kernel import (
    S,
    at_least,
    d,
    derivative as D,
    dim,
    dot,
    equal,
    greater,
    inv,
    norm,
    ones as one,
    root,
    square_norm as N,
    summed,
    trace,
    unequal,
)

P, LN, RMS = lg.project, partial(lg.layer_norm, eps=0), partial(lg.rms_norm, eps=0)


def mean(x: Any) -> Any:
    return lg.moments(x)[0]


def var(x: Any) -> Any:
    return lg.moments(x)[1]


STATEMENTS: list[Callable[..., tuple[Any, ...]]] = [
    lambda x: (equal(S(mean(x)), S(x)),),
    lambda x: (equal(S(S(x)), dim(x) * S(x)),),
    lambda x, a: (equal(summed(a), a * dim(x)),),
    lambda x, y: (equal(D(lambda t: t * D(lambda s: t + s, y, one(y)), x, one(x)), 2),),
    lambda x, y: (equal(D(lambda t: D(lambda s: s * t, t, y), x, one(x)), 0 * y),),
    lambda v, x: (equal(D(lambda t: t * t, x, v), x * v),),
    lambda v, x: (equal(D(lambda t: LN(t, eps=1), x, v), LN(v, eps=1)),),
    lambda x: (equal(trace(lambda v: v, x), 1),),
    lambda x: (equal(trace(lambda v: trace(lambda w: S(w) * v, x) * one(x), x), 0 * d),),
    lambda x: (equal(trace(P, x), dim(x) - 2),),
    lambda x: (equal(root(x * x), x),),
    lambda x: (equal(root(x) * root(x), x),),
    lambda x, y: (equal(root(x * y), root(x) * root(y)),),
    lambda x: (equal(inv(x) * x, 1),),
    lambda x, y: (equal(inv(x + y), inv(x) + inv(y)),),
    lambda x: (equal(x / x, one(x)),),
    lambda x, y: (equal(S(x * y), S(x) * S(y)),),
    lambda x: (equal(S(inv(x)), inv(S(x))),),
    lambda x, y: (equal(P(x * y), P(x) * P(y)),),
    lambda g, x: (equal(P(g * x), g * P(x)),),
    lambda x: (equal(dot(P(x), x), N(x)),),
    lambda x: (equal(N(x), mean(x) ** 2 + var(x)),),
    lambda x: (equal(N(P(x)), var(x)),),
    lambda x, y: (equal(N(x + y), N(x) + N(y)),),
    lambda x: (equal(norm(x), S(abs(x))),),
    lambda x, y: (equal(norm(x + y), norm(x) + norm(y)),),
    lambda x: (equal(norm(one(x)), dim(x)),),
    lambda x: (equal(var(x), N(P(x)) / (dim(x) - 1)),),
    lambda g, x: (equal(mean(LN(x, g, eps=1)), 0),),
    lambda x: (equal(N(LN(x)), dim(x)),),
    lambda x: (equal(N(LN(x, eps=1)), dim(x)),),
    lambda x: (equal(LN(x, eps=1), RMS(x, eps=1)),),
    lambda x, a: (equal(LN(a * x, eps=1), LN(x, eps=1)),),
    lambda x: (equal(LN(-x, eps=1), LN(x, eps=1)),),
    lambda x, y: (equal(LN(x + y, eps=1), LN(x, eps=1) + LN(y, eps=1)),),
    lambda g, x: (equal(LN(g * x, eps=1), g * LN(x, eps=1)),),
    lambda x: (equal(LN(x, eps=1, placement="outside"), LN(x, eps=1)),),
    lambda x, a: (equal(RMS(x + a, eps=1), RMS(x, eps=1)),),
    lambda x: (equal(RMS(P(x), eps=1), P(RMS(x, eps=1))),),
    lambda x: (equal(dot(LN(x, eps=1), x), N(x)),),
    lambda x, y: (equal(N(x + P(y)), N(x) + N(P(y))),),
    lambda x, y: (equal(dot(x, y) ** 2, N(x) * N(y)),),
    lambda g, x: (equal(S(g * P(x)), 0),),
    lambda x: (equal(lg.fibers.invert(LN(x, eps=1), eps=1), x),),
    lambda x: (equal(lg.norms.scale(var(x), eps=1), root(var(x)) + 1),),
    lambda x, y: (equal((x + y) ** 2, x**2 + y**2),),
    lambda x: (equal(x**-1, x),),
    lambda x: (unequal(x, 0),),
    lambda x: (at_least(-x * x, 0),),
    lambda x: (greater(x * x, 0),),
    lambda x, y: (at_least(S(x * y), 0),),
    lambda x: (greater(N(x), 0),),
    lambda x: (greater(var(x), 0),),
    lambda x: (greater(dim(x) - 1, 0),),
    lambda x: (at_least(dim(x) - 2, 0),),
    lambda x: (greater(root(x), 0),),
    lambda x: (at_least(inv(x), 0),),
    lambda x: (greater(inv(x * x), 0),),
    lambda x, y: (greater(abs(x) + abs(y) - abs(x + y), 0),),
    lambda x: (at_least(dim(x) - N(LN(x, eps=1)), 1),),
    lambda x: (greater(N(LN(x, eps=1)), 0),),
    lambda x: (at_least(N(x) - S(x) ** 2, 0),),
    lambda x, y: (greater(N(x) * N(y) - dot(x, y) ** 2, 0),),
    lambda a: (at_least(a * a - a, 0),),
    lambda x: (greater(x - 1, 0), greater(x, 0)),
    lambda x: (greater(x, 0), at_least(x, 0)),
    lambda x: (greater(x, 0), unequal(x, 0)),
    lambda x: (equal(x, 0), equal(S(x), 0)),
    lambda x: (greater(x, 0), greater(S(x), 0)),
    lambda x, y: (equal(x * y, 0), equal(S(x * y), 0)),
    lambda x: (equal(x, 1), equal(x * x, 1)),
    lambda x, y: (equal(root(y), x), equal(x * x, y)),
    lambda x, y: (at_least(x * x - y * y, 0), at_least(x - y, 0)),
    lambda x, y: (at_least(inv(y) - inv(x), 0), at_least(x - y, 0)),
    lambda a: (greater(inv(a), 0), at_least(a, 0)),
    lambda x: (equal(N(LN(x)), 1), greater(var(x), 0)),
    lambda x: (equal(x, 0), equal(var(x), 0)),
    lambda x: (equal(LN(x, eps=1), x), equal(mean(x), 0)),
    lambda x: (unequal(x, 0), greater(N(x), 0)),
    lambda x, y: (equal(P(x) * P(y), 0), equal(dot(x, y), 0)),
    lambda x, y: (equal(dot(P(x), P(y)), 0), equal(dot(x, y), 0)),
    lambda g, x: (equal(dot(g * x, one(x)), 0), equal(dot(x, one(x)), 0)),
    lambda x, y: (equal(LN(x, eps=1), LN(y, eps=1)), equal(N(x) - N(y), 0)),
    lambda x, y: (equal(x, y), equal(LN(x, eps=1), LN(y, eps=1))),
    lambda g, x: (at_least(dot(x, g * P(x)), 0), greater(g, 0)),
    lambda x, eps: (equal(N(LN(x, eps=eps)), dim(x)), greater(eps, 0)),
    lambda x, a: (equal(N(LN(a * x, eps=1)), N(LN(x, eps=1))), greater(a, 0)),
]
"""The conclusion, and the hypothesis if there is one; x, y, z, v, g and h are vectors."""
