"""Published measurements on the seven models, as data to stand beside one's own."""

from dataclasses import dataclass
from typing import NamedTuple

SOURCE = "Gupta et al., arXiv:2409.12951v2, Tables 2 to 4"


class Spread(NamedTuple):
    """Mean, standard deviation and, where printed, maximum over tokens and layers.

    >>> from empirical.models import PUBLISHED
    >>> norm = PUBLISHED["gpt2-xl"].hidden_norm
    >>> f"{norm.mean} ± {norm.std}, at most {norm.maximum}"
    '236.85 ± 37.02, at most 7186.44'
    """

    mean: float
    std: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class Published:
    """What Gupta et al., arXiv:2409.12951v2, print for one model, averaged over its layers.

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

    hidden_angle: Spread
    attn_angle: Spread
    mlp_angle: Spread | None
    hidden_norm: Spread
    attn_norm: Spread
    mlp_norm: Spread | None
    attn_rotation: Spread
    mlp_rotation: Spread | None


PUBLISHED: dict[str, Published] = {
    "gpt2-xl": Published(
        Spread(101.48, 3.20), Spread(89.95, 1.30), Spread(89.63, 1.30),
        Spread(236.85, 37.02, 7186.44), Spread(21.42, 0.47, 37.42), Spread(23.79, 0.49),
        Spread(30.46, 1.68), Spread(32.68),
    ),
    "gpt-neo-1.3b": Published(
        Spread(89.63, 1.84), Spread(88.85, 1.82), Spread(89.47, 1.84),
        Spread(811.84, 40.29, 5961.95), Spread(6.69, 0.26), Spread(13.79, 0.49),
        Spread(49.09, 1.22), Spread(52.82),
    ),
    "pythia-1.4b": Published(
        Spread(89.88, 1.84), Spread(88.74, 1.81), Spread(89.39, 1.83),
        Spread(77.94, 13.17, 1373.85), Spread(46.02, 1.11), Spread(35.68, 1.13),
        Spread(12.35), Spread(21.70),
    ),
    "gpt-j-6b": Published(
        Spread(88.74, 1.68), Spread(89.59, 1.69), None,
        Spread(110.88, 30.02, 4757.86), Spread(49.44, 1.31), None,
        Spread(19.55), None,
    ),
    "pythia-6.9b": Published(
        Spread(89.27, 1.58), Spread(89.02, 1.57), Spread(88.97, 1.57),
        Spread(216.04, 24.61, 3119.49), Spread(79.65, 1.56), Spread(42.18, 1.03),
        Spread(11.02), Spread(28.66),
    ),
    "llama-2-7b": Published(
        Spread(89.47, 0.15), Spread(89.48, 0.14), Spread(89.72, 0.15),
        Spread(44.30, 19.55, 3287.86), Spread(26.21, 0.56), Spread(17.27, 0.42),
        Spread(17.13), Spread(23.48),
    ),
    "llama-3-8b": Published(
        Spread(90.01, 0.15), Spread(90.15, 0.15), Spread(89.97, 0.15),
        Spread(12.12, 3.15, 549.19), Spread(29.46, 0.59), Spread(21.30, 0.49),
        Spread(19.64), Spread(24.55),
    ),
}  # fmt: skip
"""By the names of :data:`empirical.models.KNOWN_MODELS`."""
