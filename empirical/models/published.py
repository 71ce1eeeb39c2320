"""Published measurements on the seven models, as data to stand beside one's own."""

import csv
from pathlib import Path
from typing import NamedTuple

SOURCE = "Gupta et al., arXiv:2409.12951v2, Tables 2 to 4"


class PublishedSpread(NamedTuple):
    """Mean, standard deviation and, where printed, maximum over tokens and layers."""

    mean: float
    std: float | None = None
    maximum: float | None = None


def _read() -> dict[str, dict[str, PublishedSpread]]:
    models: dict[str, dict[str, PublishedSpread]] = {}
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        for model, quantity, mean, *more in list(csv.reader(file))[1:]:
            spread = PublishedSpread(float(mean), *(float(value) if value else None for value in more))
            models.setdefault(model, {})[quantity] = spread
    return models


PUBLISHED = _read()
"""By the names of :data:`lngeom.empirical.models.KNOWN_MODELS` and of quantities, averaged over the layers of a model.

``hidden_angle``, ``attn_angle``, ``mlp_angle``: angle to the uniform vector in degrees, of hidden states and of outputs
of the norm before the attention (LN1) and before the MLP (LN2), Table 2; ``hidden_norm``, ``attn_norm``, ``mlp_norm``:
Euclidean norms of the same, Table 3; ``attn_rotation``, ``mlp_rotation``: angle in degrees from the hidden state to the
output of the norm, Table 4.

>>> from lngeom.empirical.models import PUBLISHED
>>> gpt_j = PUBLISHED["gpt-j-6b"]
>>> gpt_j["hidden_angle"].mean, "mlp_angle" in gpt_j  # one norm feeds attention and MLP
(88.74, False)
"""
