"""The options of a sweep, and of measuring a model in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lngeom.options import argument, folder, option, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..models import ModelSource, NormSite
    from ..text import Corpus

ALL = "all"
"""The name that stands for every known model."""

DEFAULT_TOKENS = 16_384
DEFAULT_LENGTH = 512
DEFAULT_DIRECTIONS = 64
DEFAULT_NULL_EVERY = 8
LEAST_NULL = 2_048
DTYPES = ("auto", "float32", "bfloat16", "float16", "float64")


@dataclass(frozen=True)
class Sweep:
    """A measurement of a model on a text; None stands for a default that depends on the model or the device."""

    model: str | None = argument(
        "MODEL",
        "hub id, local directory, .gguf file, known name, all, or MODULE:FUNCTION that returns a model in memory and "
        "its batches (default: bundled SmolLM2-135M-Instruct)",
        default=None,
    )
    corpus: str | None = option(
        None,
        "MediaWiki dump, .txt, .jsonl with a key text, .npy or .bin token ids, hf:NAME:CONFIG, random (default: "
        "bundled sample of Wikipedia; random token ids for random weights)",
        metavar="TEXT",
    )
    revision: str | None = option(None, "branch, tag or commit of the model on the hub")
    tokens: int = option(DEFAULT_TOKENS, "tokens to measure, rounded up to whole sequences")
    sequence_length: int | None = option(None, f"tokens per sequence (default: {DEFAULT_LENGTH})")
    batch_size: int | None = option(None, "sequences per forward pass (default: by device)")
    shard_tokens: int | None = option(None, "tokens between two saves of the run (default: by device)")
    dtype: str = option("auto", "(default: float32 on the CPU, else the checkpoint's)", choices=DTYPES)
    device: str = option("auto", "cpu, cuda, cuda:1, ... (default: a GPU if there is one)")
    directions: int = option(DEFAULT_DIRECTIONS, "random unit directions to compare the all-ones vector with")
    null_every: int | None = option(
        None,
        f"project one token in N on the random directions, for ranks (N = 1: every token); the column d_cos2, the "
        f"energy along the all-ones vector, always uses all tokens (default: N = {DEFAULT_NULL_EVERY}, or a smaller N "
        f"where {DEFAULT_NULL_EVERY} would project fewer than {LEAST_NULL:,} tokens)",
        metavar="N",
    )
    seed: int = option(0, "seed of the random directions and of the choice of the tokens projected on them", type=seed)
    allow_pickle: bool = option(False, "load pickled weights, which can run code")
    random_weights: bool = option(False, "draw the weights at random from the model's configuration")
    output: str | None = option(None, "run directory (default: runs/NAME)", metavar="DIR", type=folder)


@dataclass(frozen=True)
class MeasureOptions:
    """How a model in memory is measured.

    Attributes:
        sites: The norm layers; by default those that the first batch calls.
        directions, seed: As in a :class:`Sweep`.
        batch_dim: Axis of the sequences, as for :class:`lngeom.empirical.observe.Observer`.
        shard_batches: Batches between two checkpoints.
        name: What the pages call the model; its class by default.
    """

    sites: Sequence[NormSite] | None = None
    directions: int = DEFAULT_DIRECTIONS
    seed: int = 0
    batch_dim: int | None = None
    shard_batches: int = 8
    name: str | None = None


def is_live(spec: str | None) -> bool:
    """Whether a model is named as ``MODULE:FUNCTION``."""
    return spec is not None and re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec) is not None


def corpus_of(sweep: Sweep) -> Corpus:
    """Its text. Random weights know no language: random token ids serve them as well, and need no tokenizer."""
    from ..text import bundled_wikipedia, open_corpus

    if sweep.corpus is not None:
        return open_corpus(sweep.corpus)
    return open_corpus("random" if sweep.random_weights else str(bundled_wikipedia()))


def source_of(sweep: Sweep) -> ModelSource:
    """Where its model is."""
    from ..models import bundled_model, find_model

    return find_model(sweep.model if sweep.model is not None else str(bundled_model()), sweep.revision)


def output_of(sweep: Sweep, source: ModelSource) -> Path:
    """Its run directory."""
    name = f"{source.name}-random" if sweep.random_weights else source.name
    return Path(sweep.output) if sweep.output is not None else Path("runs", name)
