"""Merging finished runs: one model on several parts of a text, measured apart."""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import observe
from ..models import NormSite
from ..runs import ENVIRONMENT, Origin, RunDirectory, first_difference, identity_of, read_origins
from ..support import Json, Rows, RunError, write_records
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
    "directions_rounded",
    "null_every",
    "seed",
)
"""Entries in which runs must agree; text, device and batches may differ."""


def _twice(run: RunDirectory, what: str, other: RunDirectory) -> RunError:
    return RunError(
        f"{run.path}: {what} in {other.path} too and would count twice; merge runs on disjoint parts of a text"
    )


def _check(runs: Sequence[RunDirectory], manifests: Sequence[Json]) -> None:
    first = {key: manifests[0].get(key) for key in _SHARED}
    for run, manifest in zip(runs, manifests, strict=True):
        difference = first_difference(first, {key: manifest.get(key) for key in _SHARED})
        if difference is not None:
            name, expected, seen = difference
            msg = f"{run.path}: {name} is {seen!r}, in {runs[0].path} it is {expected!r}; merge runs of one measurement"
            raise RunError(msg)


def _disjoint(runs: Sequence[RunDirectory]) -> list[list[Origin]]:
    """The sequences of each run, their groups renumbered: one document is one unit, whichever runs measured it."""
    seen: dict[str, int] = {}
    units: dict[tuple[str | int, int], int] = {}
    numbers = itertools.count()
    renumbered = []
    for index, run in enumerate(runs):
        groups: dict[int, int] = {}
        kept = []
        for origin in read_origins(run.sequences_path):
            document, group = origin.document, origin.group
            if (other := seen.setdefault(origin.sha256, index)) != index:
                at = f"offset {origin.offset}" if document is None else f"token {origin.offset} of document {document}"
                raise _twice(run, f"its sequence at {at} is", runs[other])
            name = (index, group) if document is None else (origin.corpus, document)
            if group not in groups:
                groups[group] = units[name] if name in units else next(numbers)
            units.setdefault(name, groups[group])
            kept.append(replace(origin, group=groups[group]))
        renumbered.append(kept)
    return renumbered


_STRETCH = 16
"""Tokens that different texts hardly share by chance where one of them begins."""
_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd, so that it has an inverse modulo 2^64."""


def _stretches(tokens: np.ndarray, width: int) -> np.ndarray:
    """A hash of every `width` tokens in a row of a sequence, wherever they stand: shape (sequences, stretches)."""
    powers = np.cumprod(np.full(tokens.shape[1], _MULTIPLIER, np.uint64))
    inverse = np.cumprod(np.full(tokens.shape[1], pow(_MULTIPLIER, -1, 1 << 64), np.uint64))
    sums = np.cumsum((tokens + np.uint64(1)) * powers, axis=1)
    sums = np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1)
    return (sums[:, width:] - sums[:, :-width]) * inverse[: tokens.shape[1] - width + 1]


def _refuse_shifted(runs: Sequence[RunDirectory], sequences: Sequence[Sequence[Origin]], starts: int) -> None:
    """Refuse runs on different files that hold the same text cut at other places, which no whole sequence shows.

    Where two sequences share tokens, the beginning of one stands in the other and goes on there to its end. It is
    looked for by its first 16 tokens after the `starts` that every sequence has, of short sequences by half of
    them, and then two such places are needed.
    """
    before: list[tuple[RunDirectory, set[str], np.ndarray]] = []
    for run, own in zip(runs, sequences, strict=True):
        if run.manifest().get("private"):
            raise RunError(f"{run.path}: keeps no tokens (--private), so overlaps cannot be found; measure again")
        if not run.is_sealed("tokens.npy"):
            raise RunError(f"{run.tokens_path}: is damaged (the manifest has another SHA-256); measure again")
        tokens, corpora = np.asarray(run.tokens()[:, starts:], np.uint64), {sequence.corpus for sequence in own}
        for other, theirs, seen in before:
            places = [] if corpora == theirs else [*_shared(tokens, seen), *((j, m) for j, m in _shared(seen, tokens))]
            if len(places) > (tokens.shape[1] < 2 * _STRETCH):
                what = f"{places[0][1]} tokens in a row of its sequences are"
                raise _twice(run, what, other)
        before.append((run, corpora, tokens))


def _shared(holding: np.ndarray, beginning: np.ndarray) -> list[tuple[int, int]]:
    """Sequences in which another one begins and goes on to the end, each with how many tokens they share."""
    length = holding.shape[1]
    width = _STRETCH if length >= 2 * _STRETCH else max(2, length // 2)
    if length <= width:
        return []
    hashes, heads = _stretches(holding, width), _stretches(beginning[:, :width], width)[:, 0]
    order = np.argsort(heads)
    overlaps = []
    for row, place in np.argwhere(np.isin(hashes, heads)):
        first = np.searchsorted(heads, hashes[row, place], sorter=order)
        shared = length - place
        if np.array_equal(holding[row, place:], beginning[order[first], :shared]):
            overlaps.append((int(row), int(shared)))
    return overlaps


def _renumbered(run: RunDirectory, sequences: Sequence[Origin]) -> observe.States:
    """The states of a run, its documents by the numbers that they have in the merged one."""
    before = read_origins(run.sequences_path)
    new = np.zeros(1 + max(sequence.group for sequence in before), np.int64)
    for old, sequence in zip(before, sequences, strict=True):
        new[old.group] = sequence.group
    states, _ = observe.load_states(run.state_path)
    return {key: replace(state, documents=new[state.documents]) for key, state in states.items()}


def merge_runs(directories: Sequence[Path], output: Path, *, command: str = "") -> Rows:
    """Merge finished runs into a new run directory; returns its table.

    Counts and histograms are those of one run over all texts; sums and means differ from it by rounding, being added in
    another order.

    Args:
        directories: Two or more finished runs of one model, dtype, sequence length, seed and number of directions.
        output: A new directory.
        command: What the manifest says made it.
    """
    if len(directories) < 2:
        raise RunError(f"{len(directories)} run given: merging takes two or more")
    runs = [RunDirectory(path) for path in directories]
    manifests = [run.finished_manifest() for run in runs]
    _check(runs, manifests)
    sequences = _disjoint(runs)
    policies = [manifest["token_policy"] or {} for manifest in manifests]
    _refuse_shifted(runs, sequences, int(any(policy.get("start") is not None for policy in policies)))
    target = RunDirectory(output)
    measured = identity_of(manifests[0])
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
        **{key: manifests[0][key] for key in ("sites", "gains") if key in manifests[0]},
        "environments": [{key: manifest[key] for key in ENVIRONMENT} for manifest in manifests],
    }
    with target.claim():
        if target.begin(measured, about) == "done":
            raise RunError(f"{output}: holds this merge already; choose another --output to make it again")
        target.write_tokens(np.concatenate([run.tokens() for run in runs]))
        write_records(target.sequences_path, Origin, itertools.chain.from_iterable(sequences))
        target.amend(**target.hashes("tokens.npy", "sequences.csv"))
        states = functools.reduce(observe.merge, map(_renumbered, runs, sequences))
        return write_results(target, states, [NormSite(**site) for site in manifests[0]["sites"]])
