"""Which vectors of a norm layer belong to which sequence and position, whatever shape the layer sees them in."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lngeom.errors import InputError

from ..models import NormSite


class BatchShape(NamedTuple):
    """The shape of the inputs: how many sequences, and how many positions if it says so."""

    sequences: int
    positions: int | None


def batch_of(tensor: Tensor | None, batch_dim: int) -> BatchShape | None:
    """The batch in the shape of the first input of a model; None if there is none."""
    if tensor is None or tensor.ndim <= batch_dim:
        return None
    return BatchShape(tensor.shape[batch_dim], tensor.shape[1 - batch_dim] if tensor.ndim > 1 else None)


def known_batch_dim(model: nn.Module, batch_dim: int | None) -> int:
    """The axis of the sequences: 0, unless a module says that it may be another one."""
    if batch_dim in (0, 1):
        return batch_dim
    if batch_dim is not None:
        raise InputError(f"batch_dim {batch_dim}: the sequences of a batch lie along axis 0 or 1")
    for path, module in model.named_modules():
        if getattr(module, "batch_first", True) is False:
            name = path or type(model).__name__
            raise InputError(f"{name} has batch_first=False: give batch_dim=1, or 0 if sequences come first")
    return 0


def arranged(x: Tensor, site: NormSite, batch: BatchShape | None, batch_dim: int) -> Tensor:
    """The vectors as (sequences, positions, heads, d), heads being whatever shares a position."""
    seen = tuple(x.shape)
    if not seen or seen[site.axis] != site.d:
        raise InputError(f"{site.path}: got shape {seen}, whose axis {site.axis} should be {site.d} long as the site's")
    x = x.movedim(site.axis, -1)
    if x.ndim == 1:
        return x[None, None, None]
    count, positions = batch or BatchShape(x.shape[min(batch_dim, x.ndim - 2)], None)
    if x.ndim == 2 and x.shape[0] % count == 0:  # flattened
        flat = x.shape[0] // count
        x = x.unflatten(0, (count, flat) if batch_dim == 0 else (flat, count))
    if batch_dim and x.ndim > 2:
        x = x.movedim(batch_dim, 0)
    if x.ndim == 2:
        return x[:, None, None]
    if x.shape[0] != count:  # windows or crops of one sequence follow each other
        together = x.shape[0] % count == 0
        return x.reshape(count if together else x.shape[0], -1, 1, site.d)
    axis = next((axis for axis in range(1, x.ndim - 1) if x.shape[axis] == positions), None)
    if axis is None:
        return x.reshape(count, -1, 1, site.d)
    return x.movedim(axis, 1).reshape(count, x.shape[axis], -1, site.d)


def as_mask(mask: object) -> Tensor:
    """A mask as Booleans, shape (sequences, positions): from Booleans, zeros and ones, or additive scores."""
    try:
        values = torch.as_tensor(mask)
    except (TypeError, ValueError, RuntimeError) as error:
        msg = f"mask cannot be read ({error}): give a tensor, an array or lists of numbers, (sequences, positions)"
        raise InputError(msg) from None
    if values.ndim == 4 and values.shape[1] == 1:  # additive masks have axes for heads and queries
        values = values[:, 0, -1]
    if values.ndim != 2:
        raise InputError(f"mask has shape {tuple(values.shape)}: give (sequences, positions)")
    if values.dtype == torch.bool:
        return values
    if values.is_floating_point() and bool((values <= 0).all()):  # an additive mask, of no padding where all are 0
        return values == 0
    if bool(((values != 0) & (values != 1)).any()):
        odd = values[(values != 0) & (values != 1)][0].item()
        msg = f"mask holds {odd}: give Booleans, zeros and ones, or an additive mask of 0 and negative numbers"
        raise InputError(msg)
    return values.to(torch.bool)
