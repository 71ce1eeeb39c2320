"""A few vectors that enter and leave each norm layer, kept whole to be judged one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..models import LoadedModel, NormSite, affine, exactly, first_tensor, text_inputs, watching

SEQUENCES = 2
POSITIONS = 64
# An error bound takes time proportional to d: about a tenth of a second per layer for this many components.
_COMPONENTS = 4_096
_MOST = 16
SCALE = 8.0
"""Factor a of the check of scale: a power of two, so that ax is exact."""


@dataclass(frozen=True)
class SiteSample:
    """Vectors of one norm layer and its parameters, exactly, as float64.

    Attributes:
        x, z: Inputs and outputs, shape (n, d).
        scaled: Outputs for the inputs SCALE·x.
        gain, bias: As the layer multiplies and adds them, shape (d,).
        dtype: The dtype of input, output and parameters, or None if they differ.
    """

    site: NormSite
    x: np.ndarray
    z: np.ndarray
    scaled: np.ndarray
    gain: np.ndarray
    bias: np.ndarray | None
    dtype: str | None


def forward(loaded: LoadedModel, tokens: np.ndarray) -> object:
    """One forward pass over the first tokens of the first sequences."""
    ids = torch.from_numpy(tokens[:SEQUENCES, :POSITIONS].astype(np.int64)).to(loaded.device)
    return loaded.model(**text_inputs(loaded.model, ids))


def samples(model: nn.Module, sites: Sequence[NormSite], call: Callable[[], object]) -> list[SiteSample]:
    """Samples of those norm layers that `call`, one forward pass, reaches: evenly spaced vectors of its first call.

    The very first vector is among them; 2 to 16 are taken, fewer of longer ones.
    """
    by_path, seen = {site.path: site for site in sites}, dict[str, tuple[Tensor, Tensor]]()

    def keep(path: str, _: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
        site, sides = by_path[path], (first_tensor((*args, *kwargs.values())), first_tensor(output))
        if path in seen or sides[0] is None or sides[1] is None or not sides[0].numel():
            return
        x, z = (side.movedim(site.axis, -1).reshape(-1, site.d) for side in sides if side is not None)
        number = min(len(x), _MOST, max(2, _COMPONENTS // site.d))
        rows = torch.linspace(0, len(x) - 1, number).round().long()
        seen[path] = x[rows.to(x.device)].clone(), z[rows.to(z.device)].clone()

    with watching(model, by_path, keep), torch.inference_mode():
        call()
    return [_sample(site, model.get_submodule(site.path), *seen[site.path]) for site in sites if site.path in seen]


def _sample(site: NormSite, module: nn.Module, x: Tensor, z: Tensor) -> SiteSample:
    with torch.inference_mode():
        scaled = first_tensor(module(x * SCALE if site.axis == -1 else (x * SCALE)[..., None, None]))
    assert scaled is not None  # it returned one in the pass
    gain, bias = affine(module, site.gain, site.gain_offset, site.bias, site.d)
    parameters = [each for name in (site.gain, site.bias) if name and (each := getattr(module, name, None)) is not None]
    alike = all(each.dtype == x.dtype for each in (z, *parameters))
    dtype = str(x.dtype).removeprefix("torch.") if alike else None
    return SiteSample(site, exactly(x), exactly(z), exactly(scaled.reshape(x.shape)), gain, bias, dtype)
