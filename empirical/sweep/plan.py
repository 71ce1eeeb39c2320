"""The plan of a sweep: model and corpus found, every default settled, nothing large read."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PretrainedConfig

from lngeom.errors import RunError
from lngeom.files import Json

from ..models import ModelSource, load_config, longest_sequence, resolve_device, resolve_dtype, vocabulary
from ..support import ModelError
from ..text import Corpus
from .options import DEFAULT_LENGTH, DEFAULT_NULL_EVERY, LEAST_NULL, Sweep, corpus_of, source_of
from .tokens import Drawing

_BATCH_TOKENS = {"cpu": 4_096, "cuda": 32_768}
_SHARD_TOKENS = {"cpu": 4_096, "cuda": 262_144}


@dataclass(frozen=True)
class Plan:
    """A sweep with every default settled.

    Attributes:
        length: Tokens per sequence.
        batch, shard: Sequences per forward pass, and between two checkpoints.
        null_every: Of so many tokens one is projected on the random directions.
    """

    sweep: Sweep
    source: ModelSource
    config: PretrainedConfig
    corpus: Corpus
    device: torch.device
    dtype: torch.dtype
    length: int
    batch: int
    shard: int
    null_every: int

    @property
    def drawing(self) -> Drawing:
        """The sequences to be drawn."""
        count, words = math.ceil(self.sweep.tokens / self.length), vocabulary(self.config, self.source.name)
        return Drawing(count, self.length, words, self.sweep.seed)

    def identity(self) -> Json:
        """All that the numbers depend on: runs that agree in it may continue one another."""
        weights = f"random, seed {self.sweep.seed}" if self.sweep.random_weights else "from a checkpoint"
        return {
            "model": self.source.name,
            "architecture": self.config.model_type,
            "revision": self.source.resolved_revision(self.config, random_weights=self.sweep.random_weights),
            "weights": weights,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            "corpus": Path(self.corpus.spec).name if self.corpus.path else self.corpus.spec,
            "corpus_sha256": self.corpus.sha256(),
            "tokens": self.drawing.tokens,
            "sequence_length": self.length,
            "batch_size": self.batch,
            "shard_sequences": self.shard,
            "directions": self.sweep.directions,
            "null_every": self.null_every,
            "seed": self.sweep.seed,
            **({"directions_rounded": True} if self.dtype.itemsize == 2 else {}),
        }


def settle(sweep: Sweep) -> Plan:
    """Find model and corpus, and settle every default."""
    corpus, source = corpus_of(sweep), source_of(sweep)
    config = load_config(source, random_weights=sweep.random_weights)
    if not 0 <= sweep.seed < 1 << 63:
        raise RunError(f"--seed {sweep.seed}: must be 0 or more and below 2^63")
    device = resolve_device(sweep.device)
    length = _length(sweep, source, longest_sequence(config))
    kind = "cpu" if device.type == "cpu" else "cuda"
    batch = _or(sweep.batch_size, max(1, _BATCH_TOKENS[kind] // length), "--batch-size")
    shard = max(1, _or(sweep.shard_tokens, _SHARD_TOKENS[kind], "--shard-tokens") // length)
    _positive(sweep.directions, "--directions")
    dtype = resolve_dtype(sweep.dtype, config, device)
    default = max(1, min(DEFAULT_NULL_EVERY, sweep.tokens // LEAST_NULL))
    every = min(_or(sweep.null_every, default, "--null-every"), length)
    return Plan(sweep, source, config, corpus, device, dtype, length, batch, shard, every)


def _length(sweep: Sweep, source: ModelSource, longest: int | None) -> int:
    length = _or(sweep.sequence_length, min(DEFAULT_LENGTH, longest or DEFAULT_LENGTH), "--sequence-length")
    if longest is not None and length > longest:
        raise ModelError(f"--sequence-length {length}: {source.name} has {longest} positions; use {longest} or less")
    if _positive(sweep.tokens, "--tokens") < length:
        msg = f"--tokens {sweep.tokens}: fewer than one sequence of {length}; raise it, or lower --sequence-length"
        raise RunError(msg)
    return length


def _positive(value: int, option: str) -> int:
    if value < 1:
        raise RunError(f"{option} {value}: must be 1 or more")
    return value


def _or(value: int | None, default: int, option: str) -> int:
    return default if value is None else _positive(value, option)
