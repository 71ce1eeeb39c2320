"""A few vectors that enter and leave each norm layer, kept whole to be judged one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..models import LoadedModel, NormSite

SEQUENCES = 2
POSITIONS = 64
# An error bound takes time proportional to d: about a tenth of a second per layer for this many components.
_COMPONENTS = 4_096
_MOST = 16
SCALE = 8.0
"""Factor a of the check of scale: a power of two, so that ax is exact."""


@dataclass(frozen=True)
class Sample:
    """Vectors of one norm layer and its parameters, exactly, as float64.

    Attributes:
        x, z: Inputs and outputs, shape (n, d).
        scaled: Outputs for the inputs SCALE·x.
        gain, bias: As the layer multiplies and adds them, shape (d,).
        dtype: What the layer reads and writes, or None if these are two things.
    """

    site: NormSite
    x: np.ndarray
    z: np.ndarray
    scaled: np.ndarray
    gain: np.ndarray
    bias: np.ndarray | None
    dtype: str | None


def _float64(values: Tensor) -> np.ndarray:
    return values.detach().to("cpu", torch.float64).numpy()


def forward(loaded: LoadedModel, tokens: np.ndarray) -> Tensor:
    """One forward pass over the first tokens of the first sequences; returns the last hidden states."""
    ids = torch.from_numpy(tokens[:SEQUENCES, :POSITIONS].astype(np.int64)).to(loaded.device)
    options = {"use_cache": False} if loaded.topology != "post" else {}  # encoders keep no cache
    with torch.inference_mode():
        return loaded.model(input_ids=ids, **options).last_hidden_state


def samples(loaded: LoadedModel, tokens: np.ndarray) -> list[Sample]:
    """Sample the norm layers of a model in one forward pass: evenly spaced tokens, the very first among them.

    Args:
        loaded: The model and its norm layers.
        tokens: (sequences, positions). Token ids; the first 64 positions of the first two sequences are used.

    Returns:
        list of Sample: One for each norm layer, in their order; of 2 to 16 vectors, fewer of longer ones.
    """
    modules = dict(loaded.model.named_modules())
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(site: NormSite) -> Any:
        def hook(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
            x, z = args[0].reshape(-1, site.d), output.reshape(-1, site.d)
            number = min(len(x), _MOST, max(2, _COMPONENTS // site.d))
            rows = torch.linspace(0, len(x) - 1, number).round().long()
            seen[site.path] = x[rows.to(x.device)].clone(), z[rows.to(z.device)].clone()

        return hook

    handles = [modules[site.path].register_forward_hook(keep(site)) for site in loaded.sites]
    try:
        forward(loaded, tokens)
    finally:
        for handle in handles:
            handle.remove()
    return [_sample(site, modules[site.path], *seen[site.path]) for site in loaded.sites]


def _sample(site: NormSite, module: nn.Module, x: Tensor, z: Tensor) -> Sample:
    with torch.inference_mode():
        scaled = module(x * SCALE)
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    # Where the stored weight is gain - 1, the layer adds the 1 in float32.
    gain = np.ones(site.d) if weight is None else _float64(weight.float() + site.gain_offset)
    parameters = [each for each in (weight, bias) if each is not None]
    alike = all(each.dtype == x.dtype for each in (z, *parameters))
    dtype = str(x.dtype).removeprefix("torch.") if alike else None
    return Sample(
        site,
        _float64(x),
        _float64(z),
        _float64(scaled),
        gain,
        None if bias is None else _float64(bias),
        dtype,
    )
