"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored."""

import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from .. import judge, pages
from ..models import (
    LoadedModel,
    ModelSource,
    fingerprints,
    load_config,
    load_model,
    load_tokenizer,
    longest_sequence,
    resolve_device,
    resolve_dtype,
    sites_of,
    text_config,
    text_inputs,
)
from ..runs import Ranks, RunDirectory, Status, environment, ranks, write_sequences
from ..support import ModelError, RunError, lock, progress, say, sha256_of
from ..text import Corpus
from ._options import DEFAULT_LENGTH, Sweep, corpus_of, output_of, source_of
from ._results import write_results, written_to
from ._shards import measure_shards, merged
from ._show import print_verdicts, show_run
from ._tokens import draw_tokens

_BATCH_TOKENS = {"cpu": 4_096, "cuda": 32_768}
_SHARD_TOKENS = {"cpu": 4_096, "cuda": 262_144}


@dataclass(frozen=True)
class _Plan:
    """A sweep with every default settled."""

    sweep: Sweep
    source: ModelSource
    config: Any
    corpus: Corpus
    device: torch.device
    dtype: torch.dtype
    length: int
    batch: int
    shard: int

    @property
    def sequences(self) -> int:
        return math.ceil(self.sweep.tokens / self.length)

    def measured(self) -> dict[str, Any]:
        """What determines the numbers: two runs that agree in it may be continued by one another."""
        weights = f"random, seed {self.sweep.seed}" if self.sweep.random_weights else "trained"
        return {
            "model": self.source.name,
            "architecture": self.config.model_type,
            "revision": self.source.resolved_revision(self.config, random_weights=self.sweep.random_weights),
            "weights": weights,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            "corpus": Path(self.corpus.spec).name if self.corpus.path else self.corpus.spec,
            "corpus_sha256": self.corpus.sha256(),
            "tokens": self.sequences * self.length,
            "sequence_length": self.length,
            "batch_size": self.batch,
            "shard_sequences": self.shard,
            "directions": self.sweep.directions,
            "seed": self.sweep.seed,
            **({"compiled": True} if self.sweep.compile else {}),
            **({"directions_rounded": True} if self.dtype.itemsize == 2 else {}),
        }


def _positive(value: int, option: str) -> int:
    if value < 1:
        raise RunError(f"{option} {value}: must be 1 or more")
    return value


def _or(value: int | None, default: int, option: str) -> int:
    return default if value is None else _positive(value, option)


