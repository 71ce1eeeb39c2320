"""The sweep of a model in memory over any inputs: the stages of a text's, with batches that are given."""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor, nn

from lngeom.apart import staying
from lngeom.errors import RunError
from lngeom.files import Json
from lngeom.sources import read_from_source

from .. import judge, observe, pages
from ..models import NormSite, call, evaluating, fingerprints, sites_of, topology_of
from ..observe import Observer, States
from ..runs import ENVIRONMENT, RunDirectory, environment
from ..support import ModelError, say, sha256_of_tensors
from .measurement import Batch, Checkpoints, Shard, Subject, measure_shards, on_device, states_of
from .options import MeasureOptions
from .results import check_state, write_results, written_to

__all__ = ["load_live", "measure"]


def measure(
    model: nn.Module,
    batches: Iterable[object],
    output: str | os.PathLike[str],
    options: MeasureOptions = MeasureOptions(),  # noqa: B008 - frozen
    *,
    console: Console | None = None,
    command: str = "",
    show: bool = False,
) -> RunDirectory:
    """Measure every norm layer of a model in memory on any inputs, and write the run directory.

    The model is measured as it is, in evaluation mode. A run that was stopped continues after its last finished shard,
    given the same model and the same batches in the same order. A run is refused, finished or not, if the model now
    gives other numbers for the first or last batch, whatever has changed: code, settings, versions.

    Args:
        model: Any module: of transformers, of timm, or written by hand.
        batches: Inputs, one forward pass each: a tensor, a tuple of positional arguments or a mapping of keyword
            arguments (token ids, pixels, audio features, both sides of an encoder-decoder). ``attention_mask`` and
            ``decoder_attention_mask`` mark padding.
        output: The run directory.
        options: The settings.
        console: Where progress goes; nowhere by default.
        command: What the manifest says made the run.
        show: Whether the table is printed.

    Returns:
        RunDirectory: :func:`lngeom.empirical.sweep.read_finished` reads its tables.

    >>> import tempfile
    >>> import torch
    >>> from lngeom.empirical.sweep import measure, read_finished
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = measure(model, [torch.randn(4, 5, 8) for _ in range(3)], f"{folder}/run")
    ...     row = read_finished(run.path).rows[2]
    >>> row["site"], row["bucket"], row["tokens"], row["sequences"]
    ('1', 'all', 60, 12)
    """
    console = console or Console(quiet=True)
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    source = iter(batches)
    first = last = next(source, None)
    if first is None or not any(tensor.numel() for tensor in _tensors(first)):
        what = "there is none" if first is None else "no number in the first of them"
        raise RunError(f"batches: {what}; give inputs of the model, one forward pass each")

    def given_batches() -> Iterator[object]:
        nonlocal last
        yield first
        for batch in source:
            yield (last := batch)

    run = RunDirectory(Path(output))
    with evaluating(model):
        given = on_device(first, device)
        sites = _sites(model, given) if options.sites is None else options.sites
        identity = _identity(model, sites, first, device, options)
        with run.claim():
            about = {"command": command, **environment(device)}
            status = run.begin(identity, about)
            observed = {name: getattr(options, name) for name in ("batch_dim", "directions", "seed")}
            subject = Subject(model, device, partial(Observer, model, sites, **observed))
            _refuse_other_numbers(run, "first", _numbers(subject, first), about)
            states = None
            if status == "done":
                digests = _joined(digest for _, digest in _chunks(given_batches(), options.shard_batches))
                if not digests.items() <= run.manifest().items():
                    raise RunError(f"{run.path}: holds another run (its batches differ); choose another output")
                check_state(run)
            else:
                states = _measure(run, subject, given_batches(), options.shard_batches, console)
            _refuse_other_numbers(run, "last", _numbers(subject, last), about)
            if states is not None:
                called = [site for site in sites if (site.path, "input") in states]
                console.print(f"checking predictions at {len(called)} norm layers", highlight=False)
                judged = judge.judge(model, called, lambda: call(model, given))
                _describe(run, model, called, states)
                write_results(run, states, called, judged)
    if show:
        pages.print_table(observe.read_sites(run.path / "sites.csv"))
    say(console, written_to(run.path))
    return run


def _identity(
    model: nn.Module, sites: Sequence[NormSite], first: object, device: torch.device, options: MeasureOptions
) -> Json:
    """The identity of a run: the model, its first batch, and the options that decide the numbers."""
    kind = type(model).__name__
    dtype = next((parameter.dtype for parameter in model.parameters()), None)
    return {
        "model": options.name or kind,
        "architecture": getattr(getattr(model, "config", None), "model_type", kind),
        **fingerprints(model, sites),
        "weights": "in memory",
        "dtype": str(dtype).removeprefix("torch."),
        "device": device.type,
        "first_batch_sha256": _digest([first]),
        **{name: getattr(options, name) for name in ("shard_batches", "batch_dim", "directions", "seed")},
    }


