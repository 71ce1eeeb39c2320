"""Statistics and samplers that many theorems share, so that one thing has one name."""

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.kernel import Proved, cut, dim, root, square_norm

from .checks import Values, draw_scalar, draw_vector


def mean(x: Any) -> Any:
    """μ as the library computes it."""
    return lg.moments(x)[0]


def variance(x: Any) -> Any:
    """σ² as the library computes it."""
    return lg.moments(x)[1]


def deviation(x: Any) -> Any:
    """σ, the root of the variance."""
    return root(variance(x))


def mean_square(x: Any) -> Any:
    """‖x‖²/d."""
    return square_norm(x) / dim(x)


def assuming(theorem: Proved, given: list[Proved]) -> Proved:
    """The theorem with hypotheses that its proof does not need, kept because the library does."""
    for assumption in given:
        theorem = cut(assumption, theorem)
    return theorem


def centered(random: Random, d: int) -> tuple[Fraction, ...]:
    """A vector orthogonal to 1: differences of neighbours around a circle."""
    x = draw_vector(random, d)
    return tuple(a - b for a, b in zip(x, x[1:] + x[:1], strict=True))


def standard(random: Random, d: int) -> tuple[Fraction, ...]:
    """A rational vector of mean 0 and variance 1; exists for every even d, else 0 is returned."""
    signs = [Fraction((-1) ** i) for i in range(d)] if d % 2 == 0 else [Fraction(0)] * d
    random.shuffle(signs)
    if d < 4 or random.random() < 0.3:
        return tuple(signs)
    # A reflection that fixes 1 and keeps lengths: x − 2w(w·x)/(w·w) with w ⟂ 1.
    w = centered(random, d)
    length = sum(value * value for value in w)
    inner = sum(a * b for a, b in zip(w, signs, strict=True))
    return tuple(a - 2 * b * inner / length for a, b in zip(signs, w, strict=True)) if length else tuple(signs)


def coordinate(random: Random, d: int) -> tuple[Fraction, ...]:
    """A coordinate vector."""
    k = random.randrange(d)
    return tuple(Fraction(int(i == k)) for i in range(d))


def two_levels(random: Random, d: int) -> Values:
    """Two vectors and two values of ε, all positive, with rational deviations in even dimensions."""
    signs = [(-1) ** i * (i < d - d % 2) for i in range(d)]
    first, second = (Fraction(random.choice((1, 2, 3)), random.choice((1, 2))) for _ in range(2))
    return {
        "x": tuple(first * sign for sign in signs),
        "x2": tuple(second * sign for sign in signs),
        "eps": abs(draw_scalar(random)) or Fraction(1, 2),
        "c": abs(draw_scalar(random)) or Fraction(1, 3),
    }
