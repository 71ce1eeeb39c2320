"""The forward passes of a sweep: shard by shard, each shard's state on the disk before the next begins."""

import functools
import hashlib
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.console import Console

from .. import observe
from ..models import LoadedModel, text_inputs
from ..observe import Observer
from ..runs import Ranks, RunDirectory, read_sequences
from ..support import ModelError, RunError, progress, replacing, say


def measure_shards(
    run: RunDirectory,
    loaded: LoadedModel,
    console: Console,
    group: Ranks,
    *,
    batch: int,
    shard: int,
    directions: int,
    seed: int,
    compiled: bool | None = None,
) -> None:
    """Measure the shards that are not there yet: several processes take turns.

    A shard is ``shard`` sequences, cut into batches from its first on, so that its numbers do not depend on which
    shards ran before it in this process. Where a GPU runs out of memory, the shard is begun again with half the batch.
    """
    tokens = run.tokens()
    documents = np.array([sequence.group for sequence in read_sequences(run.sequences_path)])
    shards = math.ceil(len(tokens) / shard)
    # Nobody measures before the leader has counted: what is finished now was finished by an earlier start.
    finished = group.by_leader(lambda: _sound_shards(run, tokens, shard, console))
    mine = range(group.team, shards, group.teams)
    left = [index for index in mine if index not in finished]
    length = tokens.shape[1]
    sizes = {index: len(tokens[index * shard : (index + 1) * shard]) * length for index in mine}
    done = sum(size for index, size in sizes.items() if index in finished)
    if finished:
        say(console, f"continuing after {len(finished)} of {shards} shards")
    with progress(console, f"measuring {loaded.source.name}", sum(sizes.values()), done) as advance:
        for index in left:
            rows = tokens[index * shard : (index + 1) * shard]
            while True:
                counted = 0

                def advanced(count: int) -> None:
                    nonlocal counted
                    counted += count
                    advance(count)

                started = time.perf_counter()
                try:
                    numbers = documents[index * shard : (index + 1) * shard]
                    states = measure(loaded, rows, batch, directions, seed, advanced, numbers, compiled)
                    break
                except torch.cuda.OutOfMemoryError:
                    advance(-counted)
                    batch = _halved(batch, length)
                    torch.cuda.empty_cache()
                    say(console, f"the GPU ran out of memory; going on with {batch} sequences at once")
            seconds = time.perf_counter() - started
            if not group.writes:
                continue
            with replacing(run.shard_path(index)) as draft:
                about = {"seconds": f"{seconds:.3f}", "batch_size": str(batch)}
                observe.save(draft, states, {**about, "tokens_sha256": _digest(rows)})


def _digest(rows: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()


def _load(run: RunDirectory, index: int, tokens: np.ndarray, shard: int) -> observe.States:
    """The states of a shard, if they are whole and of its tokens."""
    path = run.shard_path(index)
    states, about = observe.load(path)
    if about.get("tokens_sha256") != _digest(tokens[index * shard : (index + 1) * shard]):
        raise RunError(f"{path}: is of other tokens than its number says; remove it and run again")
    return states


def _sound_shards(run: RunDirectory, tokens: np.ndarray, shard: int, console: Console) -> set[int]:
    """The shards that need not be measured again; those that are damaged or strange are set aside."""
    sound = set()
    for index in run.finished_shards():
        try:
            if index * shard >= len(tokens):
                raise RunError(f"{run.shard_path(index)}: is beyond the last shard")
            _load(run, index, tokens, shard)
            sound.add(index)
        except RunError as error:
            aside = run.shard_path(index).with_suffix(".damaged")
            run.shard_path(index).replace(aside)
            say(console, f"{str(error).partition(';')[0]}; set aside as {aside.name} and measured again")
    return sound


def _halved(batch: int, length: int) -> int:
    if batch == 1:
        msg = f"one sequence of {length} tokens does not fit on the GPU; lower --sequence-length, or use --device cpu"
        raise ModelError(msg)
    return batch // 2


def measure(
    loaded: LoadedModel,
    rows: np.ndarray,
    batch: int,
    directions: int,
    seed: int,
    advance: Callable[[int], None],
    documents: np.ndarray,
    compiled: bool | None = None,
) -> dict[Any, Any]:
    """The states of all sites after a forward pass over some sequences, of which the documents are known."""
    watching = Observer(loaded.model, loaded.sites, directions=directions, seed=seed, compiled=compiled)
    with watching as observer, torch.inference_mode():
        for begin in range(0, len(rows), batch):
            ids = torch.from_numpy(rows[begin : begin + batch].astype(np.int64)).to(loaded.device)
            observer.documents(torch.from_numpy(documents[begin : begin + batch]))
            loaded.model(**text_inputs(loaded.model, ids))
            advance(ids.numel())
        return observer.states


def merged(run: RunDirectory, shard: int) -> dict[Any, Any]:
    """The states of all shards, merged in the order of the corpus, so that the last bit does not depend on the runs."""
    tokens = run.tokens()
    shards = (_load(run, index, tokens, shard) for index in range(math.ceil(len(tokens) / shard)))
    return functools.reduce(observe.merge, shards)