def _tensors(batch: object) -> Iterator[Tensor]:
    values = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (tuple, list)) else (batch,)
    return (value for value in values if isinstance(value, Tensor))


def _digest(batches: Iterable[object]) -> str:
    return sha256_of_tensors(("", tensor) for tensor in chain.from_iterable(map(_tensors, batches)))


def _sites(model: nn.Module, batch: object) -> tuple[NormSite, ...]:
    """The norm layers that the first batch calls."""
    with torch.inference_mode():
        sites = sites_of(model, batch)
    if not sites:
        name = type(model).__name__
        raise ModelError(f"{name}: the first batch calls no norm layer; lngeom norms says what there is and why")
    return sites


def _chunks(batches: Iterator[object], size: int) -> Iterator[tuple[list[object], str]]:
    """The batches of each shard, and their hash."""
    while chunk := list(islice(batches, size)):
        yield chunk, _digest(chunk)


def _joined(digests: Iterable[str]) -> dict[str, str]:
    return {"tokens_sha256": hashlib.sha256("".join(digests).encode()).hexdigest()}


def _numbers(subject: Subject, batch: object) -> str:
    """SHA-256 of all that is measured on a batch; a model that draws random numbers draws the same each time."""
    with torch.random.fork_rng(range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()):
        torch.manual_seed(0)
        states = states_of(subject, [Batch(batch, 1)], lambda _: None)
    named = ((f"{side} of {path}", vars(state)) for (path, side), state in sorted(states.items()))
    return sha256_of_tensors((of, torch.from_numpy(value)) for of, values in named for value in values.values())


def _refuse_other_numbers(run: RunDirectory, which: str, mine: str, about: Json) -> None:
    """Record what is measured on the first or last batch, and refuse a model on which it is not what was recorded."""
    manifest, entry = run.manifest(), f"{which}_batch_numbers_sha256"
    if not run.is_done and not (entry in manifest and run.finished_shards()):
        run.amend(**{entry: mine})
    elif (there := manifest.get(entry, mine)) != mine:
        others = [name for name in ENVIRONMENT if name != "date" and manifest.get(name) != about[name]]
        why = f"its {', '.join(others)} differ" if others else "the code or settings of the model differ"
        seen = f"on the {which} batch numbers of SHA-256 {there[:16]}… there, {mine[:16]}… here: {why}"
        raise RunError(f"{run.path}: holds another run ({seen}); choose another output")


def _measure(run: RunDirectory, subject: Subject, batches: Iterator[object], size: int, console: Console) -> States:
    """The states of all batches, a shard for every few of them."""
    checkpoints = Checkpoints(run, console)
    measured = count(1)

    def shards() -> Iterator[Shard]:
        for index, (chunk, digest) in enumerate(_chunks(batches, size)):
            if checkpoints.digests.get(index, digest) != digest:
                last = index * size + len(chunk) - 1
                msg = f"{run.path}: batches {index * size} to {last} are not those of its start; give the same ones"
                raise RunError(msg)
            yield Shard(index, digest, len(chunk), lambda _, chunk=chunk: (Batch(inputs, 1) for inputs in chunk))

    def advance(_: int) -> None:
        number = next(measured)
        if number % size == 0:
            say(console, f"measured {number:,} batches")

    digests = measure_shards(subject, shards(), checkpoints, console, advance)
    states = checkpoints.merged(digests)
    run.amend(**_joined(digests))
    return states


def _describe(run: RunDirectory, model: nn.Module, sites: Sequence[NormSite], states: States) -> None:
    """Record the measured model and batches in the manifest."""
    tokens = max(int(states[site.path, "input"].tokens.sum()) for site in sites)
    about = {"topology": topology_of(getattr(model, "config", None)), "input": "batches in memory"}
    run.amend(sites=[asdict(site) for site in sites], tokens=tokens, tokens_measured=tokens, token_policy=None, **about)


def load_live(spec: str) -> tuple[nn.Module, Iterable[object]]:
    """The model and the batches that the function of ``MODULE:FUNCTION`` returns; the module may lie in this folder."""
    module, _, function = spec.partition(":")
    sys.path.insert(0, here := read_from_source(Path.cwd()))
    try:
        with staying():
            made = getattr(importlib.import_module(module), function)()
    except Exception as error:  # it is the user's, and raises what it likes
        reason = " ".join(str(error).split())[:160]
        msg = f"{spec}: {type(error).__name__}: {reason}; give MODULE:FUNCTION of a module in this folder or installed"
        raise ModelError(msg) from None
    except SystemExit as error:
        code = error.code or 0
        raise ModelError(f"{spec}: ends the process with exit code {code}; return a model and batches") from None
    finally:
        sys.path.remove(here)
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], nn.Module)):
        raise ModelError(f"{spec} returned a {type(made).__name__}; give a function that returns (model, batches)")
    return made
