"""The ablation: every change of a network on every case, shard by shard, and the table of their costs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from transformers import PreTrainedModel

from lngeom.errors import RunError
from lngeom.files import Json, read_sealed, write_sealed

from .. import models
from ..observe import ratio_interval
from ..runs import RunDirectory, environment
from ..support import progress, sha256_of_tensors, write_table
from ..text import Passage, bundled_wikipedia, open_corpus
from .changes import Change, plan_changes
from .inputs import passages_for
from .measurement import Measurement
from .options import Ablation


def _shards(passages: Sequence[Passage], tokens: int) -> list[list[Passage]]:
    """Neighbouring passages, so many tokens together."""
    shards: list[list[Passage]] = [[]]
    for case in passages:
        if sum(c.tokens for c in shards[-1]) >= tokens:
            shards.append([])
        shards[-1].append(case)
    return shards


def summarize(change: Change, rows: np.ndarray) -> Json:
    """One line of ``ablation.csv`` from the passages of a change: documents are the independent units."""
    _, where = np.unique(rows[:, 0], return_inverse=True)
    n, loss = (np.bincount(where, rows[:, i]) for i in (1, 2))
    if change.name == "none":
        loss = np.zeros_like(loss)
    total = n.sum()
    mean, low, high = ratio_interval(loss, n, floor=-math.inf)
    kl, same = rows[:, 3].sum() / total, rows[:, 4].sum() / total
    return {
        "change": change.name, "site": change.site, "nats": float(mean), "nats_low": float(low),
        "nats_high": float(high), "kl": float(kl), "top1": float(same), "tokens": int(total),
    }  # fmt: skip


def run_ablation(ablation: Ablation, *, console: Console | None = None, command: str = "") -> RunDirectory:
    """Measure the cost of every change, and write the run directory: ``manifest.json``, ``ablation.csv``, ``DONE``.

    The loss of each token is compared with its loss in the unchanged network; the intervals take documents as the
    independent units. A run that was stopped is continued from its last finished shard.

    Raises:
        lngeom.errors.LngeomError: On any bad input, in one line.
    """
    console = console or Console()
    corpus = open_corpus(str(bundled_wikipedia()) if ablation.corpus is None else ablation.corpus)
    model = str(models.bundled_model()) if ablation.model is None else ablation.model
    source = models.find_model(model, ablation.revision)
    device = models.resolve_device(ablation.device)
    network: Any = models.load_network(source, allow_pickle=ablation.allow_pickle)
    models.refuse_nan_weights(network)
    dtype = models.resolve_dtype(ablation.dtype, network.config, device)
    network.to(device=device, dtype=dtype)
    passages = passages_for(
        network, source, corpus,
        tokens=ablation.tokens, length=ablation.sequence_length, per_document=ablation.per_document,
    )  # fmt: skip
    names = ("site_tokens", "sequence_length", "per_document", "batch_tokens", "shard_tokens", "directions", "seed")
    measured = {
        "model": source.name,
        "revision": source.resolved_revision(network.config),
        "dtype": str(dtype).removeprefix("torch."),
        "device": device.type,
        "corpus": Path(corpus.spec).name if corpus.path else corpus.spec,
        "corpus_sha256": corpus.sha256(),
        "tokens": sum(case.tokens for case in passages),
        "documents": len({case.document for case in passages}),
        **{name: getattr(ablation, name) for name in names},
        "weights_sha256": models.weights_sha256(network),
        "cases_sha256": _passages_sha256(passages),
    }
    run = RunDirectory(Path(ablation.output or f"runs/ablate-{source.name}"), results=("ablation.csv",))
    with run.claim():
        about = {"command": command, **environment(device), "unused_weights": list(network.unused_weights)}
        if run.begin(measured, about) == "done":
            console.print(f"{run.path}: this run is done", markup=False, highlight=False, soft_wrap=True)
            return run
        run.write_tokens(np.concatenate([case.labels for case in passages]))
        _measure(run, network, passages, ablation, console)
    return run


def _passages_sha256(passages: Sequence[Passage]) -> str:
    """Hash of all inputs and labels, with the document of each case."""
    arrays = (
        (f"{case.document} {name}", torch.from_numpy(np.ascontiguousarray(array)))
        for case in passages
        for name, array in sorted({**case.inputs, "labels": case.labels}.items())
    )
    return sha256_of_tensors(arrays)


def _read(path: Path, measured: str, console: Console) -> np.ndarray | None:
    """The rows of a finished shard; None if it is not there, damaged or of another run: it is measured again."""
    try:
        shard = read_sealed(path)
        if shard.get("measured_sha256") != measured:
            raise RunError(f"{path}: belongs to another run")
        return np.array(shard["rows"])
    except FileNotFoundError:
        return None
    except RunError as error:
        console.print(f"{error}: measured again".replace("; remove the directory and run again", ""), markup=False)
        return None


def _measure(
    run: RunDirectory, network: PreTrainedModel, passages: list[Passage], ablation: Ablation, console: Console
) -> None:
    changes, reason = plan_changes(network, directions=ablation.directions, sites=ablation.site_tokens > 0)
    single = {change for change in changes if len(change.norms) == 1}
    shards = _shards(passages, ablation.shard_tokens)
    before, work = 0, []
    for number, shard in enumerate(shards):
        mine = [c for c in changes if before < ablation.site_tokens or c not in single]
        work += [(number, c, run.shard_path(number * len(changes) + changes.index(c), ".json")) for c in mine]
        before += sum(case.tokens for case in shard)
    sizes = [sum(case.tokens for case in shards[number]) for number, _, _ in work]
    measured = run.measured_sha256()
    rows_of = {path: rows for _, _, path in work if (rows := _read(path, measured, console)) is not None}
    done = sum(size for size, (_, _, path) in zip(sizes, work, strict=True) if path in rows_of)
    with progress(console, f"{len(changes)} changes", sum(sizes), done) as advance:
        at, measurement = -1, None
        for size, (number, change, path) in zip(sizes, work, strict=True):
            if path in rows_of:
                continue
            if measurement is None or at != number:
                measurement, at = Measurement(network, shards[number], ablation.batch_tokens), number
            rows_of[path] = measurement(change, ablation.seed)
            write_sealed(path, {"measured_sha256": measured, "rows": rows_of[path].tolist()})
            advance(size)
    joined = {change: np.concatenate([rows_of[path] for _, c, path in work if c == change]) for change in changes}
    base = joined[changes[0]]
    run.amend(nats_per_token=float(base[:, 2].sum() / base[:, 1].sum()), not_folded=reason)
    write_table(run.path / "ablation.csv", [summarize(change, rows) for change, rows in joined.items()], digits=6)
    run.finish()
