"""Merging finished runs: one model on several parts of a text, measured apart."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import statistics
from ..models import NormSite
from ..runs import (
    ENVIRONMENT,
    RunDirectory,
    RunError,
    Sequence as SequenceOfRun,
    first_difference,
    lock,
    measured_by,
    read_sequences,
    write_sequences,
)
from ._results import write_results

__all__ = ["merge_runs"]

_SHARED = (
    "model",
    "architecture",
    "revision",
    "weights",
    "weights_sha256",
    "dtype",
    "sequence_length",
    "directions",
    "seed",
)
"""What runs must have in common; text, device and batches may differ."""


def _check(runs: Sequence[RunDirectory], manifests: Sequence[dict[str, Any]]) -> None:
    first = {key: manifests[0].get(key) for key in _SHARED}
    for run, manifest in zip(runs, manifests, strict=True):
        difference = first_difference(first, {key: manifest.get(key) for key in _SHARED})
        if difference is not None:
            name, expected, seen = difference
            msg = f"{run.path}: {name} is {seen!r}, in {runs[0].path} it is {expected!r}; merge runs of one measurement"
            raise RunError(msg)


def _disjoint(runs: Sequence[RunDirectory]) -> list[list[SequenceOfRun]]:
    """The sequences of each run, their groups renumbered: one document is one unit, whichever runs measured it."""
    seen: dict[str, int] = {}
    units: dict[Any, int] = {}
    numbers = itertools.count()
    found = []
    for index, run in enumerate(runs):
        groups: dict[int, int] = {}
        kept = []
        for sequence in read_sequences(run.sequences_path):
            corpus, document, offset, group, digest = sequence
            if seen.setdefault(digest, index) != index:
                place = f"offset {offset}" if document is None else f"token {offset} of document {document}"
                msg = (
                    f"{run.path}: its sequence at {place} is in {runs[seen[digest]].path} too and would count twice; "
                    "merge runs on disjoint parts of a text"
                )
                raise RunError(msg)
            name = (index, group) if document is None else (corpus, document)
            if group not in groups:
                groups[group] = units[name] if name in units else next(numbers)
            units.setdefault(name, groups[group])
            kept.append(sequence._replace(group=groups[group]))
        found.append(kept)
    return found


def _renumbered(run: RunDirectory, sequences: Sequence[SequenceOfRun]) -> statistics.States:
    """The states of a run, its documents by the numbers that they have in the merged one."""
    before = read_sequences(run.sequences_path)
    new = np.zeros(1 + max(sequence.group for sequence in before), np.int64)
    for old, sequence in zip(before, sequences, strict=True):
        new[old.group] = sequence.group
    states, _ = statistics.load(run.state_path)
    return {key: replace(state, documents=new[state.documents]) for key, state in states.items()}


def merge_runs(directories: Sequence[Path], output: Path, *, command: str = "") -> list[dict[str, Any]]:
    """Merge finished runs into a new run directory; returns its table.

    Counts and histograms are those of one run over all texts; sums and means differ from it by the rounding of their
    different order.

    Args:
        directories: Two or more finished runs of one model, dtype, sequence length, seed and number of directions.
        output: A new directory.
        command: What the manifest says made it.
    """
    if len(directories) < 2:
        msg = f"{len(directories)} run given: merging takes two or more"
        raise RunError(msg)
    runs = [RunDirectory(path) for path in directories]
    manifests = [run.finished_manifest() for run in runs]
    _check(runs, manifests)
    sequences = _disjoint(runs)
    target = RunDirectory(output)
    target.prepare()
    measured = measured_by(manifests[0])
    measured["corpus"] = " + ".join(dict.fromkeys(manifest["corpus"] for manifest in manifests))
    measured["corpus_sha256"] = [manifest["corpus_sha256"] for manifest in manifests]
    measured["tokens"] = sum(manifest["tokens_measured"] for manifest in manifests)
    about = {
        "command": command,
        **{key: manifests[0][key] for key in ENVIRONMENT},
        "merged_from": [str(path) for path in directories],
        "tokens_measured": measured["tokens"],
        "token_policy": manifests[0]["token_policy"],
        **{key: manifests[0][key] for key in ("norm_weights_sha256", "weights_sha256") if key in manifests[0]},
        "topology": manifests[0]["topology"],
        "sites": manifests[0]["sites"],
    }
    with lock(target.path):
        if target.begin(measured, about) == "done":
            msg = f"{output}: holds this merge already; choose another --output to make it again"
            raise RunError(msg)
        write_sequences(target.sequences_path, itertools.chain.from_iterable(sequences))
        states = functools.reduce(statistics.merge, map(_renumbered, runs, sequences))
        return write_results(target, states, [NormSite(**site) for site in manifests[0]["sites"]])
