"""The sweep over a model in memory and any inputs: statistics, predictions, report, a run directory that resumes."""

import functools
import hashlib
import importlib
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from .. import judge, observe, pages
from ..models import NormSite, call, fingerprints, sites_of, topology_of
from ..observe import Observer
from ..runs import RunDirectory, environment
from ..support import ModelError, RunError, lock, replacing, say
from ._options import DEFAULT_DIRECTIONS
from ._results import write_results, written_to

__all__ = ["is_live", "load_live", "measure"]

_BATCHES = 8


def _tensors(batch: Any) -> Iterator[Tensor]:
    values = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (tuple, list)) else (batch,)
    return (value for value in values if isinstance(value, Tensor))


def _digest(batches: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for tensor in chain.from_iterable(map(_tensors, batches)):
        digest.update(f"{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _on(device: torch.device, batch: Any) -> Any:
    """The batch with its tensors where the model is."""
    if isinstance(batch, Mapping):
        return {key: _on(device, value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(_on(device, value) for value in batch)
    return batch.to(device) if isinstance(batch, Tensor) else batch


def _masked(observer: Observer, batch: Any) -> None:
    """Tell the observer which positions are padding, if the batch does."""
    given = batch if isinstance(batch, Mapping) else {}
    mask, decoder, ids = (given.get(name) for name in ("attention_mask", "decoder_attention_mask", "decoder_input_ids"))
    if decoder is None and ids is not None:
        decoder = torch.ones_like(ids)
    observer.mask(mask, decoder, strict=False)


def _sites(model: nn.Module, batch: Any) -> tuple[NormSite, ...]:
    """The norm layers that the first batch calls."""
    with torch.inference_mode():
        sites = sites_of(model, batch)
    if not sites:
        name = type(model).__name__
        raise ModelError(f"{name}: the first batch calls no norm layer; lngeom norms says what there is and why")
    return sites


def measure(
    model: nn.Module,
    batches: Iterable[Any],
    output: str | os.PathLike[str],
    *,
    sites: Sequence[NormSite] | None = None,
    directions: int = DEFAULT_DIRECTIONS,
    seed: int = 0,
    batch_dim: int | None = None,
    shard_batches: int = _BATCHES,
    name: str | None = None,
    console: Console | None = None,
    command: str = "",
    show: bool = False,
) -> RunDirectory:
    """Measure every norm layer of a model in memory on any inputs, and write the run directory.

    The model is measured as it is, in evaluation mode. A run that was stopped goes on after its last finished shard if
    it is given the same model and the same batches in the same order.

    Args:
        model: Any module: of transformers, of timm, or written by hand.
        batches: Inputs, one forward pass each: a tensor, a tuple of positional arguments or a mapping of keyword
            arguments (token ids, pixels, audio features, both sides of an encoder-decoder). ``attention_mask`` and
            ``decoder_attention_mask`` mark padding.
        output: The run directory.
        sites: The norm layers; by default those that the first batch calls.
        directions: Number of random directions to compare the uniform one with.
        seed: Seed of the random directions.
        batch_dim: Axis of the sequences, as for :class:`empirical.observe.Observer`.
        shard_batches: Batches between two checkpoints.
        name: What the pages call the model; its class by default.
        console: Where progress goes; nowhere by default.
        command: What the manifest says made the run.
        show: Whether the table is printed.

    Returns:
        RunDirectory: :func:`empirical.sweep.read` reads its tables.

    >>> import tempfile
    >>> import torch
    >>> from empirical.sweep import measure, read
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = measure(model, [torch.randn(4, 5, 8) for _ in range(3)], f"{folder}/run")
    ...     row = read(run.path).rows[2]
    >>> row["site"], row["bucket"], row["tokens"], row["sequences"]
    ('1', 'all', 60, 12)
    """
    console = console or Console(quiet=True)
    parameter = next(model.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    source = iter(batches)
    first = next(source, None)
    if first is None or not any(True for _ in _tensors(first)):
        what = "there is none" if first is None else "no tensor in the first of them"
        raise RunError(f"batches: {what}; give inputs of the model, one forward pass each")
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        found = tuple(_sites(model, _on(device, first)) if sites is None else sites)
        measured = {
            "model": name or type(model).__name__,
            "architecture": getattr(getattr(model, "config", None), "model_type", type(model).__name__),
            **fingerprints(model, found),
            "weights": "in memory",
            "dtype": str(None if parameter is None else parameter.dtype).removeprefix("torch."),
            "device": device.type,
            "first_batch_sha256": _digest([first]),
            "shard_batches": shard_batches,
            "batch_dim": batch_dim,
            "directions": directions,
            "seed": seed,
        }
        run = RunDirectory(Path(output))
        run.prepare()
        with lock(run.path):
            if run.begin(measured, {"command": command, **environment(device)}) != "done":
                options = {"directions": directions, "seed": seed, "batch_dim": batch_dim}
                texts = _measure_shards(
                    run, model, found, chain([first], source), device, shard_batches, options, console
                )
                _finish(run, model, found, _on(device, first), texts, console)
    finally:
        for module in training:
            module.training = True
    if show:
        pages.print_table(observe.read_csv(run.path / "sites.csv"))
    say(console, written_to(run.path))
    return run


def _measure_shards(
    run: RunDirectory,
    model: nn.Module,
    sites: Sequence[NormSite],
    batches: Iterator[Any],
    device: torch.device,
    size: int,
    options: dict[str, Any],
    console: Console,
) -> str:
    """Measure what is not there yet, a state on the disk for every few batches; returns the hash of all of them."""
    finished, whole = set(run.finished_shards()), hashlib.sha256()
    for index in range(10**6):
        chunk = list(islice(batches, size))
        if not chunk:
            break
        digest = _digest(chunk)
        whole.update(digest.encode())
        if index in finished:
            _, about = observe.load(run.shard_path(index))
            if about.get("batches_sha256") != digest:
                last = index * size + len(chunk) - 1
                msg = f"{run.path}: batches {index * size} to {last} are not those of its start; give the same ones"
                raise RunError(msg)
            continue
        started = time.perf_counter()
        with Observer(model, sites, **options) as observer, torch.inference_mode():
            for batch in chunk:
                _masked(observer, batch)
                call(model, _on(device, batch))
            states = observer.states
        with replacing(run.shard_path(index)) as draft:
            observe.save(draft, states, {"batches_sha256": digest})
        took = time.perf_counter() - started
        say(console, f"measured {index * size + len(chunk):,} batches, the last {len(chunk)} in {took:.1f} s")
    return whole.hexdigest()


def _finish(
    run: RunDirectory, model: nn.Module, sites: Sequence[NormSite], first: Any, texts: str, console: Console
) -> None:
    shards = (observe.load(run.shard_path(index))[0] for index in run.finished_shards())
    states = functools.reduce(observe.merge, shards)
    called = [site for site in sites if (site.path, "input") in states]
    counts = [int(states[site.path, "input"].tokens.sum()) for site in called]
    run.amend(
        sites=[asdict(site) for site in called],
        topology=topology_of(getattr(model, "config", None)),
        input="batches in memory",
        tokens=max(counts),
        tokens_measured=max(counts),
        tokens_sha256=texts,
        token_policy=None,
    )
    console.print(f"checking predictions at {len(called)} norm layers", highlight=False)
    write_results(run, states, called, judge.judge(model, called, lambda: call(model, first)))


def is_live(spec: str | None) -> bool:
    """Whether a model is named as ``MODULE:FUNCTION``."""
    return spec is not None and re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec) is not None


def load_live(spec: str) -> tuple[nn.Module, Iterable[Any]]:
    """The model and the batches that the function of ``MODULE:FUNCTION`` returns; the module may lie in this folder."""
    module, _, function = spec.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        made = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError) as error:
        raise ModelError(f"{spec}: {error}; give MODULE:FUNCTION of a module in this folder or installed") from None
    finally:
        sys.path.remove(str(Path.cwd()))
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], nn.Module)):
        raise ModelError(f"{spec}: returned {type(made).__name__}; return a pair (model, batches)")
    return made
