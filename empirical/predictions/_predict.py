"""All predictions about one model: a few short forward passes, apart from those of the measurement."""

from __future__ import annotations

import numpy as np

from ..models import LoadedModel
from ._exact import check
from ._prediction import Prediction
from ._sample import samples
from ._shift import shift


def predict(loaded: LoadedModel, tokens: np.ndarray) -> list[Prediction]:
    """Judge the predictions about single vectors and about the whole model on the first tokens of a run.

    Args:
        loaded: The model and its norm layers.
        tokens: (sequences, positions). Token ids; the first 64 positions of the first two sequences are used (for the
            shift, 16 of the first), and up to 16 vectors of each layer.

    >>> import numpy as np
    >>> from transformers import GPT2Config
    >>> from empirical.models import ModelSource, load_model
    >>> from empirical.predictions import count, predict, samples
    >>> config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16, bos_token_id=0, eos_token_id=0)
    >>> loaded = load_model(ModelSource("tiny", "tiny"), config=config, random_weights=True, device="cpu")
    >>> count(predict(loaded, np.arange(16).reshape(2, 8)))  # seven of each of three layers, one of the model
    {'isotropic': 0, 'not isotropic': 0, 'holds': 22, 'undecided': 0, 'violated': 0}
    >>> [(sample.site.path, sample.x.shape) for sample in samples(loaded, np.arange(20).reshape(2, 10) % 16)][:2]
    [('h.0.ln_1', (16, 8)), ('h.0.ln_2', (16, 8))]
    """
    return [
        *shift(loaded, tokens),
        *(found for sample in samples(loaded, tokens) for found in check(sample)),
    ]
