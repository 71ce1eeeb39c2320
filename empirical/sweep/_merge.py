"""Merging finished runs: one model on several parts of a text, measured apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import statistics
from ..models import NormSite
from ..runs import ENVIRONMENT, RunDirectory, RunError, first_difference, lock, measured_by
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
    texts: dict[str, RunDirectory] = {}
    for run, manifest in zip(runs, manifests, strict=True):
        difference = first_difference(first, {key: manifest.get(key) for key in _SHARED})
        if difference is not None:
            name, expected, seen = difference
            msg = f"{run.path}: {name} is {seen!r}, in {runs[0].path} it is {expected!r}; merge runs of one measurement"
            raise RunError(msg)
        for text in manifest.get("merged_tokens_sha256") or [manifest["tokens_sha256"]]:
            if text in texts:
                msg = f"{run.path}: has the tokens of {texts[text].path}, which would count twice; leave one out"
                raise RunError(msg)
            texts[text] = run


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
    target = RunDirectory(output)
    target.prepare()
    measured = measured_by(manifests[0])
    measured["corpus"] = " + ".join(dict.fromkeys(manifest["corpus"] for manifest in manifests))
    measured["corpus_sha256"] = [manifest["corpus_sha256"] for manifest in manifests]
    measured["tokens"] = sum(manifest["tokens_measured"] for manifest in manifests)
    texts = [
        text
        for manifest in manifests
        for text in manifest.get("merged_tokens_sha256") or [manifest["tokens_sha256"]]
    ]
    about = {
        "command": command,
        **{key: manifests[0][key] for key in ENVIRONMENT},
        "merged_from": [str(path) for path in directories],
        "merged_tokens_sha256": texts,
        "tokens_measured": measured["tokens"],
        "token_policy": manifests[0]["token_policy"],
        **{
            key: manifests[0][key] for key in ("norm_weights_sha256", "weights_sha256") if key in manifests[0]
        },
        "topology": manifests[0]["topology"],
        "sites": manifests[0]["sites"],
    }
    with lock(target.path):
        if target.begin(measured, about) == "done":
            msg = f"{output}: holds this merge already; choose another --output to make it again"
            raise RunError(msg)
        states, _ = statistics.load(runs[0].state_path)
        for run in runs[1:]:
            states = statistics.merge(states, statistics.load(run.state_path)[0])
        return write_results(target, states, [NormSite(**site) for site in manifests[0]["sites"]])
