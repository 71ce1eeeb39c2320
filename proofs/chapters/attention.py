"""Attention: how large a logit behind norms can be, and which keys a query can single out."""

from hypothesis import strategies as st

import lngeom as lg
from lngeom import prover as sy
from lngeom.prover import dim, dot, square_norm
from lngeom.strategies import scalars, vectors
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, wrong

from .._shared import as_sum, product
from ..works import BRODY, OWN


@theorem(OWN, "attention", "normalized queries and keys bound the logits")
def test_bound(x: Vector, z: Vector, g: Vector, h: Vector, c: Scalar, eps: Epsilon):
    """Behind two RMSNorms without bias a logit is at most d times the largest |g_i h_i|.

    |RMS_ε(x; g)·RMS_ε(x′; h)| ≤ c d wherever |g_i h_i| ≤ c

    Remark: For a LayerNorm put Πx and Πx′ for x and x′.
    """
    assume(abs(g * h) <= c, "|g_i h_i| ≤ c")
    logit = dot(lg.rms_norm(x, g, eps=eps), lg.rms_norm(z, h, eps=eps))
    assert abs(logit) <= c * dim(x)
    wrong("99 % of it", lambda: abs(logit) <= 99 * c * dim(x) / 100)
    wrong("the mean of g_i h_i in the place of c", lambda: abs(logit) <= abs(dot(g, h)))


@test_bound.proof
def _(goal, given, x, z, g, h, c, eps):
    """(c d)² is at least the square, by (g∘h∘x·z)² ≤ ‖g∘h∘x‖²‖z‖² and ‖g∘h∘x‖² ≤ c²‖x‖²."""
    logit, root = dot(lg.rms_norm(x, g, eps=eps), lg.rms_norm(z, h, eps=eps)), sy.root_nonnegative(g * g * h * h)
    above = sy.add(given[0], root)
    line = product(given[0], sy.add(above, root))
    inside = as_sum(sy.at_least(c * c - g * g * h * h), [line], sy.square_of_root(sy.square(g * h)))
    longer = product(sy.total(product(inside, sy.square(x))), sy.sum_of_squares(z))
    square = sy.add(sy.cauchy_schwarz(g * h * x, z), longer)
    bound = sy.prove(sy.at_least((c * dim(x)) ** 2, logit * logit), sy.assume(sy.greater(eps)), square)
    squares = as_sum(sy.at_least((c * dim(x)) ** 2 - abs(logit) ** 2), [bound], sy.square_of_root(sy.square(logit)))
    return sy.compare(product(above, sy.prove(sy.greater(dim(x)))), abs(logit), squares)


def reciprocal(d: int) -> st.SearchStrategy[dict[str, object]]:
    """Two gains whose products are all c."""
    gains = vectors(d, "!=")
    return st.builds(lambda g, c: {"g": g, "h": [c / gain for gain in g], "c": c}, gains, scalars())


@theorem(OWN, "attention", "the case of equality", models=reciprocal)
def test_bound_attained(x: Vector, g: Vector, h: Vector, c: Scalar):
    """Without bias and at ε = 0 equal nonzero inputs attain the bound if all products g_i h_i are equal.

    RMS₀(x; g)·RMS₀(x; h) = c d for x ≠ 0, wherever g_i h_i = c
    """
    assume(square_norm(x) > 0, "x ≠ 0")
    assume(g * h == c, "g_i h_i = c")
    assert dot(lg.rms_norm(x, g, eps=0), lg.rms_norm(x, h, eps=0)) == c * dim(x)
    wrong("at ε = 1 too", lambda: dot(lg.rms_norm(x, g, eps=1), lg.rms_norm(x, h, eps=1)) == c * dim(x))


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
    assume(square_norm(z) > 0, "x′ ≠ 0", redundant="for x′ = 0 the prover, which reads 1/0 as 0, has k′ = b")
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
