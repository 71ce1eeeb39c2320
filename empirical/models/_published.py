"""Published measurements on the seven models, as data to stand beside one's own."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SOURCE = "Gupta et al., arXiv:2409.12951v2, Tables 2 to 4"


class PublishedSpread(NamedTuple):
    """Mean, standard deviation and, where printed, maximum over tokens and layers."""

    mean: float
    std: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class Published:
    """Numbers of one model, averaged over its layers, in Gupta et al., arXiv:2409.12951v2; None where it gives none.

    Attributes:
        hidden_angle, attn_angle, mlp_angle: Angle to the uniform vector in degrees: hidden states, outputs of the norm
            before the attention (LN1) and before the MLP (LN2). Table 2.
        hidden_norm, attn_norm, mlp_norm: Euclidean norms of the same. Table 3.
        attn_rotation, mlp_rotation: Angle in degrees from the hidden state to the output of the norm. Table 4.

    >>> from empirical.models import PUBLISHED
    >>> gpt_j = PUBLISHED["gpt-j-6b"]
    >>> gpt_j.hidden_angle.mean, gpt_j.mlp_angle  # one norm feeds attention and MLP
    (88.74, None)
    """

    hidden_angle: PublishedSpread
    attn_angle: PublishedSpread
    hidden_norm: PublishedSpread
    attn_norm: PublishedSpread
    attn_rotation: PublishedSpread
    mlp_angle: PublishedSpread | None = None
    mlp_norm: PublishedSpread | None = None
    mlp_rotation: PublishedSpread | None = None


def _read() -> dict[str, Published]:
    models: dict[str, dict[str, PublishedSpread]] = {}
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        for model, quantity, mean, *more in list(csv.reader(file))[1:]:
            spread = PublishedSpread(float(mean), *(float(value) if value else None for value in more))
            models.setdefault(model, {})[quantity] = spread
    return {model: Published(**quantities) for model, quantities in models.items()}


PUBLISHED = _read()
"""By the names of :data:`empirical.models.KNOWN_MODELS`."""
