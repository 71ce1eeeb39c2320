"""All predictions about one model: a few short forward passes, apart from those of the measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import nn

from ..models import LoadedModel, NormSite
from ._exact import THEOREMS as EXACT, ZERO_GAINS, check
from ._prediction import ISOTROPY, Prediction
from ._sample import forward, samples
from ._shift import THEOREMS as SHIFT, shift

THEOREM_IDS = tuple(
    sorted({ISOTROPY, *SHIFT.values(), *ZERO_GAINS.values(), *(id for kind in EXACT.values() for id in kind.values())})
)
"""Ids of all theorems that speak of a running model."""


def judge(model: nn.Module, sites: Sequence[NormSite], call: Callable[[], Any]) -> list[Prediction]:
    """Judge the predictions about single vectors on up to 16 of each layer.

    Args:
        model: Any module.
        sites: Its norm layers.
        call: Makes one forward pass.

    >>> import torch
    >>> from empirical.discovery import norms
    >>> from empirical.predictions import count, judge
    >>> model, x = torch.nn.Sequential(torch.nn.LayerNorm(8)), torch.randn(4, 8)
    >>> count(judge(model, norms(model).sites, lambda: model(x)))
    {'isotropic': 0, 'not isotropic': 0, 'holds': 7, 'undecided': 0, 'violated': 0}
    """
    return [found for sample in samples(model, sites, call) for found in check(sample)]


def predict(loaded: LoadedModel, tokens: np.ndarray) -> list[Prediction]:
    """Judge the predictions about single vectors and about the whole model on the first tokens of a run.

    Args:
        loaded: The model and its norm layers.
        tokens: (sequences, positions). Token ids; the first 64 positions of the first two sequences are used (for the
            shift, 16 of the first), and up to 16 vectors of each layer.

    >>> import numpy as np
    >>> from transformers import GPT2Config
    >>> from empirical.models import ModelSource, load_model
    >>> from empirical.predictions import count, predict
    >>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
    >>> loaded = load_model(ModelSource("tiny", "tiny"), config=config, random_weights=True, device="cpu")
    >>> count(predict(loaded, np.arange(16).reshape(2, 8)))  # seven of each of three layers, one of the model
    {'isotropic': 0, 'not isotropic': 0, 'holds': 22, 'undecided': 0, 'violated': 0}
    """
    return [*shift(loaded, tokens), *judge(loaded.model, loaded.sites, lambda: forward(loaded, tokens))]
