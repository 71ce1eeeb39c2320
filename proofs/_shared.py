"""Statistics that many theorems share, so that one thing has one name."""

import lngeom as lg
from lngeom.prover import dim, root, square_norm
from lngeom.theorems import Scalar, Vector


def mean(x: Vector) -> Scalar:
    """μ as the library computes it."""
    return lg.moments(x)[0]


def variance(x: Vector) -> Scalar:
    """σ² as the library computes it."""
    return lg.moments(x)[1]


def deviation(x: Vector) -> Scalar:
    """σ, the root of the variance."""
    return root(variance(x))


def mean_square(x: Vector) -> Scalar:
    """‖x‖²/d."""
    return square_norm(x) / dim(x)
