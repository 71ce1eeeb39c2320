"""Hooks on the norm layers of a model that reduce hidden states to statistics as they pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lngeom import InputError

from ..models import NormSite
from ..statistics import (
    SiteState,
    States,
    input_features,
    merge_sites,
    output_features,
    reduce,
    sketch as sketched,
)
from ._directions import random_directions


class Observer:
    """Measure every forward pass of a model at its norm layers, before and after each, storing no hidden state.

    A context manager: the hooks are there inside the ``with`` block only. All reductions run on the device of the
    hidden states, in float32 or better, and nothing waits for their result until :attr:`states` is read. Each row of
    a batch counts as one sequence.

    Args:
        model: Base model; its norm modules are called with the hidden states as only argument.
        sites: The norm layers to measure, see :func:`empirical.models.norm_sites`.
        directions: Number of random unit directions to compare the uniform one with, at least 2.
        seed: Seed of the random directions.

    >>> import torch
    >>> from torch import nn
    >>> from empirical.capture import Observer
    >>> from empirical.models import NormSite
    >>> model = nn.Sequential(nn.LayerNorm(8))
    >>> site = NormSite("0", None, "final", "layernorm", 1e-5, 8)
    >>> with Observer(model, [site]) as observer, torch.inference_mode():
    ...     _ = model(torch.ones(2, 5, 8) + torch.arange(8.0))
    >>> observer.states["0", "input"].tokens
    array([2, 8])
    """

    def __init__(
        self, model: nn.Module, sites: Sequence[NormSite], *, directions: int = 64, seed: int = 0
    ) -> None:
        modules = dict(model.named_modules())
        for site in sites:
            if site.path not in modules:
                msg = (
                    f"site {site.path} is no module of {type(model).__name__}; give sites of this very model"
                )
                raise InputError(msg)
        self._model = model
        self._modules = {site: modules[site.path] for site in sites}
        self._directions = {site.d: random_directions(site.d, directions, seed) for site in sites}
        self._columns: dict[tuple[int, torch.dtype, torch.device], Tensor] = {}
        self._states: States = {}
        self._handles: list[RemovableHandle] = []
        self._mask: Tensor | None = None
        self._batch: torch.Size | None = None
        self._buckets: Tensor | None = None

    def __enter__(self) -> Observer:
        """Install the hooks."""
        for site, module in self._modules.items():
            self._handles.append(module.register_forward_hook(self._hook(site)))
        self._handles.append(self._model.register_forward_pre_hook(self._begin, with_kwargs=True))
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the hooks, whatever happened."""
        while self._handles:
            self._handles.pop().remove()

    def mask(self, mask: Tensor | None) -> None:
        """Say which positions of the batches to come are text (true) and which padding (false); None: all are text.

        The first position of a sequence is its first position that is text, so that padding on the left is right too.

        Args:
            mask: (sequences, positions). Booleans, or the zeros and ones of an ``attention_mask``.
        """
        self._mask = None if mask is None else mask.to(torch.bool)
        self._buckets = None

    @property
    def states(self) -> States:
        """What has been measured so far, by site path and side, as NumPy arrays; waits for the device."""
        return {key: state.numpy() for key, state in self._states.items()}

    def _begin(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the shape of the batch: some architectures flatten it before they normalize."""
        tensors = (*args, kwargs.get("input_ids"), kwargs.get("inputs_embeds"))
        found = next((value for value in tensors if isinstance(value, Tensor)), None)
        batch = None if found is None else found.shape[:2]
        if batch != self._batch:
            self._batch, self._buckets = batch, None

    def _membership(self, device: torch.device) -> Tensor:
        """Bucket of each position: bool, (2, sequences, positions)."""
        if self._buckets is None or self._buckets.device != device:
            if self._batch is None or len(self._batch) != 2:
                msg = "the model was called without a batch: pass input_ids of shape (sequences, positions)"
                raise InputError(msg)
            text = self._mask
            if text is None:
                text = torch.ones(self._batch, dtype=torch.bool, device=device)
            elif text.shape != self._batch:
                msg = (
                    f"mask has shape {tuple(text.shape)} and the batch {tuple(self._batch)}: "
                    "call observer.mask(...) with the mask of each batch, or with None"
                )
                raise InputError(msg)
            text = text.to(device)
            first = text & (text.cumsum(1) == 1)
            self._buckets = torch.stack([first, text & ~first])
        return self._buckets

    def _along(self, d: int, x: Tensor) -> Tensor:
        """The random directions as columns, in float32 or better, where the hidden states are."""
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        key = (d, dtype, x.device)
        if key not in self._columns:
            columns = torch.from_numpy(self._directions[d]).to(x.device, dtype)
            self._columns[key] = columns.T.contiguous()
        return self._columns[key]

    def _hook(self, site: NormSite) -> Any:
        def observe(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
            with torch.no_grad():
                self._observe(site, args[0], output)

        return observe

    def _observe(self, site: NormSite, entering: Tensor, leaving: Tensor) -> None:
        x, z = entering.reshape(-1, site.d), leaving.reshape(-1, site.d)
        if x.device != z.device:  # layers spread over devices: what enters may still be where it came from
            x = x.to(z.device)
        columns, buckets = self._along(site.d, z), self._membership(z.device)
        before, after, inner = sketched(x, z, columns)
        entered = input_features(before, kind=site.kind, eps=site.eps)
        left = output_features(after, before, inner, kind=site.kind)
        self._add((site.path, "input"), reduce("input", before, entered, buckets))
        self._add((site.path, "output"), reduce("output", after, left, buckets, before))

    def _add(self, key: Any, batch: SiteState) -> None:
        self._states[key] = merge_sites(self._states[key], batch) if key in self._states else batch
