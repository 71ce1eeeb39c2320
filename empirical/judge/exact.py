"""Predictions that hold for every single vector, up to the rounding of the layer.

Derivation of the bounds
------------------------
The layer's output ẑ is within E of the exact z, component by component: E is :func:`lngeom.rounding.error_bound` of
the dtype, for any order of summation. The vector y before gain and bias is (z − b)/g where no gain is zero, by the
theorem ``standardization.recovered``; each row names the theorem that says of z or of y what
the row tests, with the layer's own ε. With ŷ = (ẑ − b)/g and e = E/|g|, |ŷ − y| ≤ e, so that

- |‖ŷ‖ − √d r| ≤ ‖e‖ with r the relative radius of x, and the angle between ŷ and y is at most arcsin(‖e‖/‖y‖);
- |1·ŷ| ≤ Σe_i, and the distance of ẑ from the hyperplane is at most Σ|α_i|E_i/‖α‖ with α = 1/g;
- the relative radius of ẑ, a seminorm of ẑ − b, is at most 1 plus the error's: √(‖e‖² + (Σe_i)²/k)/√d over the
  nonzero gains, where the second term is there for a LayerNorm with k ≥ 1 zero gains only.

Half-precision RMSNorm layers round y before they multiply by the gain: with E₁ the bound without gain and v the unit
roundoff, E = |g|(E₁ + 2v(|y| + E₁)) + the smallest subnormal number; that covers layers which round once as well.

The checks themselves are computed in float64. E is at least u(|z_i| + 2|b_i|) with u ≥ 2⁻²⁴, so that their roundings,
fewer than 16 for a component and d + 16 in a sum, relative 2⁻⁵³ each, are below 2⁻⁸ of the bounds for d ≤ 2²⁰: the
factor 1 + 2⁻⁷ on E pays for them. Where ‖E‖ ≥ ‖z − b‖, so that the layer's
own output drowns in E, nothing is decided.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

import lngeom as lg

from ..models import layer_error
from .sample import SCALE, SiteSample
from .verdicts import Prediction, judged, undecided

_SLACK = 1 + 2.0**-7
_SCALED_VECTORS = 2

RECOMPUTATION = "z recomputed from x"
LENGTH = "‖y‖ = √d r"
ORTHOGONALITY = "Σyᵢ = 0"
HYPERPLANE = "α·(z − b) = 0"
CONTAINMENT = "relative radius at most 1"
ROTATION = "rotation from x to y"
SCALING = "N(ax; ε) = N(x; ε/a²)"

_LAYER_NORM = {
    RECOMPUTATION: "standardization.layer",
    LENGTH: "epsilon.gauge",
    ORTHOGONALITY: "standardization.mean_zero",
    HYPERPLANE: "ellipsoid.hyperplane",
    CONTAINMENT: "ellipsoid.interior",
    ROTATION: "angles.rotation_by_layer_norm",
    SCALING: "epsilon.scaling",
}
_RMS_NORM = {
    RECOMPUTATION: "rmsnorm.definition",
    LENGTH: "rmsnorm.length",
    CONTAINMENT: "rmsnorm.interior",
    ROTATION: "angles.rotation_by_rms_norm",
    SCALING: "rmsnorm.scaling",
}
THEOREMS = {"layernorm": _LAYER_NORM, "rmsnorm": _RMS_NORM}
"""The predictions about each kind of layer, with their theorems."""
ZERO_GAINS = {"layernorm": "ellipsoid.zero_gain_interior", "rmsnorm": "rmsnorm.zero_gain_interior"}
"""The theorem about containment for layers some of whose gains are zero."""
_POSITIVE_EPS = (LENGTH, CONTAINMENT)
"""Predictions whose theorems take ε > 0."""


def check_sample(sample: SiteSample) -> Iterator[Prediction]:
    """One verdict for each theorem about a layer of this kind; ``undecided``, with a reason, without an error bound."""
    theorems, path = dict(THEOREMS[sample.site.kind]), sample.site.path
    if (sample.gain == 0).any():
        theorems[CONTAINMENT] = ZERO_GAINS[sample.site.kind]
    reason = _unknown(sample)
    finite = np.isfinite(sample.x).all(-1)
    if not reason and not finite.any():
        reason = "no input is finite"
    if reason:
        yield from (undecided(path, name, theorem, reason) for name, theorem in theorems.items())
        return
    kept = replace(sample, x=sample.x[finite], z=sample.z[finite], scaled=sample.scaled[finite])
    error = _error(kept, kept.x)
    exact = _exact(kept, kept.x, sample.site.eps)
    distance, limit, decidable = _compared(kept.z, exact, error, kept.bias)
    yield judged(path, RECOMPUTATION, theorems[RECOMPUTATION], distance, limit, decidable)
    for name, measured, bound in _geometry(kept, error * _SLACK):
        theorem = theorems[name]
        if name in _POSITIVE_EPS and not sample.site.eps > 0:
            yield undecided(path, name, theorem, "the theorem takes ε > 0")
        elif name != CONTAINMENT and (kept.gain == 0).any():
            yield undecided(path, name, theorem, "a zero gain hides a component of the standardized vector")
        else:
            yield judged(path, name, theorem, measured, bound, decidable)
    # exact for powers of two unless the scaled vector leaves the range of the format
    few, largest = slice(0, _SCALED_VECTORS), float(torch.finfo(getattr(torch, str(sample.dtype))).max)
    inside = np.abs(kept.x[few]).max(-1) * SCALE <= largest
    if not inside.any():
        yield undecided(path, SCALING, theorems[SCALING], "the scaled input overflows")
        return
    x = kept.x[few][inside]
    exact, error = _exact(kept, x, sample.site.eps / SCALE**2), _error(kept, SCALE * x)
    yield judged(path, SCALING, theorems[SCALING], *_compared(kept.scaled[few][inside], exact, error, kept.bias))


def _unknown(sample: SiteSample) -> str:
    """Why nothing can be decided about this layer; empty if it can."""
    if sample.dtype is None:
        return "input, output and parameters differ in dtype"
    if sample.dtype == "float64":
        return "no wider format to check float64 in"
    if not (np.isfinite(sample.gain).all() and (sample.bias is None or np.isfinite(sample.bias).all())):
        return "gain or bias is not finite"
    return ""


def _exact(sample: SiteSample, x: np.ndarray, eps: float) -> np.ndarray:
    function = lg.layer_norm if sample.site.kind == "layernorm" else lg.rms_norm
    return function(x, sample.gain, sample.bias, eps=eps)


def _error(sample: SiteSample, x: np.ndarray) -> np.ndarray:
    """E of the derivation."""
    site = sample.site
    return layer_error(x, sample.gain, sample.bias, kind=site.kind, eps=site.eps, dtype=str(sample.dtype))


def _compared(
    seen: np.ndarray, exact: np.ndarray, error: np.ndarray, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Deviation and bound of each vector where they come closest, and whether the bound says anything."""
    moved = np.linalg.norm(exact if bias is None else exact - bias, axis=-1)
    decidable = np.isfinite(error).all(-1) & (np.linalg.norm(error, axis=-1) < moved)
    limit, distance = error * _SLACK, np.abs(seen - exact)
    with np.errstate(invalid="ignore"):
        worst = np.argmax(distance / limit, axis=-1)[:, None]
    return (np.take_along_axis(distance, worst, -1)[:, 0], np.take_along_axis(limit, worst, -1)[:, 0], decidable)


