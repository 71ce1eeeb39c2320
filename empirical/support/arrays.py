"""The hash of tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def sha256_of_tensors(named: Iterable[tuple[str, Tensor]]) -> str:
    """Hash of names, dtypes, shapes and bits in the order given; of tensors that are not in memory all but the bits."""
    import torch

    digest = hashlib.sha256()
    for name, value in named:
        head = (name, str(value.dtype), str(tuple(value.shape)))
        digest.update("".join(f"{part}\0" for part in head if part).encode())
        if not value.is_meta:
            flat = value.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)
            digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()
