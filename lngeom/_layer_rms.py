"""How far apart the LayerNorm and the RMSNorm of one vector are."""

from __future__ import annotations

from typing import Any

from ._norms import scale
from ._projection import moments
from .carriers import Array, namespace


def layer_rms_distance(x: Array, *, eps: Any) -> Array:
    """Distance ‖LN(x) − RMS(x)‖/√d of the two outputs before gain and bias: the root mean square per component.

    At ε = 0 it is 2 sin(|90° − θ|/2) with θ the angle of x to 1: 0 for vectors orthogonal to 1, below √2 for all. Both
    layers have the same ε. Returns shape (...). Source: theorems ``rmsnorm.distance`` and
    ``rmsnorm.distance_with_eps``; the comparison is that of Gupta et al., arXiv:2409.12951, section 3.2.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 7.0])
    >>> float(lg.layer_rms_distance(x, eps=7.0))  # σ² = 9, μ = 4
    0.7404423483061554
    >>> y, z = lg.layer_norm(x, eps=7.0), lg.rms_norm(x, eps=7.0)
    >>> bool(np.isclose(np.linalg.norm(y - z) / np.sqrt(2), lg.layer_rms_distance(x, eps=7.0)))
    True
    """
    mean, variance = moments(x)
    return layer_rms_distance_from_moments(mean, variance, eps=eps)[..., 0]


def layer_rms_distance_from_moments(mean: Array, variance: Array, *, eps: Any) -> Array:
    """Distance ‖LN(x) − RMS(x)‖/√d of a vector whose components have `mean` μ and `variance` σ².

    With s = √(σ² + ε) and r = √(μ² + σ² + ε) it is (|μ|/r) √(1 + (μσ/(s(r + s)))²): LN(x) − RMS(x) is the sum of the
    orthogonal (1/s − 1/r)(x − μ1) and −(μ/r)1, and 1/s − 1/r is μ²/(s r (r + s)), without a difference. Returns the
    broadcast shape; NaN where σ² = 0 at ε = 0. Source: theorem ``rmsnorm.distance_with_eps``.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.layer_rms_distance_from_moments(np.array(0.0), np.array(1.0), eps=0.0))
    0.0
    """
    xp = namespace(mean, variance)
    layer = scale(variance, eps=eps)
    rms = scale(mean * mean + variance, eps=eps)
    stretch = mean / (rms + layer) * (scale(variance, eps=0) / layer)
    return scale(mean * mean, eps=0) / rms * xp.sqrt(1 + stretch * stretch)