def _geometry(sample: SiteSample, error: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each statement about the place of the outputs: measurement and bound for each vector."""
    site, gain = sample.site, sample.gain
    centered, d, zeros = site.kind == "layernorm", site.d, int((gain == 0).sum())
    safe = np.where(gain == 0, 1.0, gain)
    moved = sample.z if sample.bias is None else sample.z - sample.bias
    y = np.where(gain == 0, 0.0, moved / safe)
    e = np.where(gain == 0, 0.0, error / np.abs(safe))
    reach = np.linalg.norm(e, axis=-1)
    mean_square = lg.moments(sample.x)[1][:, 0] if centered else np.mean(sample.x**2, axis=-1)
    length = np.sqrt(d) * lg.epsilon.relative_radius_from_mean_square(mean_square, eps=site.eps)
    yield LENGTH, np.abs(np.linalg.norm(y, axis=-1) - length), reach
    ellipsoid = lg.Ellipsoid(gain, centered=centered)
    if centered:
        yield ORTHOGONALITY, np.abs(y.sum(-1)), e.sum(-1)
        normal = 1 / np.abs(safe)
        yield HYPERPLANE, ellipsoid.offset(moved), error @ normal / np.linalg.norm(normal)
    rest = e.sum(-1) ** 2 / zeros if centered and zeros else 0.0
    yield CONTAINMENT, ellipsoid.relative_radius(moved), 1 + np.sqrt(reach**2 + rest) / np.sqrt(d)
    turned = np.abs(np.pi / 2 - np.nan_to_num(lg.angles.angle_to_uniform(sample.x))) if centered else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # y = 0 has no direction, and decides nothing
        limit = np.where(reach < length, np.arcsin(np.minimum(1, reach / length)), np.inf)
        a, b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (sample.x, y))
    angle = 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))  # Kahan: also of small ones
    yield ROTATION, np.rad2deg(np.abs(angle - turned)), np.rad2deg(limit)
