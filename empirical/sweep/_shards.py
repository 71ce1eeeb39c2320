"""The forward passes of a sweep: shard by shard, each shard's state on the disk before the next begins."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.console import Console

from .. import statistics
from ..capture import Observer
from ..models import LoadedModel, text_inputs
from ..runs import ModelError, Ranks, RunDirectory, RunError, progress, replacing


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
) -> None:
    """Measure the shards that are not there yet: several processes take turns.

    A shard is ``shard`` sequences, cut into batches from its first on, so that its numbers do not depend on which
    shards ran before it in this process. Where a GPU runs out of memory, the shard is begun again with half the batch.
    """
    tokens = run.tokens()
    shards = math.ceil(len(tokens) / shard)
    finished = set(run.finished_shards())
    group.wait()  # nobody measures before all have counted: what is finished now was finished by an earlier start
    mine = range(group.rank, shards, group.count)
    left = [index for index in mine if index not in finished]
    length = tokens.shape[1]
    sizes = {index: len(tokens[index * shard : (index + 1) * shard]) * length for index in mine}
    done = sum(size for index, size in sizes.items() if index in finished)
    if finished:
        line = f"continuing after {len(finished)} of {shards} shards"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
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
                    states = measure(loaded, rows, batch, directions, seed, advanced)
                    break
                except torch.cuda.OutOfMemoryError:
                    advance(-counted)
                    batch = _halved(batch, length)
                    torch.cuda.empty_cache()
                    line = f"the GPU ran out of memory; going on with {batch} sequences at once"
                    console.print(line, markup=False, highlight=False, soft_wrap=True)
            seconds = time.perf_counter() - started
            with replacing(run.shard_path(index)) as draft:
                statistics.save(draft, states, {"seconds": f"{seconds:.3f}", "batch_size": str(batch)})


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
) -> dict[Any, Any]:
    """The states of all sites after a forward pass over some sequences."""
    with (
        Observer(loaded.model, loaded.sites, directions=directions, seed=seed) as observer,
        torch.inference_mode(),
    ):
        for begin in range(0, len(rows), batch):
            ids = torch.from_numpy(rows[begin : begin + batch].astype(np.int64)).to(loaded.device)
            loaded.model(**text_inputs(loaded.model, ids))
            advance(ids.numel())
        return observer.states


def merged(run: RunDirectory) -> dict[Any, Any]:
    """The states of all shards, merged in the order of the corpus, so that the last bit does not depend on the runs."""
    total: dict[Any, Any] | None = None
    for index in run.finished_shards():
        states, _ = statistics.load(run.shard_path(index))
        total = states if total is None else statistics.merge(total, states)
    if total is None:
        msg = f"{run.path}: has no finished shard to merge; run the sweep again"
        raise RunError(msg)
    return total
