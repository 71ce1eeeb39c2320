"""Hooks on the norm layers of a model that reduce hidden states to statistics as they pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lngeom.errors import InputError

from ..models import NormSite, first_tensor
from .directions import random_directions, sign_directions
from .layout import BatchShape, arranged, as_mask, batch_of, known_batch_dim
from .reduction import features, reduce
from .sketches import Sketches, sketch, sum_components
from .state import SIDES, Side, SiteState, States, merge_sites

_TOGETHER = 16
"""Layers that are reduced at once: with 64 directions 9 KB a token wait, and a sixteenth of the operators is called."""
Shape = tuple[int, int, int]
"""Sequences, positions, and vectors that share a position."""
_FIRST = threading.Lock()
"""Held while a first pass names its thread: two that begin at once would both be the first."""


@dataclass
class _Queue:
    """Sketches of layers that one call can reduce: alike in kind, ε, d, device, shape of the batch and padding."""

    site: NormSite
    buckets: Tensor
    columns: Sketches
    paths: list[str] = field(default_factory=list)


class Observer:
    """Measure every forward pass of a model at its norm layers, before and after each, storing no hidden state.

    A context manager: the hooks exist only inside the ``with`` block. All reductions run on the device of the
    hidden states, in float32 or better, and nothing waits for their result until :attr:`states` is read. Vectors may
    have any leading shape: sequences and positions are recognized by the shape of the model's first input, heads
    count as more vectors of their position, and a layer that is called several times counts each time.

    Args:
        model: Any module.
        sites: The norm layers to measure, see :func:`lngeom.empirical.models.sites_of` and
            :func:`lngeom.empirical.models.norms`.
        directions: Number of random unit directions of each null, isotropic and sign vectors, to compare 1 with,
            at least 2. For hidden states of 16 bits they are rounded, so that products are exact in float32.
        seed: Seed of the random directions.
        batch_dim: Axis of the sequences, 0 or 1. None is 0, and an error where a module has ``batch_first=False``.

    >>> import torch
    >>> from torch import nn
    >>> from lngeom.empirical.observe import Observer
    >>> from lngeom.empirical.models import NormSite
    >>> model = nn.Sequential(nn.LayerNorm(8))
    >>> site = NormSite("0", None, "final", "layernorm", 1e-5, 8)
    >>> with Observer(model, [site]) as observer, torch.inference_mode():
    ...     _ = model(torch.ones(2, 5, 8) + torch.arange(8.0))
    >>> observer.states["0", "input"].tokens
    array([2, 8])
    """

    def __init__(
        self,
        model: nn.Module,
        sites: Sequence[NormSite],
        *,
        directions: int = 64,
        seed: int = 0,
        batch_dim: int | None = None,
    ) -> None:
        modules = dict(model.named_modules())
        for site in sites:
            if not isinstance(site, NormSite) or site.path not in modules:
                raise InputError(
                    f"{site} is not a NormSite of a module of {type(model).__name__}; "
                    "take the sites from this model: lngeom.empirical.models.sites_of(model)"
                )
        self._model = model
        self._batch_dim = known_batch_dim(model, batch_dim)
        self._modules = {site: modules[site.path] for site in sites}
        self._count, nulls = directions, (random_directions, sign_directions)
        self._directions = {
            d: np.concatenate([null(d, directions, seed) for null in nulls]) for d in {site.d for site in sites}
        }
        self._columns: dict[tuple[int, torch.dtype, torch.device], Tensor] = {}
        self._states: dict[tuple[tuple[str, ...], Side], SiteState] = {}
        self._queues: dict[tuple[str, float, int, int], _Queue] = {}
        self._handles: list[RemovableHandle] = []
        self._masks: tuple[Tensor | None, Tensor | None] = (None, None)
        self._strict = True
        self._documents: Tensor | None = None
        self._null: Tensor | None = None
        self._batch: BatchShape | None = None
        self._thread: int | None = None
        self._buckets: dict[tuple[Shape, torch.device, bool], Tensor] = {}
        self._rows: dict[tuple[Shape, torch.device], Tensor] = {}

    def __enter__(self) -> Observer:
        """Install the hooks."""
        for site, module in self._modules.items():
            self._handles.append(module.register_forward_hook(self._hook(site), with_kwargs=True))
        self._handles.append(self._model.register_forward_pre_hook(self._begin, with_kwargs=True))
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the hooks, whatever happened."""
        while self._handles:
            self._handles.pop().remove()

    def mask(self, mask: object, decoder: object = None, *, strict: bool = True) -> None:
        """Say which positions of the next batches are text (true) and which padding (false); None: all are text.

        The first position of a sequence is its first position that is text, so that padding on the left is right too.

        Args:
            mask: Shape (sequences, positions), whatever the axis of the sequences: Booleans, the zeros and ones of an
                ``attention_mask``, or an additive mask: floats, 0 and negative; tensor, array or lists.
            decoder: The same for the modules below one called ``decoder``, where that has a text of its own.
            strict: Whether a layer whose vectors the mask does not fit is an error, or has no padding.
        """
        if all(each is None for each in (mask, decoder, *self._masks)):
            return
        self._flush()
        self._masks = (None if mask is None else as_mask(mask), None if decoder is None else as_mask(decoder))
        self._strict = strict
        self._buckets = {}

    def documents(self, documents: Tensor | None) -> None:
        """Say which document each sequence of the next batches belongs to; None: each is a document of its own.

        Args:
            documents: int64, (sequences,). Numbers from 0; intervals take documents as independent, their tokens not.
        """
        self._flush()
        self._documents = documents

    def null(self, null: Tensor | None) -> None:
        """Say which positions of the next batches are projected on the random directions; None: all.

        Everything about 1 is measured on all tokens; its rank is that among the directions on these tokens alone.

        Args:
            null: bool, (sequences, positions). Layers that see another number of positions project all of theirs.
        """
        if null is not None or self._null is not None:
            self._flush()
            self._null, self._rows = None if null is None or bool(null.all()) else null, {}

    @property
    def states(self) -> States:
        """The measurements so far, by site path and side, as NumPy arrays; waits for the device."""
        self._flush()
        states: States = {}
        for (paths, side), together in self._states.items():
            for path, state in zip(paths, together.layers(), strict=True):
                key = (path, side)
                states[key] = merge_sites(states[key], state).numpy() if key in states else state
        return states

    @torch.compiler.disable
    def _begin(self, _: nn.Module, args: tuple, kwargs: dict) -> None:
        """Note the shape of the batch: some architectures flatten it before they normalize."""
        self._one_thread()
        named = (kwargs.get("input_ids"), kwargs.get("inputs_embeds"), *kwargs.values())
        first = next((value for value in (*args, *named) if isinstance(value, Tensor)), None)
        self._flush()
        self._batch = batch_of(first, self._batch_dim)

    def _one_thread(self) -> None:
        """Refuse a second thread: simultaneous passes would overwrite each other's measurements."""
        here = threading.get_ident()
        with _FIRST:
            self._thread = self._thread or here
        if self._thread != here:
            raise InputError("the model runs in two threads under one observer: give each thread its own observer")

    def _membership(self, site: NormSite, shape: Shape, device: torch.device) -> Tensor:
        """Bucket of each vector: bool, (2, sequences, positions · heads)."""
        sequences, positions, heads = shape
        of_decoder = self._masks[1] is not None and "decoder" in site.path.split(".")
        key = (shape, device, of_decoder)
        if key not in self._buckets:
            mask = self._masks[1 if of_decoder else 0]
            if mask is not None and tuple(mask.shape) != (sequences, positions):
                if self._strict:
                    raise InputError(
                        f"{site.path}: mask of shape {tuple(mask.shape)} for {sequences} sequences of {positions} "
                        "positions; call observer.mask(...) with the mask of each batch, or with None"
                    )
                mask = None
            if mask is None:
                mask = torch.ones(sequences, positions, dtype=torch.bool)
            text = mask.to(device)
            first = text & (text.cumsum(1) == 1)
            self._buckets[key] = torch.stack([first, text & ~first]).repeat_interleave(heads, -1)
        return self._buckets[key]

    def _null_rows(self, shape: Shape, device: torch.device) -> Tensor | None:
        """Which vectors are projected on the random directions; None: all."""
        if self._null is None or tuple(self._null.shape) != shape[:2]:
            return None
        if (shape, device) not in self._rows:
            (rows,) = torch.nonzero(self._null.repeat_interleave(shape[2], -1).flatten(), as_tuple=True)
            self._rows[shape, device] = rows.to(device)
        return self._rows[shape, device]

    def _along(self, d: int, dtype: torch.dtype, device: torch.device) -> Tensor:
        """The random directions and sign vectors as columns, in the dtype of the hidden states and where they are."""
        key = (d, dtype, device)
        if key not in self._columns:
            self._columns[key] = torch.from_numpy(self._directions[d]).to(device, dtype).T.contiguous()
        return self._columns[key]

    def _hook(self, site: NormSite) -> Callable[[nn.Module, tuple, dict, object], None]:
        @torch.compiler.disable  # what is measured is no part of a compiled model
        def observe(_: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
            entering, leaving = first_tensor((*args, *kwargs.values())), first_tensor(output)
            if entering is None or leaving is None or entering.shape != leaving.shape:
                shapes = [None if each is None else tuple(each.shape) for each in (entering, leaving)]
                msg = f"{site.path}: takes shape {shapes[0]} and returns {shapes[1]}, so that it is not a norm layer"
                raise InputError(msg)
            with torch.no_grad():
                self._observe(site, entering, leaving)

        return observe

    def _observe(self, site: NormSite, entering: Tensor, leaving: Tensor) -> None:
        # Gradient checkpointing calls layers a second time, in the backward pass: each vector counts once. PyTorch has
        # no public word for being inside of one; hooks on gradients tell when it reaches a tensor, not that it has
        # ended, nor that it failed. Its own hooks for several gradients ask this function.
        if not entering.numel() or torch._C._current_graph_task_id() != -1:
            return
        self._one_thread()  # a part of the model may be called by itself
        if entering.device != leaving.device:  # over several devices, what enters may still be where it came from
            entering = entering.to(leaving.device)
        x, z = (arranged(each, site, self._batch, self._batch_dim) for each in (entering, leaving))
        sequences, positions, heads, d = x.shape
        columns = self._along(d, torch.promote_types(x.dtype, z.dtype), z.device)
        buckets = self._membership(site, (sequences, positions, heads), z.device)
        key = (site.kind, site.eps, id(columns), id(buckets))
        if key not in self._queues:
            null = self._null_rows((sequences, positions, heads), z.device)
            kept = Sketches.empty(_TOGETHER, buckets[0].numel(), columns, self._count, null, len(buckets))
            self._queues[key] = _Queue(site, buckets, kept)
        queue = self._queues[key]
        out = queue.columns[len(queue.paths)]
        x = x.reshape(-1, d)
        before, *_ = sketch(x, z.reshape(-1, d), columns, out=out)
        assert out.sums is not None
        out.sums.copy_(sum_components(x, before, buckets.flatten(1), centred=site.kind == "layernorm"))
        queue.paths.append(site.path)
        if len(queue.paths) == _TOGETHER:
            self._reduce(queue)

    def _flush(self) -> None:
        for queue in self._queues.values():
            self._reduce(queue)
        self._queues = {}

    def _reduce(self, queue: _Queue) -> None:
        """Reduce the sketches of all layers of a queue together: as many operators as for one."""
        if not queue.paths:
            return
        paths, columns = tuple(queue.paths), queue.columns[: len(queue.paths)]
        queue.paths = []
        values = features(columns, kind=queue.site.kind, eps=queue.site.eps)
        named = None if self._documents is None else self._documents.to(columns.numbers.device)
        entering = None
        for side, vectors in zip(SIDES, (columns.before, columns.after), strict=True):
            key = (paths, side)
            onto = self._states.get(key)
            self._states[key] = reduce(side, vectors, values[side], queue.buckets, entering, named, onto)
            entering = vectors
