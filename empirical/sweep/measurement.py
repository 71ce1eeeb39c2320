"""The measuring loop: batches through a model, shard by shard, each shard's state on the disk before the next."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from rich.console import Console
from torch import Tensor, nn

from lngeom.errors import RunError
from lngeom.files import replacing

from ..models import call
from ..observe import Observer, States, load_states, merge, save_states
from ..runs import RunDirectory
from ..support import Advance, ModelError, say

_DIGEST, _MEASURED = "batches_sha256", "measured_sha256"


class Batch(NamedTuple):
    """The inputs of one forward pass, on any device; their share of the progress; the document of each sequence.

    ``null`` are the positions that are projected on the random directions, see
    :meth:`lngeom.empirical.observe.Observer.null`.
    """

    inputs: object
    size: int
    documents: Tensor | None = None
    null: Tensor | None = None


@dataclass(frozen=True)
class Shard:
    """The batches between two checkpoints.

    Attributes:
        index: Its number, from 0.
        digest: SHA-256 of its inputs.
        size: Its share of the progress.
        batches: Its batches, of at most so many sequences each; inputs that come as batches are left as they are.
    """

    index: int
    digest: str
    size: int
    batches: Callable[[int], Iterable[Batch]]


@dataclass(frozen=True)
class Subject:
    """A model, its device, the factory of its observer, and the sequences in a batch (0: batches are given)."""

    model: nn.Module
    device: torch.device
    watch: Callable[[], Observer]
    batch: int = 0


class Checkpoints:
    """The states of the finished shards of a run; damaged ones, and shards of another run, are set aside.

    Each carries the digest of its inputs and of all else that determines it. `expected` has the digests of the inputs
    of all shards by index, where they are known.
    """

    def __init__(self, run: RunDirectory, console: Console, expected: Mapping[int, str] | None = None) -> None:
        self._run, self._console, self._measured = run, console, run.measured_sha256()
        self.digests = self._sound(expected)

    def _sound(self, expected: Mapping[int, str] | None) -> dict[int, str]:
        digests: dict[int, str] = {}
        for index in self._run.finished_shards():
            path = self._run.shard_path(index)
            try:
                if expected is not None and index not in expected:
                    raise RunError(f"{path}: is beyond the last shard")
                _, digests[index] = self._load(index, expected[index] if expected else None)
            except RunError as error:
                aside = path.with_suffix(".damaged")
                path.replace(aside)
                say(self._console, f"{str(error).partition(';')[0]}; set aside as {aside.name} and measured again")
        return digests

    def _load(self, index: int, digest: str | None) -> tuple[States, str]:
        """The states of a shard and its digest, if it is whole and of these inputs."""
        path = self._run.shard_path(index)
        states, about = load_states(path)
        if digest is not None and about.get(_DIGEST) != digest:
            raise RunError(f"{path}: holds other tokens than its number says; remove it and run again")
        if about.get(_MEASURED) != self._measured:
            raise RunError(f"{path}: belongs to another run, with other weights or options; remove it and run again")
        return states, about.get(_DIGEST, "")

    def save(self, shard: Shard, states: States) -> None:
        """Store the states of a shard."""
        with replacing(self._run.shard_path(shard.index)) as draft:
            save_states(draft, states, {_DIGEST: shard.digest, _MEASURED: self._measured})

    def merged(self, digests: Sequence[str]) -> States:
        """All shards in the order of the inputs, so that no bit depends on when a shard was measured.

        Raises:
            RunError: An earlier start has measured more shards than these.
        """
        if more := [index for index in self._run.finished_shards() if index >= len(digests)]:
            path = self._run.shard_path(more[0])
            raise RunError(f"{path}: lies beyond the last input; give all inputs that the run was started with")
        return functools.reduce(merge, (self._load(index, digest)[0] for index, digest in enumerate(digests)))


def measure_shards(
    subject: Subject, shards: Iterable[Shard], checkpoints: Checkpoints, console: Console, advance: Advance
) -> list[str]:
    """Measure the shards that are not there yet; returns the digests of all.

    A shard is cut into batches from its first sequence on, so that its numbers do not depend on which shards ran before
    it in this process. Where a GPU runs out of memory, the shard is begun again with half the batch.
    """
    digests, batch = [], subject.batch
    for shard in shards:
        digests.append(shard.digest)
        if shard.index not in checkpoints.digests:
            states, batch = _measured(subject, shard, batch, console, advance)
            checkpoints.save(shard, states)
    return digests


def _measured(subject: Subject, shard: Shard, batch: int, console: Console, advance: Advance) -> tuple[States, int]:
    """The states of a shard, and the number of sequences in a batch that fitted."""
    sizes: list[int] = []

    def count(size: int) -> None:
        sizes.append(size)
        advance(size)

    try:
        return states_of(subject, shard.batches(batch), count), batch
    except torch.cuda.OutOfMemoryError:
        advance(-sum(sizes))
    if batch < 2:
        length = next(iter(shard.batches(1))).size
        part = f"one sequence of {length} tokens" if batch else "one of the given batches"
        raise ModelError(f"{part} does not fit on the GPU; lower --sequence-length, or use --device cpu")
    torch.cuda.empty_cache()
    say(console, f"the GPU ran out of memory; going on with {batch // 2} sequences at once")
    return _measured(subject, shard, batch // 2, console, advance)


def states_of(subject: Subject, batches: Iterable[Batch], advance: Advance) -> States:
    """The states of all norm layers after forward passes over some batches."""
    with subject.watch() as observer, torch.inference_mode():
        for batch in batches:
            observer.documents(batch.documents)
            observer.null(batch.null)
            observer.mask(*_masks(batch.inputs), strict=False)
            call(subject.model, on_device(batch.inputs, subject.device))
            advance(batch.size)
        return observer.states


def _masks(inputs: object) -> tuple[object, object]:
    """Which positions are text, of the encoder or the only stack and of the decoder, if the inputs say so."""
    given = inputs if isinstance(inputs, Mapping) else {}
    mask, decoder, ids = (given.get(name) for name in ("attention_mask", "decoder_attention_mask", "decoder_input_ids"))
    return mask, torch.ones_like(ids) if decoder is None and ids is not None else decoder


def on_device(inputs: object, device: torch.device) -> object:
    """The inputs of a forward pass with their tensors on a device."""
    if isinstance(inputs, Mapping):
        return {key: on_device(value, device) for key, value in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return type(inputs)(on_device(value, device) for value in inputs)
    return inputs.to(device) if isinstance(inputs, Tensor) else inputs
