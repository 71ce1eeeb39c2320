"""Residual stream: what the blocks add up to, how its norm changes, and what a shift along 1 does to the network."""

import lngeom as lg
from lngeom import prover as sy
from lngeom.prover import dim, dot, norm, ones, root, square_norm
from lngeom.theorems import Epsilon, Scalar, Vector, assume, nonzero, theorem, wrong

from .._shared import same_divisor, variance
from ..works import DIGEST, GUPTA, JIANG, OWN
from . import irreversibility


@theorem(GUPTA, "eq. 17", "sums from i = 0, with undefined a⁰ and m⁰")
def test_sum(h0: Vector, h1: Vector, h2: Vector, a1: Vector, m1: Vector, a2: Vector, m2: Vector):
    """The state after l blocks is the embedding plus all that blocks 1 to l have written.

    h² = h⁰ + (a¹ + m¹) + (a² + m²)

    Last step: By induction for any number l of blocks: hˡ = h⁰ + Σ_{i=1}^{l} (aⁱ + mⁱ).
    """
    assume(h1 == h0 + a1 + m1, "h¹ = h⁰ + a¹ + m¹")
    assume(h2 == h1 + a2 + m2, "h² = h¹ + a² + m²")
    assert h2 == h0 + (a1 + m1) + (a2 + m2)
    wrong("one block, summed from i = 0: a⁰ and m⁰ are those of h⁰", lambda: h1 == h0 + (h0 + h0) + (a1 + m1))
    wrong("sum up to l − 1", lambda: h2 == h0 + (a1 + m1))


@theorem(DIGEST, "pre-norm", "the stream accumulates freely and grows as O(√(Ld))", kind="lemma")
def test_orthogonal_growth(h: Vector, a: Vector):
    """The squared norm of a sum is the sum of the squared norms and twice the inner product.

    ‖h + a‖² = ‖h‖² + ‖a‖² + 2h·a

    Remark: In expectation, with E[h·a] = 0: uncorrelated increments give E‖h_l‖² = ‖h_0‖² + ΣE‖Δ_i‖².
    """
    assert square_norm(h + a) == square_norm(h) + square_norm(a) + 2 * dot(h, a)
    wrong("norms add", lambda: norm(h + a) == norm(h) + norm(a))
    pythagoras = square_norm(h) + square_norm(a)
    wrong("for every increment without the inner product", lambda: square_norm(h + a) == pythagoras)


@theorem(OWN, "residual stream", "aligned increments give growth linear in depth, not as its root", kind="lemma")
def test_worst_growth(h: Vector, a: Vector):
    """The norm grows at most by the norm of the increment.

    ‖h + a‖² ≤ (‖h‖ + ‖a‖)²
    """
    assume(square_norm(h) > 0, "h ≠ 0", redundant="for h = 0 both sides are ‖a‖²")
    assume(square_norm(a) > 0, "a ≠ 0", redundant="for a = 0 both sides are ‖h‖²")
    assert square_norm(h + a) <= (norm(h) + norm(a)) ** 2
    wrong("‖h‖² + ‖a‖² as the bound", lambda: square_norm(h + a) <= square_norm(h) + square_norm(a))


@theorem(GUPTA, "appendix A.1", "continuous summation leads to an increasing norm", kind="lemma")
def test_shrinking(h: Vector, c: Scalar):
    """A block can shrink the stream: summation does not force growth.

    ‖h + a‖² < ‖h‖² for a = −ch with 0 < c < 2 and h ≠ 0
    """
    assume(c > 0)
    assume(2 - c > 0, "c < 2")
    assume(square_norm(h) > 0, "h ≠ 0")
    before, after = square_norm(h), square_norm(h + -c * h)
    assert after < before
    wrong("the norm never decreases", lambda: before <= after)


