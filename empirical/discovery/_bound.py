"""How far a layer that computes in some format may be from the norm it is."""

from __future__ import annotations

import numpy as np
import torch

import lngeom

from ..models import Kind


def layer_error(
    x: np.ndarray, gain: np.ndarray, bias: np.ndarray | None, *, kind: Kind, eps: float, dtype: str
) -> np.ndarray:
    """Bound of the error of each output component, shape (n, d), for any order of summation.

    :func:`lngeom.error_bound`; of a half-precision RMSNorm with room for a rounding of the normalized vector before
    the gain, as Llama has it.

    Args:
        x: float64, (n, d). What enters, exactly.
        gain, bias: float64, (d,). As the layer multiplies and adds them.
        kind, eps: What the layer computes.
        dtype: The format of its inputs and outputs.

    >>> import numpy as np
    >>> from empirical.discovery import layer_error
    >>> x = np.array([[1.0, -1.0]])
    >>> narrow, wide = (layer_error(x, np.ones(2), None, kind="rmsnorm", eps=0.0, dtype=name).max()
    ...                 for name in ("bfloat16", "float32"))
    >>> bool(2**14 < narrow / wide < 2**17)
    True
    """
    if kind == "layernorm":
        return lngeom.error_bound(x, gain, bias, eps=eps, dtype=dtype, method="merged")
    if dtype == "float32":
        return lngeom.error_bound(x, gain, bias, eps=eps, dtype=dtype, centered=False)
    number = torch.finfo(getattr(torch, dtype))
    first = lngeom.error_bound(x, eps=eps, dtype=dtype, centered=False)
    size = np.abs(lngeom.rms_norm(x, eps=eps))
    with np.errstate(invalid="ignore"):  # a gain of 0 times no bound
        return np.abs(gain) * (first + number.eps * (size + first)) + number.tiny * number.eps
