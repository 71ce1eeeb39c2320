"""The functions of arrays in exact arithmetic, as their docstrings define them, and rows of every size."""

import math
import random
from collections.abc import Callable
from fractions import Fraction as Q
from typing import Any

import numpy as np
import torch
from array_api_compat import device

from lngeom import rounding
from lngeom.carriers import dtype_name

from .functions import FUNCTIONS

D, N, BITS = 4, 3, 120
Exact = Any
"""A fraction, or a NumPy array of fractions."""


def root(q: Exact) -> Exact:
    """√q to `BITS` bits at least."""
    if isinstance(q, np.ndarray):
        return np.array([root(entry) for entry in q])
    shift = max(0, BITS + (q.denominator.bit_length() - q.numerator.bit_length()) // 2)
    return Q(math.isqrt((q.numerator << 2 * shift) // q.denominator), 1 << shift)


def centred(x: Exact) -> Exact:
    return x - x.sum() / len(x)


def square(v: Exact) -> Q:
    return (v * v).sum() / len(v)


def divisor(m: Exact, e: Q, outside: bool) -> Exact:
    return root(m) + e if outside else root(m + e)


def normed(v: Exact, e: Q, outside: bool) -> Exact:
    return v / divisor(square(v), e, outside)


def derivative(a: dict[str, Exact], e: Q, outside: bool, project: Callable[[Exact], Exact] | None = None) -> Exact:
    """The Jacobian before the gain: of LayerNorm, or with another projection."""
    project = project or centred
    v = project(a["x"])
    s, size = divisor(square(v), e, outside), root(square(v))
    c = s / size if outside and size else 1
    identity = np.array([project(np.array([Q(int(i == j)) for i in range(D)])) for j in range(D)])
    return (identity - c * np.outer(v, v) / s**2 / D) / s


def distance(mu: Exact, m: Exact, e: Q) -> Exact:
    s, r = root(m + e), root(mu * mu + m + e)
    return root(mu * mu) / r * root(1 + (mu * root(m) / (s * (r + s))) ** 2)


def angle(mu: Q, m: Q) -> Exact:
    size = root(mu * mu + m)
    return Q(math.atan2(root(m) / size, mu / size)) if size else Q(0)


def same(x: Exact) -> Exact:
    return x


# The arguments: the rows a, ε, whether it is outside. Rows v, w are x and z, centred for LayerNorm.
EXACT: dict[str, Callable[[dict[str, Exact], Q, bool], Exact]] = {
    "project": lambda a, e, o: centred(a["x"]),
    "mean_vector": lambda a, e, o: a["x"] - centred(a["x"]),
    "mean": lambda a, e, o: np.array([a["x"].sum() / D]),
    "variance": lambda a, e, o: np.array([square(centred(a["x"]))]),
    "condition_number": lambda a, e, o: root(square(a["x"]) / square(centred(a["x"]))),
    "angle_to_uniform": lambda a, e, o: angle(a["x"].sum() / D, square(centred(a["x"]))),
    "angle_from_moments": lambda a, e, o: np.array([*map(angle, a["bias"], a["variance"])]),
    "standardize": lambda a, e, o: normed(centred(a["x"]), e, o),
    "layer_norm": lambda a, e, o: normed(centred(a["x"]), e, o) * a["gain"] + a["bias"],
    "rms_norm": lambda a, e, o: normed(a["x"], e, o) * a["gain"] + a["bias"],
    "scale": lambda a, e, o: divisor(a["variance"], e, o),
    "layer_rms_distance": lambda a, e, o: distance(a["x"].sum() / D, square(centred(a["x"])), e),
    "layer_rms_distance_from_moments": lambda a, e, o: distance(a["bias"], a["variance"], e),
    "relative_radius": lambda a, e, o: root(square(normed(centred(a["x"]), e, o))),
    "relative_radius_from_mean_square": lambda a, e, o: root(a["variance"]) / divisor(a["variance"], e, o),
    "jacobian": lambda a, e, o: a["gain"][:, None] * derivative(a, e, o),
    "jacobian_rms": lambda a, e, o: a["gain"][:, None] * derivative(a, e, o, same),
    "jacobian_product": lambda a, e, o: a["gain"] * (derivative(a, e, o) @ a["t"]),
    "jacobian_transpose_product": lambda a, e, o: derivative(a, e, o) @ (a["gain"] * a["t"]),
    "jacobian_singular_values": lambda a, e, o: singular(divisor(square(centred(a["x"])), e, o), e, o),
    "jacobian_singular_values_rms": lambda a, e, o: singular(divisor(square(a["x"]), e, o), e, o)[[0, 0, 1, 2]],
    "invert": lambda a, e, o: a["y"] * (e / (1 - root(square(a["y"]))) if o else root(e / (1 - square(a["y"])))),
    "center_writer": lambda a, e, o: centred(a["x"]),
    "fold_affine_weight": lambda a, e, o: a["x"] * a["gain"],
    "fold_affine_bias": lambda a, e, o: (a["x"] * a["bias"]).sum(),
    "project_direction": lambda a, e, o: a["x"] - (a["x"] @ a["gain"]) / square(a["gain"]) / D * a["gain"],
    "jacobian_product_rms": lambda a, e, o: a["gain"] * (derivative(a, e, o, same) @ a["t"]),
    "centered_inner_product": lambda a, e, o: a["bias"] - 5 * a["variance"] * a["gain"],
    "ellipsoid_radius": lambda a, e, o: root(square(a["x"] / a["gain"])),
    "ellipsoid_offset": lambda a, e, o: abs((a["x"] / a["gain"]).sum()) / root((1 / a["gain"] ** 2).sum()),
    "dead_direction": lambda a, e, o: (1 / a["gain"]) / root((1 / a["gain"] ** 2).sum()),
}


def singular(s: Q, e: Q, outside: bool) -> Exact:
    return np.array([1 / s] * (D - 2) + [e / s ** (2 if outside else 3), Q(0)])


FORMATS = {name: (form.low + 1 - form.bits, form.high, form.bits) for name, form in rounding.FORMATS.items()}
"""Exponents of the smallest and the largest numbers, and bits of a significand."""
ENTRYWISE = "_from_m singular scale"
DATA = "x t y gain bias variance weight"


def draw(generator: random.Random, dtype: str) -> tuple[dict[str, np.ndarray], float]:
    """Rows and an ε of any exponents, which in a row are one, near each other, or any."""
    low, high, bits = FORMATS[dtype]

    def number(exponent: float) -> float:
        exponent = min(max(round(exponent), low), high)
        kept = min(bits, exponent - low + 1)
        return math.ldexp(
            generator.choice([-1, 1]) * generator.randrange(1 << kept - 1, 1 << kept), exponent - kept + 1
        )

    def row(start: float, spread: float) -> list[float]:
        return [number(start + generator.uniform(-spread, 0)) for _ in range(D)]

    def rows(start: float | None = None) -> np.ndarray:
        spread = generator.choice([0, 0, 3, 30, high - low])
        return np.array([row(generator.uniform(low, high) if start is None else start, spread) for _ in range(N)])

    half = np.abs(rows(-2))[:, : D // 2]
    ordinary = generator.random() < 0.5
    a = {"x": rows(), "t": rows(0 if ordinary else None), "gain": row(0, 3), "bias": row(0, 3)}
    a |= {"variance": row(0, 3), "y": np.concatenate([half, -half], axis=-1)}
    if not ordinary:
        a |= {"bias": rows()[0], "variance": rows()[0]}
    a = {name: np.asarray(value) for name, value in a.items()}
    a |= {"weight": a["x"], "variance": abs(a["variance"])}
    square = max(low, min(high, 2 * math.frexp(abs(a["x"]).max())[1]))
    return a, generator.choice([0.0, 1e-5, 1.0, abs(number(square)), abs(number(generator.uniform(low, high)))])


def size(name: str, a: dict[str, Exact], e: Q, o: bool, exact: Exact) -> Exact:
    """What the error of a function is relative to: its largest entry, or that of what it is the sum of."""
    largest = {key: np.max(abs(value)) for key, value in a.items()}
    if any(part in name for part in ENTRYWISE.split()):
        return abs(exact)
    if name in ("mean", "mean_vector", "project", "project_direction", "center_writer"):
        return largest["x"] + np.max(abs(exact))
    if name == "layer_rms_distance":
        return largest["x"] / root(square(a["x"]) + e)
    if name == "centered_inner_product":
        return abs(a["bias"]) + 5 * abs(a["variance"] * a["gain"])
    if name == "ellipsoid_offset":
        return D * largest["x"]
    if "product" in name:
        centre = same if "rms" in name else centred
        return largest["gain"] * largest["t"] / divisor(square(centre(a["x"])), e, o)
    extra = largest["bias"] if "_norm" in name else 0
    return np.max(abs(exact)) + extra if name != "fold_affine_bias" else (abs(a["x"] * a["bias"])).sum()


def condition(a: dict[str, Exact]) -> Q:
    """How much more than by rounding the errors of a row may be: κ of the row."""
    spread = square(centred(a["x"]))
    return 1 + square(a["x"]) / spread if spread else Q(1)


def steepness(a: dict[str, Exact], e: Q, o: bool) -> Q:
    """How far a number may move, in units of the smallest one, where arguments move by that."""
    divisors = [divisor(square(centre(a["x"])), e, o) for centre in (centred, same)]
    return sum((1 / each for each in divisors if each), Q(1))


def wrong(name: str, dtype: str, array: Callable[[np.ndarray], Any], generator: random.Random) -> str:
    """Where a function of the table is off by more than rounding on rows of one draw; empty if nowhere."""
    arrays, eps = draw(generator, dtype)
    base, _, place = name.partition(" ")
    eps = eps or float(base == "invert")  # which is refused at ε = 0
    with np.errstate(all="ignore"):
        asked = {key: array(value) for key, value in arrays.items()}
        got, like = FUNCTIONS[name].call(asked, eps), asked["x"]
    kept = "float32" if FUNCTIONS[name].wide and FORMATS[dtype][2] < 24 else dtype
    if (type(got), dtype_name(got), device(got)) != (type(like), kept, device(like)):
        return f"{name} of {dtype}: a {type(got).__name__} of {got.dtype}"
    got = np.asarray(got.double().cpu() if isinstance(got, torch.Tensor) else got, dtype=float)
    fractions = {key: np.vectorize(Q, otypes=[object])(value) for key, value in arrays.items()}
    low, high, bits = FORMATS[dtype]
    work = Q(2) ** -max(bits, 24)
    for i in range(N):
        a = {key: value[i] if value.ndim == 2 else value for key, value in fractions.items()}
        row = got[i] if len(got) == N else got
        try:
            exact = EXACT[base](a, Q(eps), bool(place))
        except ZeroDivisionError:
            continue
        factor = 4 * (D + 30) * work * condition(a)
        bound = (factor + Q(2) ** -bits) * size(base, a, Q(eps), bool(place), exact) + 64 * Q(2) ** low * steepness(
            a, Q(eps), bool(place)
        )
        for value, right, slack in zip(
            *(np.broadcast_to(v, np.shape(exact)).ravel() for v in (row, exact, bound)), strict=True
        ):
            limit = Q(2) ** (high + 1)
            near = 16 * (max(abs(right), np.max(abs(a["t"]))) + slack) >= limit  # as before a gain, or of a deviation
            fine = abs(Q(float(value)) - right) <= slack if math.isfinite(value) else near
            if not fine:
                given = {k: [float(c) for c in a[k]] for k in DATA.split() if k != "weight"}
                shown = float(right) if abs(right) < limit else f"{high} bits"
                return f"{name} of {dtype}: {value}, not {shown}, for {given}, eps {eps}"
    return ""
