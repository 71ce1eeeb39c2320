"""The sweep of a model over a text, stage by stage: settle, draw, load, measure, judge, write."""

import hashlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import nn

from lngeom.errors import RunError

from .. import judge, models, pages
from ..observe import Observer, States
from ..runs import Origin, RunDirectory, environment, read_origins
from ..support import ModelError, progress, say, write_records
from .measurement import Batch, Checkpoints, Shard, Subject, measure_shards
from .options import Sweep, output_of
from .plan import Plan, settle
from .results import check_state, print_verdicts, show_run, write_results, written_to
from .tokens import draw_tokens, null_positions

_SEALED = ("tokens.npy", "sequences.csv")


def run_sweep(sweep: Sweep, *, console: Console | None = None, command: str = "", show: bool = True) -> RunDirectory:
    """Measure every norm layer of a model on a text, and write the run directory.

    A run that was stopped is continued from its last finished shard; one that is complete is only shown.

    Args:
        sweep: What to measure.
        console: Where progress and the table go; the terminal by default.
        command: What the manifest says made the run.
        show: Whether the table is printed.

    Returns:
        RunDirectory: ``path`` is the directory; :func:`lngeom.empirical.sweep.read_finished` reads its tables.
    """
    console = console or Console()
    plan = settle(sweep)
    run = RunDirectory(output_of(sweep, plan.source))
    with nullcontext() if run.is_done else run.claim():  # a finished run is shown from a disk that nobody can write to
        if run.begin(plan.identity(), {"command": command, **environment(plan.device)}) == "done":
            check_state(run)
            say(console, f"{run.path}: this run is done")
            if show:
                show_run(run, console)
            return run
        _draw(run, plan, console)
        loaded = _load(run, plan, console)
        states = _measure(run, plan, loaded, console)
        console.print(f"checking predictions at {len(loaded.sites)} norm layers", highlight=False)
        _finish(run, loaded, states, judge.predict(loaded, run.tokens()), console, show=show)
    return run


def _draw(run: RunDirectory, plan: Plan, console: Console) -> None:
    """Write the token ids and where they are from, unless an earlier start did."""
    recorded = run.manifest()
    if "token_policy" in recorded:
        if run.is_sealed(*_SEALED):
            return
        say(console, f"{run.tokens_path}: is damaged or gone; drawn again")
    tokenizer = None if plan.corpus.has_ids or plan.corpus.is_random else models.load_tokenizer(plan.source)
    total = plan.drawing.tokens
    with progress(console, f"reading {Path(plan.corpus.spec).name}", total) as advance:
        policy, origins = draw_tokens(run.tokens_path, plan.corpus, tokenizer, plan.drawing, advance)
    write_records(run.sequences_path, Origin, origins)
    sealed = run.hashes(*_SEALED)
    if any(recorded.get(entry, digest) != digest for entry, digest in sealed.items()):
        raise RunError(f"{run.path}: the corpus has changed since this run began; choose another --output")
    measured = run.tokens().size
    if measured < total:
        say(console, f"the corpus ends after {measured:,} of {total:,} tokens; measuring those")
    run.amend(token_policy=policy, tokens_measured=int(measured), **sealed)


def _load(run: RunDirectory, plan: Plan, console: Console) -> models.LoadedModel:
    """Load the model, find its norm layers, and make sure that its weights are those of the run."""
    sweep = plan.sweep
    if console.is_terminal:
        console.print(f"loading {plan.source.name}", markup=False, highlight=False)
    options = {name: getattr(sweep, name) for name in ("dtype", "allow_pickle", "random_weights", "seed")}
    loaded = models.load_model(plan.source, device=str(plan.device), config=plan.config, **options)
    if not loaded.sites:  # a pass over a little of the text finds them
        ids = torch.from_numpy(run.tokens()[:1, :64].astype(np.int64)).to(loaded.device)
        loaded = replace(loaded, sites=models.sites_of(loaded.model, models.text_inputs(loaded.model, ids)))
    if not loaded.sites:
        raise ModelError(f"{plan.source.name}: a pass over text calls no norm layer; lngeom norms lists what there is")
    _check_weights(run, loaded)
    if loaded.unused:
        say(console, models.unused_line(loaded.unused))
    return loaded


def _check_weights(run: RunDirectory, loaded: models.LoadedModel) -> None:
    """Record which weights are measured, and refuse others than those of an earlier start."""
    mine = models.fingerprints(loaded.model, loaded.sites)
    manifest = run.manifest()
    if run.finished_shards() and any(manifest.get(key, value) != value for key, value in mine.items()):
        raise RunError(
            f"{run.path}: was started with other weights of {loaded.source.name} (weights_sha256 is not "
            f"{mine['weights_sha256'][:16]}…); choose another --output"
        )
    run.amend(**mine, unused_weights=list(loaded.unused))


def _shards(run: RunDirectory, plan: Plan, model: nn.Module) -> list[Shard]:
    """The text of a run as batches, a shard for every so many sequences."""
    tokens = run.tokens()
    documents = torch.tensor([origin.group for origin in read_origins(run.sequences_path)])
    null = torch.from_numpy(null_positions(len(tokens), tokens.shape[1], plan.null_every, plan.sweep.seed))

    def batches(rows: slice, size: int) -> Iterator[Batch]:
        for begin in range(rows.start, rows.stop, size):
            part = slice(begin, min(begin + size, rows.stop))
            ids = torch.from_numpy(tokens[part].astype(np.int64))
            yield Batch(models.text_inputs(model, ids), ids.numel(), documents[part], null[part])

    def shard(index: int, begin: int) -> Shard:
        rows = slice(begin, min(begin + plan.shard, len(tokens)))
        ids = np.ascontiguousarray(tokens[rows])
        return Shard(index, hashlib.sha256(ids.tobytes()).hexdigest(), ids.size, partial(batches, rows))

    return [shard(index, begin) for index, begin in enumerate(range(0, len(tokens), plan.shard))]


def _measured(loaded: models.LoadedModel) -> tuple[models.NormSite, ...]:
    """The norm layers, and the stream where they do not read it."""
    return (*loaded.sites, *models.streams_of(loaded.model))


def _measure(run: RunDirectory, plan: Plan, loaded: models.LoadedModel, console: Console) -> States:
    shards = _shards(run, plan, loaded.model)
    checkpoints = Checkpoints(run, console, {shard.index: shard.digest for shard in shards})
    done = sum(shard.size for shard in shards if shard.index in checkpoints.digests)
    if checkpoints.digests:
        say(console, f"continuing after {len(checkpoints.digests)} of {len(shards)} shards")
    given = plan.sweep
    watch = partial(Observer, loaded.model, _measured(loaded), directions=given.directions, seed=given.seed)
    subject = Subject(loaded.model, loaded.device, watch, plan.batch)
    with progress(console, f"measuring {loaded.source.name}", sum(shard.size for shard in shards), done) as advance:
        digests = measure_shards(subject, shards, checkpoints, console, advance)
    return checkpoints.merged(digests)


def _finish(
    run: RunDirectory, loaded: models.LoadedModel, states: States, judged: list[judge.Prediction], console: Console, *,
    show: bool,
) -> None:  # fmt: skip
    both = "the same text on both sides" if getattr(loaded.config, "is_encoder_decoder", False) else "text"
    run.amend(sites=[asdict(site) for site in _measured(loaded)], topology=loaded.topology, input=both)
    rows = write_results(run, states, _measured(loaded), judged)
    if show:
        pages.print_table(rows)
        print_verdicts(run, console)
    say(console, written_to(run.path))
