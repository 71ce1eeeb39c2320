"""The derivative of LayerNorm where it is said to be something else."""

from fractions import Fraction

import lngeom as lg
from lngeom.carriers import Enclosure
from lngeom.prover import derivative, dot, ones, square_norm

from ..case import WorkedExample, counterexample
from ._exact import Operator


def _layer(x: Enclosure) -> Operator:
    """V ↦ Jv for LayerNorm at x, ε = 0."""
    return lambda v: derivative(lambda u: lg.standardize(u, eps=0), x, v)


def _rms(x: Enclosure) -> Operator:
    return lambda v: derivative(lambda u: lg.rms_norm(u, eps=0), x, v)


@counterexample
def factor_of_post_norm(case: WorkedExample) -> None:
    """Centred inputs of norm √d pass gradients with one factor in dimension 4 and in dimension 64."""
    factors = []
    for d in (4, 64):
        x, v = (Enclosure([Fraction(sign) for sign in signs * (d // 4)]) for signs in ((1, -1, 1, -1), (1, 1, -1, -1)))
        case.given(f"x = (1, −1, 1, −1, ...) in dimension {d}: ‖x‖² = d", square_norm(x), "=", d)
        factors.append(case.find("‖Jv‖²/‖v‖² at v = (1, 1, −1, −1, ...)", square_norm(_layer(x)(v)) / square_norm(v)))
    case.claimed("the scale is √d: from 4 to 64 its square grows by 16", factors[1], "=", 16 * factors[0])


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
