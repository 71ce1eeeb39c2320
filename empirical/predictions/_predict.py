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

    Parameters
    ----------
    loaded
        The model and its norm layers.
    tokens : (sequences, positions)
        Token ids; the first 64 positions of the first two sequences are used (for the shift, 16 of the first), and up
        to 16 vectors of each layer.
    """
    return [
        *shift(loaded, tokens),
        *(found for sample in samples(loaded, tokens) for found in check(sample)),
    ]
