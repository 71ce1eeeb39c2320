"""What to measure: the options of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..models import ModelSource
    from ..text import Corpus

ALL = "all"
"""The name that stands for every known model."""

DEFAULT_TOKENS = 16_384
DEFAULT_LENGTH = 512
DEFAULT_DIRECTIONS = 64


@dataclass(frozen=True)
class Sweep:
    """What to measure; None stands for a default that depends on the model or the device.

    Attributes:
        model, corpus: Name, hub id, directory or GGUF file; file, ``hf:NAME:CONFIG`` or ``random``. By default the
            bundled SmolLM2-135M and Wikipedia; for random weights, random token ids.
        revision: Branch, tag or commit of the model on the hub.
        tokens: Tokens to measure, rounded up to whole sequences.
        sequence_length, batch_size, shard_tokens: Tokens per sequence, sequences per forward pass, tokens between two
            checkpoints.
        tensor_parallel: Processes of ``torchrun`` that share one copy of the model.
        dtype, device, device_map: As in transformers; ``auto`` is float32 on the CPU, the checkpoint's dtype on a GPU.
        directions, seed: Random unit directions to compare the uniform direction with, and the seed that draws them.
        compile: Reduce the hidden states by one compiled kernel on a CPU too; on a GPU with Triton that is the default.
        allow_pickle: Load pickled weights where there are no safetensors.
        random_weights: Draw the weights at random from the model's configuration.
        output: The run directory; by default ``runs/NAME``.

    >>> from dataclasses import replace
    >>> from empirical.sweep import Sweep
    >>> sweep = Sweep("gpt2-xl", tokens=100_000)
    >>> sweeps = [replace(sweep, seed=seed, output=f"runs/gpt2-xl-{seed}") for seed in range(3)]
    >>> [each.output for each in sweeps]  # against three sets of random directions
    ['runs/gpt2-xl-0', 'runs/gpt2-xl-1', 'runs/gpt2-xl-2']
    """

    model: str | None = None
    corpus: str | None = None
    revision: str | None = None
    tokens: int = DEFAULT_TOKENS
    sequence_length: int | None = None
    batch_size: int | None = None
    shard_tokens: int | None = None
    dtype: str = "auto"
    device: str = "auto"
    device_map: str | None = None
    tensor_parallel: int = 1
    directions: int = DEFAULT_DIRECTIONS
    seed: int = 0
    compile: bool = False
    allow_pickle: bool = False
    random_weights: bool = False
    output: str | None = None


def corpus_of(sweep: Sweep) -> Corpus:
    """What it reads. Random weights know no language: random token ids serve them as well, and need no tokenizer."""
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
