"""How far apart the LayerNorm and the RMSNorm of one vector are."""

from __future__ import annotations

from typing import Any

from ._norms import scale
from ._projection import moments
from .carriers import Array, namespace


def layer_rms_distance(x: Array, *, eps: Any) -> Array:
    r"""Distance ‖LN(x) − RMS(x)‖/√d of the two outputs before gain and bias: the root mean square per component.

    What leaving out the mean subtraction changes in one layer. At ε = 0 it is 2 sin(|90° − θ|/2) with θ the angle of x
    to 1: 0 for vectors orthogonal to 1, and below √2 = 1.414….

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32.
        eps: ε ≥ 0, the same in both layers.

    Returns:
        array, shape (...): From 0 to √2; NaN for a constant vector at ε = 0, which has no LayerNorm. float32 for
            half-precision `x`.

    References:
        Theorems ``rmsnorm.distance`` and ``rmsnorm.distance_with_eps``. The comparison of the two layers is that of
        Gupta et al., arXiv:2409.12951, section 3.2.

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
    r"""Distance ‖LN(x) − RMS(x)‖/√d of a vector whose components have mean μ and variance σ².

    With s = √(σ² + ε) and r = √(μ² + σ² + ε) it is (|μ|/r) √(1 + (μσ/(s(r + s)))²). Nothing is subtracted: the
    difference 1/s − 1/r of the factors of the two layers is μ²/(s r (r + s)).

    Args:
        mean, variance: μ and σ² ≥ 0, shapes that broadcast; real floating dtype.
        eps: ε ≥ 0.

    Returns:
        array: Of the broadcast shape; NaN where σ² = 0 at ε = 0.

    References:
        Theorem ``rmsnorm.distance_with_eps``; LN(x) − RMS(x) = (1/s − 1/r)(x − μ1) − (μ/r)1, a sum of two orthogonal
        vectors.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.layer_rms_distance_from_moments(np.array(0.0), np.array(1.0), eps=0.0))
    0.0
    """
    xp = namespace(mean, variance)
    layer = scale(variance, eps=eps)
    rms = scale(mean * mean + variance, eps=eps)
    stretch = mean / (rms + layer) * (scale(variance, eps=0) / layer)
    return scale(mean * mean, eps=0) / rms * xp.sqrt(1 + stretch * stretch)
