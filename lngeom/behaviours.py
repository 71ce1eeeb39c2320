"""Kind, ε, gain and bias of a norm layer, read off inputs and outputs alone, for any framework."""

from typing import Literal, NamedTuple

import numpy as np

from .norms import scale
from .projection import moments, project

_LARGEST = {"float16": 0.5, "bfloat16": 1.0}  # decades: float16 has no squares of 1000
_SMALLEST = {"float16": -3.5}


class Behaviour(NamedTuple):
    """The formula of a layer: gain ∘ (x − μ or x)/scale + bias.

    `eps` is None where the rows do not resolve it, `error` the largest distance of an output from the formula, in
    units of the largest component of its row before the bias.
    """

    kind: Literal["layernorm", "rmsnorm"]
    placement: Literal["inside", "outside"]
    eps: float | None
    gain: np.ndarray
    bias: np.ndarray
    error: float


def probes(d: int, dtype: str = "float32", *, rows: int = 48, seed: int = 0) -> np.ndarray:
    """Rows, shape (rows, d), of log-spaced sizes with random means, from which :func:`behaviour` reads a layer.

    They are float64; round them to the dtype of the layer before use, and pass the rounded ones.
    """
    rng = np.random.default_rng(seed)
    sizes = np.logspace(_SMALLEST.get(dtype, -7), _LARGEST.get(dtype, 1), rows)[:, None]
    return sizes * (rng.normal(size=(rows, d)) + rng.normal(size=(rows, 1)))


def behaviour(x: np.ndarray, y: np.ndarray, roundoff: float) -> Behaviour | None:
    """The norm layer that maps the rows `x` to `y`, both of shape (n, d), or None if no norm does.

    Needs n ≥ 8 rows of sizes that differ by more than 10; `roundoff` is the unit roundoff of the outputs. At large rows
    each component is linear in the normalized one, which gives gain and bias; then each row gives one scale r, and
    1/r² − v (or 1/r − √v) is ε.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    finite = np.isfinite(x).all(axis=-1) & np.isfinite(y).all(axis=-1)
    x, y = x[finite], y[finite]
    if len(x) < 8:
        return None
    readings = [
        reading
        for centered in (True, False)
        for outside in (False, True)
        for biased in (False, True)
        for start in (10, 1)
        if (reading := _read(x, y, roundoff, centered, outside, biased, start)) is not None
    ]
    # Where several fit, one that resolves ε.
    best = min(readings, key=lambda r: (r.error > 16 * roundoff, r.eps is None, r.error), default=None)
    # A few roundings of the output, of the gain and of a value cast before it, and what the fit of g and b leaves.
    return best if best is not None and best.error <= 64 * roundoff else None


def _read(
    x: np.ndarray, y: np.ndarray, u: float, centered: bool, outside: bool, biased: bool, start: int
) -> Behaviour | None:
    """Fit gain, bias and ε in turn: `start` times on large rows alone, then on all of them, until ε stands still."""
    numerator = project(x) if centered else x
    square = (moments(x)[1] if centered else np.mean(x * x, axis=-1, keepdims=True))[:, 0]
    used = square > 0
    numerator, square, y = numerator[used], square[used], y[used]
    if len(y) < 8:
        return None
    placement: Literal["inside", "outside"] = "outside" if outside else "inside"
    large = np.argsort(square)[-max(8, len(square) // 6) :]
    eps, bias = 0.0, np.zeros(x.shape[-1])
    gain = shape = inverse = own = np.ones_like(bias)
    for step in range(start + 60):
        normal = numerator / scale(square, eps=max(eps, 0.0), placement=placement)[:, None]
        rows = large if step < start else slice(None)  # at large rows a wrong ε matters less
        gain, bias = _affine(normal[rows], y[rows], biased)
        shape = numerator * gain
        weight = (shape * shape).sum(axis=-1)
        if not (weight > 0).all():
            return None
        r = ((y - bias) * shape).sum(axis=-1) / weight
        # A row whose output drowns in the rounding of the bias says nothing.
        size = abs(shape).max(axis=-1) * r
        clear = (r > 0) & (size > 64 * u * abs(bias).max())
        if start > 1 and step < start:  # nor does the first error of the bias, in which small rows would drown
            clear &= square >= square[large].min()
        if clear.sum() < 8:
            return None
        inverse = 1 / r[clear] if outside else 1 / r[clear] ** 2
        own = np.sqrt(square[clear]) if outside else square[clear]
        # A row is off by a rounding of 1/r² and by the error of the bias, so that small rows tell the most.
        left = u * abs(bias).max() + abs(normal[rows] * gain + bias - y[rows]).max()
        weights = 1 / (inverse * (u + (left if biased else 0.0) / size[clear])) ** 2
        before, eps = eps, float(((inverse - own) * weights).sum() / weights.sum())
        if step > start and abs(eps - before) <= u * abs(eps) / 8:
            break
    if own.max() < 10 * eps:  # a constant scale: no norm of these rows
        return None
    predicted = shape / scale(square, eps=max(eps, 0.0), placement=placement)[:, None] + bias
    unit = abs(predicted - bias).max(axis=-1) + abs(bias).max()
    error = float((abs(predicted - y).max(axis=-1) / unit).max())
    least = float(inverse.min())
    resolved = eps if abs(eps) >= 16 * u * least else 0.0 if least < 1e-10 else None
    return Behaviour("layernorm" if centered else "rmsnorm", placement, resolved, gain, bias, error)


def _affine(normal: np.ndarray, y: np.ndarray, biased: bool) -> tuple[np.ndarray, np.ndarray]:
    """Gain and bias of the least squares y ≈ gain ∘ normal + bias, each of shape (d,)."""
    if not biased:  # even a bias of one rounding would drown the small rows
        return (normal * y).sum(axis=0) / (normal * normal).sum(axis=0), np.zeros(y.shape[-1])
    middle, center = normal.mean(axis=0), y.mean(axis=0)
    spread = ((normal - middle) ** 2).sum(axis=0)
    gain = ((normal - middle) * (y - center)).sum(axis=0) / np.where(spread > 0, spread, 1)
    return gain, center - gain * middle