@theorem(JIANG, "section 3", "the mean of the stream of a Pre-LN network is never read")
def test_shift_forgotten(
    x: Vector, x2: Vector, f: Vector, y: Vector, y2: Vector, g: Vector, b: Vector, w: Vector, c: Scalar, eps: Epsilon
):
    """A network whose readers are all LayerNorms forgets what is added to its stream along 1.

    x′ = x + c1, y = x + f, y′ = x′ + f imply LN_ε(y′; g, b) = LN_ε(y; g, b)

    Last step: For any number of branches, each any function of what a LayerNorm returns at all positions, all with one
    ε and with gain and bias in the branches, and a shift of its own at each position: the two streams differ by the
    shifts to the end, and the final norm returns the same.

    Remark: Each branch must read through a LayerNorm, and its output must be added to the unchanged stream.
    """
    assume(x2 == x + c * ones(x), "x′ = x + c1")
    assume(y == x + f, "y = x + f")
    assume(y2 == x2 + f, "y′ = x′ + f")
    assert lg.layer_norm(y2, g, b, eps=eps) == lg.layer_norm(y, g, b, eps=eps)
    wrong("the same for a network of RMSNorms", lambda: lg.rms_norm(y2, g, b, eps=eps) == lg.rms_norm(y, g, b, eps=eps))
    wrong(
        "a branch reads the stream before its norm",
        given=lambda: [
            ("x′ = x + c1", x2 == x + c * ones(x)),
            ("y = x + w∘x", y == x + w * x),
            ("y′ = x′ + w∘x′", y2 == x2 + w * x2),
        ],
    )
    wrong("the stream is read without a final norm", lambda: y2 == y)


@test_shift_forgotten.proof
def _(goal, given, y, y2, g, c, eps):
    """y′ = y + c1, hence Πy′ = Πy, and with it variance, root and output."""
    shifted, written, written_shifted = given
    carried = sy.combine(y2 - y - c * ones(y), [(1, None, shifted), (1, None, written_shifted), (-1, None, written)])
    same = sy.combine(lg.project(y2) - lg.project(y), [(1, None, carried), (-1 / dim(y), ones(y), carried)])
    after, before = variance(y2) + eps, variance(y) + eps
    # σ²(y′) − σ²(y) = (Πy′ − Πy)·(y′ + y)/d
    divisors = same_divisor(after, before, sy.combine(after - before, [(1 / dim(y), y2 + y, same)]))
    return sy.combine(goal.term, [(g * lg.project(y2), None, divisors), (g / root(before), None, same)])


@theorem(
    GUPTA,
    "section 3.2",
    "finds that RMSNorm models learn to avoid the uniform direction",
    models=lambda d: irreversibility.twice(d).map(lambda values: values | {"c": 0}),
)
def test_shift_seen(x: Vector, g: Vector, b: Vector, c: Scalar, eps: Epsilon):
    """No RMSNorm with ε > 0 and nonzero gains forgets a shift along 1.

    RMS_ε(x + c1; g, b) = RMS_ε(x; g, b) implies c = 0, for ε > 0 and nonzero gains

    Remark: The first norm of a network of RMSNorms therefore puts out something else when c1 is added to the stream. Of
    the network's output nothing follows: a later branch can undo what an earlier one lets through.
    """
    assume(nonzero(g))
    assume(eps > 0)
    moved, unseen = x + c * ones(x), "RMS_ε(x + c1) = RMS_ε(x)"
    assume(lg.rms_norm(moved, g, b, eps=eps) == lg.rms_norm(x, g, b, eps=eps), unseen)
    assert c == 0
    wrong(
        "the same for LayerNorm",
        instead={unseen: lambda: lg.layer_norm(moved, g, b, eps=eps) == lg.layer_norm(x, g, b, eps=eps)},
    )


@test_shift_seen.proof
def _(goal, given, x, g, b, c, eps):
    """Without gain and bias the outputs are equal as well, and RMSNorm is injective."""
    gains, positive, same = given
    moved = x + c * ones(x)
    (injective,) = irreversibility.test_rms_norm_injective.prove()
    injective = sy.instantiate(injective, {sy.vector("x2"): moved})
    before, after = lg.rms_norm(x, eps=eps), lg.rms_norm(moved, eps=eps)
    undone = sy.prove(sy.equal((g * after + b - (g * before + b)) / g, after - before), gains)
    # ((g∘y′ + b) − (g∘y + b))/g = y′ − y
    outputs = sy.combine(after - before, [(-1, None, undone), (1 / g, None, same)])
    return sy.prove(goal, sy.cut(positive, sy.cut(outputs, injective)))
