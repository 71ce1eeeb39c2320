"""Gain, bias and kind of a norm layer, read from the module object of a deep-learning library."""

import sys
from typing import Any, NamedTuple

from ..carriers import Array, check_gain, namespace
from ..errors import InputError
from ..norms import layer_norm, rms_norm


class NormParameters(NamedTuple):
    """The formula of a norm layer: z = gain ∘ (Πx or x)/scale + bias."""

    gain: Array
    bias: Array | None
    centered: bool


def _probe(module: Any, weight: Array | None) -> Array:
    """One well-conditioned vector, shape (1, d) with the module's d, in its dtype and on its device."""
    shape = getattr(module, "normalized_shape", None) if weight is None else weight.shape
    shape = (shape,) if isinstance(shape, int) else tuple(shape or ())
    if len(shape) != 1:
        msg = (
            f"{type(module).__name__} normalizes over shape {shape}: expected one axis, of a layer with a weight of "
            "shape (d,) or normalized_shape (d,); build Ellipsoid(gain, bias) from the arrays instead"
        )
        raise InputError(msg)
    # Golden-ratio multiples modulo 1 fill [0, 4) evenly: mean about 2, standard deviation about 1.2.
    values = [4.0 * ((i + 1) * 0.6180339887498949 % 1.0) for i in range(shape[0])]
    if weight is not None:
        return weight.new_tensor([values])
    # A module without parameters says nothing of its tensors; its library is loaded, since it made the module.
    library = sys.modules.get("torch")
    if library is None:
        msg = f"{type(module).__name__} has no weight and is not a PyTorch module: build Ellipsoid(gain) from arrays"
        raise InputError(msg)
    return library.tensor([values])


def norm_parameters(module: Any) -> NormParameters:
    """Read the parameters of a LayerNorm or RMSNorm module, and find its formula by running it once.

    Class names mislead (the "T5LayerNorm" of Hugging Face is an RMSNorm) and some layers store gain − 1 (Gemma). So
    the module is applied to one probe vector, and the formula that reproduces its output is the one it computes.
    """
    weight = getattr(module, "weight", None)
    bias = getattr(module, "bias", None)
    weight = weight if weight is None else weight.detach()
    bias = bias if bias is None else bias.detach()
    x = _probe(module, weight)
    if weight is not None:
        check_gain(weight)
    xp = namespace(x)
    resolution = float(xp.finfo(x.dtype).eps)
    # ε is a number that the module keeps, whatever it calls it; torch.nn.RMSNorm keeps none for the resolution.
    kept = [value for value in vars(module).values() if isinstance(value, float) and value >= 0]
    try:
        output = module(x).detach()
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        msg = f"{type(module).__name__} does not map one batch of vectors of shape {tuple(x.shape)}: {error}"
        raise InputError(msg) from error
    one = xp.ones_like(x)[0, :]
    gains = (one,) if weight is None else (weight, one + weight)
    candidates = [
        (NormParameters(gain, bias, centered), formula(x, gain, bias, eps=eps))
        for centered, formula in ((True, layer_norm), (False, rms_norm))
        for gain in gains
        for eps in (*kept, resolution)
    ]
    distances = [float(xp.max(xp.abs(value - output))) for _, value in candidates]
    best = min(range(len(candidates)), key=distances.__getitem__)
    parameters, value = candidates[best]
    # Formulas differ by a part of the output of order 1, rounding by d·eps: the root of eps tells them apart.
    if not distances[best] <= resolution**0.5 * float(xp.max(xp.abs(value))):
        msg = (
            f"{type(module).__name__} computes neither LayerNorm nor RMSNorm of its weight (nor with gain 1 + weight): "
            f"its output is off by {distances[best]:.3g} at best; build Ellipsoid(gain, bias) from the arrays instead"
        )
        raise InputError(msg)
    return parameters
