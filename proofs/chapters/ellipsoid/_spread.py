"""GΠG as an operator on vectors, and samplers of gains and of its eigenvectors."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import equal, square_norm

from ...checks import draw_vector


def spread(g: Any, v: Any) -> Any:
    """GΠG v, whose eigenvalues are the squared semi-axes over d."""
    return g * lg.project(g * v)


def sphere(g: Any, z: Any) -> Any:
    """Σ z_i²/g_i²."""
    return square_norm(z / g)


def gain_model(random: Random, d: int) -> dict[str, Any]:
    """Gains of both signs, repeated at times."""
    return {"g": tuple(Fraction(random.choice((-2, -1, 1, 1, 2, 3))) for _ in range(d))}


def axis_model(random: Random, d: int) -> dict[str, Any]:
    """An eigenvector of GΠG: differences of two coordinates with gains of equal size."""
    g = list(gain_model(random, d)["g"])
    v = [Fraction(0)] * d
    if d > 1:
        i, k = random.sample(range(d), 2)
        g[k] = g[i] * random.choice((1, -1))
        factor = random.choice((1, 2, -1))
        v[i], v[k] = Fraction(factor), -factor * g[i] / g[k]
        lam = g[i] ** 2
    else:
        lam = Fraction(1)
    w = tuple(a + b for a, b in zip(draw_vector(random, d), [0] * d, strict=True))
    return {"g": tuple(g), "v": tuple(v), "w": w, "lam": lam, "zeta": 1 / lam}


EIGEN = {"GΠGv = λv": lambda g, v, lam: equal(spread(g, v), lam * v)}
