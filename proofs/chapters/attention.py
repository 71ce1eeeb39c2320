"""Attention: how large normalized queries and keys let its logits become, and which keys a query can single out."""

from fractions import Fraction

import lngeom as lg
from lngeom import kernel as sy
from lngeom.kernel import dim, dot, square_norm
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, wrong

from .._shared import mean_square
from .._steps import as_sum, product
from ..works import BRODY, HENRY


def short(x: Vector, positive: sy.Proved, c: sy.Proved) -> sy.Proved:
    """c(d − ‖RMS_ε(x)‖²)/2 = cdε/(2(m + ε)) ≥ 0, m the mean square."""
    inside = sy.prove(sy.greater(1 / (mean_square(x) + positive.conclusion.term)), positive)
    return product(c, sy.prove(sy.greater(dim(x) / 2)), positive, inside)


@theorem(HENRY, "section 2", "queries and keys are normalized so that their product cannot saturate")
def test_logit_bound(x: Vector, z: Vector, g: Vector, h: Vector, c: Scalar, eps: Epsilon):
    """Normalized queries and keys bound the logit by the dimension and the largest product of gains.

    q·k ≤ d·max|g_i h_i| for q = RMS_ε(x; g) and k = RMS_ε(x′; h)
    """
    assume(c + g * h >= 0, "−c ≤ g_i h_i")
    assume(c - g * h >= 0, "g_i h_i ≤ c")
    assume(eps > 0, redundant="at ε = 0 it holds too for x ≠ 0 and x′ ≠ 0, and the library takes no ε < 0")
    q, k, d = lg.rms_norm(x, g, eps=eps), lg.rms_norm(z, h, eps=eps), dim(x)
    assert dot(q, k) <= d * c
    wrong("max|g_i h_i|, without the dimension", lambda: dot(q, k) <= c)
    wrong("without a norm of the keys", lambda: dot(q, z * h) <= d * c)


@test_logit_bound.proof
def _(goal, given, x, z, g, h, c, eps):
    """½c(d − ‖u‖²) + ½c(d − ‖v‖²) + ¼Σ(c − gh)(u + v)² + ¼Σ(c + gh)(u − v)² = dc − q·k, u, v without gain."""
    below, above, positive = given
    half = product(sy.constant(Fraction(1, 2), ">"), sy.add(below, above))
    bound = sy.transport(c, sy.prove(sy.equal(c, half.conclusion.term)), half)
    u, v = lg.rms_norm(x, eps=eps), lg.rms_norm(z, eps=eps)
    defined = [sy.prove(sy.greater(mean_square(w) + eps), positive) for w in (x, z)]
    parts = [
        short(x, positive, bound),
        short(z, positive, bound),
        sy.total(product(above, sy.square((u + v) / 2))),
        sy.total(product(below, sy.square((u - v) / 2))),
    ]
    return as_sum(goal, parts, *defined)


@theorem(BRODY, "section 3.2", "scaling keeps keys from being unselectable")
def test_selectable(x: Vector, z: Vector, g: Vector, b: Vector):
    """Behind an RMSNorm without ε and without zero gains each key has a query that prefers it to any other.

    q·k > q·k′ for k = RMS₀(x; g, b), k′ = RMS₀(x′; g, b), q = RMS₀(x)/g: wherever k ≠ k′ and g_i ≠ 0

    Last step: Of any number of keys that are all different each has one query that prefers it to all others.

    Remark: For a LayerNorm put Πx and Πx′ for x and x′: LN₀(x) = RMS₀(Πx).
    """
    y = lg.rms_norm(x, eps=0)
    assume(square_norm(y - lg.rms_norm(z, eps=0)) > 0, "the outputs differ")
    assume(square_norm(x) > 0, "x ≠ 0")
    assume(square_norm(z) > 0, "x′ ≠ 0", redundant="for x′ = 0 the kernel, which reads 1/0 as 0, has k′ = b")
    assume(nonzero(g))
    assert dot(y / g, lg.rms_norm(x, g, b, eps=0)) > dot(y / g, lg.rms_norm(z, g, b, eps=0))
    q = lg.rms_norm(x, eps=1) / g
    wrong("the same at ε = 1", lambda: dot(q, lg.rms_norm(x, g, b, eps=1)) > dot(q, lg.rms_norm(z, g, b, eps=1)))


@theorem(BRODY, "section 3.2", "a key in the convex hull of the others is unselectable", kind="lemma")
def test_hull(x: Vector, z: Vector, q: Vector, c: Scalar, m: Scalar):
    """A key between two others is never preferred to both.

    q·(ck + (1 − c)k′) ≤ m for 0 ≤ c ≤ 1 wherever q·k ≤ m and q·k′ ≤ m

    Last step: The same for a key in the convex hull of any number of keys: it is never preferred to all.
    """
    assume(dot(q, x) <= m, "q·k ≤ m")
    assume(dot(q, z) <= m, "q·k′ ≤ m")
    assume(c >= 0)
    assume(c <= 1)
    logit = dot(q, c * x + (1 - c) * z)
    assert logit <= m
    wrong("strictly less", lambda: logit < m)


@test_hull.proof
def _(goal, given):
    first, second, share, rest = given
    return as_sum(goal, [product(share, first), product(rest, second)])
