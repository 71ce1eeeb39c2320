"""The derivative of LayerNorm where it is said to be something else."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.kernel import derivative, dot, norm, ones, square_norm

from .._case import WorkedExample, counterexample
from ._exact import Operator, rank


def _layer(x: Enclosure) -> Operator:
    """V ↦ Jv for LayerNorm at x, ε = 0."""
    return lambda v: derivative(lambda u: lg.standardize(u, eps=0), x, v)


def _rms(x: Enclosure) -> Operator:
    return lambda v: derivative(lambda u: lg.rms_norm(u, eps=0), x, v)


@counterexample
def same_output_other_gradient(case: WorkedExample) -> None:
    """At x ⟂ 1 there is nothing to remove, the outputs are equal, and the derivatives still differ."""
    x, one = case.vector("x", 1, -1), case.vector("1", 1, 1)
    case.given("no component along 1: 1·x = 0", dot(one, x), "=", 0)
    case.given("LN(x) = RMS(x)", lg.layer_norm(x, eps=0), "=", lg.rms_norm(x, eps=0))
    centered = case.find("derivative of LN along 1", _layer(x)(one))
    other = case.find("derivative of RMSNorm along 1", _rms(x)(one))
    case.claimed("centring makes no difference: the derivatives agree", centered, "=", other)


@counterexample
def first_training_step(case: WorkedExample) -> None:
    """All states are orthogonal to 1 before the step, and LayerNorm and RMSNorm still train apart."""
    x = case.vector("x, an input that is being trained", 1, -1, 1, -1)
    c = case.vector("gradient of the loss by the output", 1, 0, 0, 0)
    case.given("no component along 1: 1·x = 0", dot(ones(x), x), "=", 0)
    case.given("equal outputs: LN(x) = RMS(x)", lg.layer_norm(x, eps=0), "=", lg.rms_norm(x, eps=0))
    # For unit gain both Jacobians are symmetric, so that Jᵀc = Jc.
    layer = case.find("gradient by x through LN", _layer(x)(c))
    rms = case.find("gradient by x through RMSNorm", _rms(x)(c))
    case.claimed("centring is dispensable in training: the steps x − ½·gradient agree", x - layer / 2, "=", x - rms / 2)
    case.true("through LN the gradient has no component along 1", dot(ones(x), layer), "=", 0)


@counterexample
def large_norm_small_deviation(case: WorkedExample) -> None:
    """A long vector nearly parallel to 1 has a large Jacobian: what counts is ‖Πx‖, not ‖x‖."""
    x = case.vector("x", 10**6, 10**6, 10**6 + 1)
    v = case.vector("v", 1, -1, 0)
    slope = case.find("‖Jv‖/‖v‖", norm(_layer(x)(v)) / norm(v))
    case.claimed("‖J‖ ≤ C d/‖x‖, even with C = 1000", slope, "≤", 1000 * 3 / norm(x))
    case.claimed("‖J‖ ≤ C √d/‖x‖, even with C = 1000", slope, "≤", 1000 * norm(ones(x)) / norm(x))
    case.true("‖J‖ = √d/‖Πx‖", slope, "=", norm(ones(x)) / norm(lg.project(x)))


@counterexample
def amplified_though_long(case: WorkedExample) -> None:
    """A long input with a small deviation amplifies gradients: long is not a synonym of attenuated."""
    x = case.vector("x", 1000, 1000, 1001)
    v = case.vector("v", 1, -1, 0)
    case.given("the input is long", norm(x), ">", 1000)
    slope = case.find("‖Jv‖/‖v‖", norm(_layer(x)(v)) / norm(v))
    case.claimed("gradients are attenuated: ‖Jv‖ < ‖v‖", slope, "<", 1)
    case.true("the factor is 1/σ", slope, "=", norm(ones(x)) / norm(lg.project(x)))


@counterexample
def constant_scale(case: WorkedExample) -> None:
    """Inputs of one norm, √d, and any deviation: no constant times √d bounds the factor."""
    x = case.vector("x, of norm √d = 2", *(Fraction(n, 10001) for n in (10199, 10199, 9799, 9799)))
    case.given("‖x‖² = d", square_norm(x), "=", 4)
    v = case.vector("v", 1, -1, 0, 0)
    slope = case.find("‖Jv‖/‖v‖", norm(_layer(x)(v)) / norm(v))
    case.claimed("gradients pass with a factor of 10√d = 20 at most", slope, "≤", 20)
    case.true("‖Jv‖/‖v‖ = √d/‖Πx‖", slope, "=", norm(ones(x)) / norm(lg.project(x)))


@counterexample
def two_dimensions_less(case: WorkedExample) -> None:
    """The tangent space of the image has dimension d − 2, and most of the (d − 1)-sphere is never reached."""
    x = case.vector("x", 1, -1, 1, -1)
    case.find("rank of the Jacobian at x", rank(_layer(x), 4))
    case.claimed("the image is a (d − 1)-sphere: the Jacobian has rank 3", rank(_layer(x), 4), "=", 3)
    p = case.vector("p, on the sphere of radius √d = 2", 2, 0, 0, 0)
    case.given("‖p‖² = d", square_norm(p), "=", 4)
    case.claimed("p is an output, so that 1·p = 0", dot(ones(p), p), "=", 0)
    case.true("the rank is d − 2", rank(_layer(x), 4), "=", 2)
    c = case.vector("c", 1, 1, 1, 1)
    case.undefined("LN(c): “any” input", lambda: lg.standardize(c, eps=0))