def _settle(sweep: Sweep) -> _Plan:
    """Find model and corpus, and settle every default; nothing large is read."""
    corpus, source = corpus_of(sweep), source_of(sweep)
    config = load_config(source, random_weights=sweep.random_weights)
    if sweep.tensor_parallel > 1 and (sweep.random_weights or sweep.device_map is not None):
        raise RunError("--tensor-parallel: takes weights from files, and no --device-map; leave one of the two out")
    if sweep.random_weights and sweep.device_map is not None:
        msg = f"--device-map {sweep.device_map}: random weights are drawn on one device; leave one of the two out"
        raise RunError(msg)
    if not 0 <= sweep.seed < 1 << 63:
        raise RunError(f"--seed {sweep.seed}: must be 0 or more and below 2^63")
    device = resolve_device(sweep.device)
    dtype = resolve_dtype(sweep.dtype, config, device)
    longest = longest_sequence(config)
    length = _or(sweep.sequence_length, min(DEFAULT_LENGTH, longest or DEFAULT_LENGTH), "--sequence-length")
    if longest is not None and length > longest:
        raise ModelError(f"--sequence-length {length}: {source.name} has {longest} positions; use {longest} or less")
    if _positive(sweep.tokens, "--tokens") < length:
        msg = f"--tokens {sweep.tokens}: fewer than one sequence of {length}; raise it, or lower --sequence-length"
        raise RunError(msg)
    kind = "cpu" if device.type == "cpu" else "cuda"
    batch = _or(sweep.batch_size, max(1, _BATCH_TOKENS[kind] // length), "--batch-size")
    shard = max(1, _or(sweep.shard_tokens, _SHARD_TOKENS[kind], "--shard-tokens") // length)
    _positive(sweep.directions, "--directions")
    return _Plan(sweep, source, config, corpus, device, dtype, length, batch, shard)


def run_sweep(sweep: Sweep, *, console: Console | None = None, command: str = "", show: bool = True) -> RunDirectory:
    """Measure every norm layer of a model on a corpus, and write the run directory.

    A run that was stopped is continued from its last finished shard; one that is complete is only shown.

    Args:
        sweep: What to measure.
        console: Where progress and the table go; the terminal by default.
        command: What the manifest says made the run.
        show: Whether the table is printed.

    Returns:
        RunDirectory: ``path`` is the directory; ``sites.csv`` in it has the table,
            :func:`empirical.observe.read_csv` reads it.
    """
    console = console or Console()
    plan = _settle(sweep)
    run = RunDirectory(output_of(sweep, plan.source))
    with ExitStack() as held, ranks(plan.device) as alone:
        group = alone.divided(sweep.tensor_parallel)
        if not group.leads:
            console = Console(quiet=True)

        def opened() -> Status:
            if not run.is_done:  # a finished run is shown from a disk that nobody can write to
                run.prepare()
                held.enter_context(lock(run.path))
            status = run.begin(plan.measured(), {"command": command, **environment(plan.device)})
            if status != "done":
                _draw(run, plan, console)
            return status

        if group.by_leader(opened) == "done":
            say(console, f"{run.path}: this run is done")
            if show and group.leads:
                show_run(run, console)
            return run
        if console.is_terminal:
            console.print(f"loading {plan.source.name}", markup=False, highlight=False)
        loaded = load_model(
            plan.source,
            dtype=sweep.dtype,
            device=str(group.device),
            allow_pickle=sweep.allow_pickle,
            random_weights=sweep.random_weights,
            seed=sweep.seed,
            device_map=sweep.device_map,
            team=(group.teams, group.tensor),
            config=plan.config,
        )
        if group.tensor > 1:  # the test of a shift runs in another precision, on a whole model
            loaded = replace(loaded, topology=None)
        if not loaded.sites:
            loaded = _discovered(loaded, run.tokens())
        _know_weights(run, loaded, group, console)
        measure_shards(
            run, loaded, console, group,
            batch=plan.batch, shard=plan.shard, directions=sweep.directions, seed=sweep.seed,
            compiled=sweep.compile or None,
        )  # fmt: skip
        group.wait()
        judged = judge.predict(loaded, run.tokens()) if group.team == 0 else []  # every part of it takes part
        if group.leads:
            _finish(run, loaded, judged, console, plan.shard, show=show)
        group.wait()
    return run


def _discovered(loaded: LoadedModel, tokens: np.ndarray) -> LoadedModel:
    """The model with the norm layers that a pass over a little of the text finds."""
    ids = torch.from_numpy(tokens[:1, :64].astype(np.int64)).to(loaded.device)
    sites = sites_of(loaded.model, text_inputs(loaded.model, ids))
    if not sites:
        msg = f"{loaded.source.name}: a pass over text calls no norm layer; lngeom norms lists what there is"
        raise ModelError(msg)
    return replace(loaded, sites=sites)


def _know_weights(run: RunDirectory, loaded: LoadedModel, group: Ranks, console: Console) -> None:
    """Record which weights are measured, and refuse others, of an earlier start or of another process."""
    found = fingerprints(loaded.model, loaded.sites)

    def recorded() -> dict[str, str]:
        manifest = run.manifest()
        there = {key: manifest.get(key, value) for key, value in found.items()}
        if not run.finished_shards() or there == found:
            run.amend(**found, unused_weights=list(loaded.unused))
            return found
        return there

    if group.by_leader(recorded) != found:
        msg = (
            f"{run.path}: was begun with other weights of {loaded.source.name} (weights_sha256 is not "
            f"{found['weights_sha256'][:16]}…); choose another --output"
        )
        raise RunError(msg)
    if loaded.unused:
        names = ", ".join(loaded.unused[:3]) + (f" and {more} more" if (more := len(loaded.unused) - 3) > 0 else "")
        say(console, f"weights that the measured part has no place for: {names}")


def _draw(run: RunDirectory, plan: _Plan, console: Console) -> None:
    recorded = run.manifest()
    if "token_policy" in recorded:
        if run.tokens_are_sound():
            return
        say(console, f"{run.tokens_path}: is damaged or gone; drawn again")
    tokenizer = None if plan.corpus.has_ids or plan.corpus.is_random else load_tokenizer(plan.source)
    total = plan.sequences * plan.length
    with progress(console, f"reading {Path(plan.corpus.spec).name}", total) as advance:
        policy, sequences = draw_tokens(
            run.tokens_path,
            plan.corpus,
            tokenizer,
            sequences=plan.sequences,
            length=plan.length,
            vocabulary=text_config(plan.config).vocab_size,
            seed=plan.sweep.seed,
            advance=advance,
        )
    write_sequences(run.sequences_path, sequences)
    hashes = {"tokens_sha256": sha256_of(run.tokens_path), "sequences_sha256": sha256_of(run.sequences_path)}
    if any(recorded.get(key, value) != value for key, value in hashes.items()):
        msg = f"{run.path}: the corpus gives other tokens than when the run was begun; choose another --output"
        raise RunError(msg)
    tokens = run.tokens()
    if tokens.size < total:
        say(console, f"the corpus ends after {tokens.size:,} of {total:,} tokens; measuring those")
    run.amend(token_policy=policy, tokens_measured=int(tokens.size), **hashes)


def _finish(
    run: RunDirectory, loaded: LoadedModel, judged: list[judge.Prediction], console: Console, shard: int, *, show: bool
) -> None:
    """Merge the shards and write the results."""
    both = "the same text on both sides" if getattr(loaded.config, "is_encoder_decoder", False) else "text"
    run.amend(sites=[asdict(site) for site in loaded.sites], topology=loaded.topology, input=both)
    console.print(f"checking predictions at {len(loaded.sites)} norm layers", highlight=False)
    rows = write_results(run, merged(run, shard), loaded.sites, judged)
    if show:
        pages.print_table(rows)
        print_verdicts(run, console)
    say(console, written_to(run.path))
